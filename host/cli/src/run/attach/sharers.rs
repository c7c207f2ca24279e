//! Other processes that have the memory in which a thread waits.

use std::fs;

use lockwright_analysis::attached::{Backing, Futex, Maps, Memory};
use lockwright_report::attached::Sharer;

use super::tasks;

/// Those of the processes other than `pid` that have what `shared` names, as far as we may see them.
pub fn of(pid: u32, shared: &Backing) -> Vec<Sharer> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut all: Vec<Sharer> =
        pids.filter(|&other| other != pid).filter_map(|other| sharer(other, shared)).collect();
    all.sort_by_key(|other| other.pid);
    all
}

/// Process `pid`, if it has that.
fn sharer(pid: u32, shared: &Backing) -> Option<Sharer> {
    let text = fs::read(format!("/proc/{pid}/maps")).ok()?;
    // Which programs these are of does not matter: nothing is read of its memory.
    let maps = Maps::new(&String::from_utf8_lossy(&text), &Nothing);
    maps.address_of(shared)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let waits = tasks::of_process(pid).iter().any(|task| {
        let futex = |call: &tasks::Call| Futex::of_call(call.number, &call.arguments);
        let futex = task.call.as_ref().and_then(futex).filter(|futex| futex.may_be_shared);
        futex.is_some_and(|futex| maps.shared_at(futex.address).is_some())
    });
    Some(Sharer { pid, name: name.trim_end().to_owned(), waits })
}

/// No memory.
struct Nothing;

impl Memory for Nothing {
    fn read(&self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of the mapping.
    const BYTES: usize = 4096;

    #[test]
    fn the_place_of_shared_memory_is_the_same_for_all() {
        // SAFETY: a new mapping, whose place the kernel chooses.
        let word = unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, flags, -1, 0)
        };
        assert_ne!(word, libc::MAP_FAILED);
        let text = fs::read("/proc/self/maps").unwrap();
        let maps = Maps::new(&String::from_utf8_lossy(&text), &Nothing);
        let shared = maps.shared_at(word as u64).expect("a shared mapping");
        assert_eq!(maps.address_of(&shared), Some(word as u64));
        assert_eq!(maps.shared_at(&raw const shared as u64), None, "a stack is nobody else's");
        assert_eq!(of(std::process::id(), &shared), [], "nobody else has it");
        assert!(sharer(std::process::id(), &shared).is_some_and(|own| !own.waits));
    }
}
