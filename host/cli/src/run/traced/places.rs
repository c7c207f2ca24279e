//! Stacks of places in processes that may have ended since.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::helper::Counted;
use super::process::Process;
use lockwright_analysis::attached::memory::Copied;
use lockwright_analysis::attached::{Names, Start, Unwinder};
use lockwright_analysis::finding::{Frame, Name};
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
    pub fn new(counted: &'c Counted) -> Self {
        let process = |(pid, process): (&u32, &'c Process)| {
            let unwinder = Unwinder::new(&process.maps, &process.root);
            let names = Names::new(&process.maps, &process.root);
            (*pid, (process, unwinder, names))
        };
        Self {
            processes: counted.processes.iter().map(process).collect(),
            places: counted.places.iter().map(|place| (place.id, place)).collect(),
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
