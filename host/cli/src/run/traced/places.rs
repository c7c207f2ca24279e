//! Stacks of places in processes that may have ended since.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::helper::Met;
use super::process::Process;
use lockwright_analysis::attached::memory::Copied;
use lockwright_analysis::attached::waits::wait;
use lockwright_analysis::attached::{Futex, Names, Start, Unwinder, Wait};
use lockwright_analysis::finding::{Frame, Name};
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_analysis::traced::Place;
use lockwright_analysis::traced::futexes::{Places, Stack};

/// Finds the names of places.
pub struct Known<'c> {
    processes: HashMap<u32, (&'c Process, Unwinder<'c>, Names<'c>)>,
    places: HashMap<u64, &'c Place>,
    stacks: RefCell<HashMap<u64, Stack>>,
}

impl<'c> Known<'c> {
    /// The places of what was counted.
    pub fn new(met: &'c Met) -> Self {
        Self::with_images(met, &Images::new(DebugDirs::from_env()))
    }

    /// As [`Known::new`], with files that may be open already.
    pub fn with_images(met: &'c Met, images: &Rc<Images>) -> Self {
        let process = |(pid, process): (&u32, &'c Process)| {
            let unwinder = Unwinder::new(&process.maps, &process.root);
            let names = match process.maps.has_nameless() {
                true => Names::new(&process.maps, &process.root),
                false => Names::with_images(&process.maps, &process.root, images),
            };
            (*pid, (process, unwinder, names))
        };
        Self {
            processes: met.processes.iter().map(process).collect(),
            places: met.places.iter().map(|place| (place.id, place)).collect(),
            stacks: RefCell::default(),
        }
    }

    fn frames(&self, id: u64) -> Vec<Frame> {
        let Some(place) = self.places.get(&id) else { return Vec::new() };
        let Some((process, unwinder, names)) = self.processes.get(&place.tgid) else {
            return Vec::new();
        };
        let bytes = bytes(&place.stack);
        let memory = Copied { start: place.sp, bytes: &bytes, rest: *process };
        let start = Start { pc: place.pc, sp: place.sp, bp: Some(place.bp).filter(|&bp| bp != 0) };
        names.stack(&unwinder.stack(start, &memory))
    }
}

impl Known<'_> {
    /// Each place, and its process.
    pub fn all(&self) -> impl Iterator<Item = (u64, u32)> {
        self.places.values().map(|place| (place.id, place.tgid))
    }

    /// What a thread of process `pid` at the word `address` waits for, with the lock's holder as the process's memory has it now,
    /// which has the threads `tids` in its own PID namespace.
    pub fn wait(&self, pid: u32, address: u64, stack: &[Frame], tids: &[u32]) -> Option<Wait> {
        let (process, _, names) = self.processes.get(&pid)?;
        let futex = Futex { address, is_timed: false, may_be_shared: true, is_pi: false };
        Some(wait(futex, stack, tids, *process, &process.maps, names))
    }
}

impl Places for Known<'_> {
    fn stack(&self, place: u64) -> Stack {
        if let Some(stack) = self.stacks.borrow().get(&place) {
            return Rc::clone(stack);
        }
        let stack: Stack = self.frames(place).into();
        self.stacks.borrow_mut().insert(place, Rc::clone(&stack));
        stack
    }

    fn variable(&self, pid: u32, address: u64) -> Option<Name> {
        self.processes.get(&pid)?.2.variable(address)
    }

    fn command(&self, pid: u32) -> String {
        self.processes.get(&pid).map_or_else(String::new, |(process, ..)| process.command.clone())
    }
}

/// Bytes of hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map_while(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::attached::Memory;

    #[test]
    fn digits_are_bytes() {
        assert_eq!(bytes("00abff"), [0, 0xab, 0xff]);
        assert_eq!(bytes("0x"), [] as [u8; 0]);
    }

    #[test]
    fn a_process_that_is_gone_is_not_known() {
        let process = Process::of(u32::MAX);
        assert!(process.maps.mappings.is_empty() && process.command.is_empty());
        assert!(!process.read(0x1000, &mut [0]));
    }
}
