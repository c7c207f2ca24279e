//! Where a module calls the functions behind locks. The bytes are searched for calls of them; only functions that have one are decoded.

use crate::module::{Callee, Module};

/// Bytes that may be a call. Whether they are one, the function's instructions show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Address of the first byte, or of the one after a prefix.
    pub address: u64,
    /// What it calls.
    pub callee: Callee,
}

/// Bytes that such an instruction can begin with.
const MAY_CALL: [bool; 256] = {
    let mut may_call = [false; 256];
    let mut nth = 0;
    let first = [0x0f, 0x8b, 0xe8, 0xe9, 0xff];
    while nth < first.len() {
        may_call[first[nth]] = true;
        nth += 1;
    }
    may_call
};

/// All candidates, by address.
pub fn find(module: &Module<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    if module.callees.is_empty() && module.pointers.is_empty() {
        return found;
    }
    // There are few of them, and millions of bytes.
    let mut targets: Vec<_> = module.callees.keys().copied().collect();
    targets.sort_unstable();
    let mut words: Vec<_> = module.pointers.keys().copied().collect();
    words.sort_unstable();
    for section in &module.code {
        let bytes = section.bytes;
        let distance = |at: usize| {
            let field = bytes.get(at..at + 4)?;
            let distance = i32::from_le_bytes(field.try_into().ok()?);
            let next = section.address.wrapping_add(at as u64 + 4);
            Some(next.wrapping_add_signed(distance.into()))
        };
        let word = |at: usize| {
            let word = distance(at + 2)?;
            words.binary_search(&word).ok()?;
            module.pointers.get(&word)
        };
        let mut note = |at: usize, callee: Option<&Callee>| {
            if let Some(&callee) = callee {
                found.push(Candidate { address: section.address + at as u64, callee });
            }
        };
        for (at, &byte) in bytes.iter().enumerate() {
            if !MAY_CALL[usize::from(byte)] {
                continue;
            }
            let next = bytes.get(at + 1).copied().unwrap_or_default();
            // `call` and `jmp`; `jcc`; both through a word.
            let field = match (byte, next) {
                (0xe8 | 0xe9, _) => at + 1,
                (0x0f, 0x80..=0x8f) => at + 2,
                (0xff, 0x15 | 0x25) => {
                    note(at, word(at));
                    continue;
                }
                // A register is loaded, which calls go through.
                (0x8b, next) if next & 0xc7 == 0x05 => {
                    note(at, word(at));
                    continue;
                }
                _ => continue,
            };
            if let Some(target) = distance(field)
                && targets.binary_search(&target).is_ok()
            {
                note(at, module.callees.get(&target));
            }
        }
    }
    found
}

/// The last argument of a call that wakes one waiter of a futex, in bytes: `mov edx, FUTEX_WAKE | FUTEX_PRIVATE_FLAG`.
const WAKE: [u8; 5] = [0xba, 0x81, 0, 0, 0];

/// Addresses where waking may be inlined.
pub fn find_wakes(module: &Module<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    for section in &module.code {
        let wakes = memchr::memmem::find_iter(section.bytes, &WAKE);
        found.extend(wakes.map(|at| section.address + at as u64));
    }
    found
}
