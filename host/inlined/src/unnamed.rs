//! The cold halves of std's locks in a file that has no names, by what their code is.
//!
//! std is compiled beforehand, so these functions are the same in all programs of a version, and from 1.63 to 1.97 much alike. Each
//! has constants of its lock's word that nothing else has together. A function that one of them was inlined into has more code.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::calls;
use crate::function::{Function, is_call};
use crate::module::{Callee, Module};
use crate::names::{self, Role};

/// `READERS_WAITING` of the word of a lock for readers and writers.
const READERS_WAITING: u32 = 1 << 30;
/// `WRITERS_WAITING`.
const WRITERS_WAITING: u32 = 1 << 31;
/// `WRITE_LOCKED`.
const WRITE_LOCKED: u32 = READERS_WAITING - 1;

/// How many instructions of a kind a function has.
struct Kinds {
    pause: usize,
    exchange: usize,
    compare_exchange: usize,
    call: usize,
}

/// A function that is not named in the file.
struct Row {
    name: (&'static str, &'static str),
    pause: usize,
    exchange: usize,
    compare_exchange: RangeInclusive<usize>,
    /// Instructions at most.
    most: usize,
    numbers: &'static [u32],
    lacks: &'static [u32],
}

const ROWS: &[Row] = &[
    Row {
        name: ("Mutex", "lock_contended"),
        pause: 2,
        exchange: 1,
        compare_exchange: 1..=1,
        most: 90,
        numbers: &[1, 2],
        lacks: &[WRITE_LOCKED, READERS_WAITING],
    },
    Row {
        name: ("RwLock", "read_contended"),
        pause: 2,
        exchange: 0,
        compare_exchange: 2..=4,
        most: 160,
        numbers: &[WRITE_LOCKED, READERS_WAITING],
        lacks: &[!READERS_WAITING],
    },
    Row {
        name: ("RwLock", "write_contended"),
        pause: 2,
        exchange: 0,
        compare_exchange: 2..=2,
        most: 140,
        numbers: &[WRITE_LOCKED, WRITERS_WAITING, !READERS_WAITING],
        lacks: &[],
    },
    Row {
        name: ("RwLock", "wake_writer_or_readers"),
        pause: 0,
        exchange: 0,
        compare_exchange: 3..=3,
        most: 90,
        numbers: &[READERS_WAITING, WRITERS_WAITING, READERS_WAITING | WRITERS_WAITING],
        lacks: &[],
    },
    // It is any function that wakes one thread. What calls it shows whether it is for a mutex.
    Row {
        name: ("Mutex", "wake"),
        pause: 0,
        exchange: 0,
        compare_exchange: 0..=0,
        most: 16,
        numbers: &[202, 0x81, 1],
        lacks: &[],
    },
];

/// Calls in such a function, at most: waiting, errors, and panics.
const MOST_CALLS: usize = 6;

/// Finds the functions.
pub fn find(module: &Module<'_>) -> Vec<(u64, Callee)> {
    const PAUSE: [u8; 2] = [0xf3, 0x90];
    let mut functions = HashSet::new();
    let pauses = module.code.iter().flat_map(|section| {
        let found = memchr::memmem::find_iter(section.bytes, &PAUSE);
        found.map(|at| section.address + at as u64)
    });
    for address in pauses.chain(calls::find_wakes(module)) {
        functions.extend(module.function(address));
    }
    let mut found = Vec::new();
    for bounds in functions {
        let role = Function::read(module, bounds).and_then(|function| role(&function.code));
        if let Some(role) = role {
            found.push((bounds.start, Callee { role, address: Some(bounds.start) }));
        }
    }
    found.sort_unstable_by_key(|found| found.0);
    found
}

/// What a function is for, by its code.
fn role(code: &[Instruction]) -> Option<Role> {
    // The lock is the first argument, and is kept or read at once.
    let mut reads = code.iter().take(16).filter(|instruction| uses(instruction, Register::RDI));
    reads.next()?;
    let kinds = kinds(code);
    let numbers = numbers(code);
    let row = ROWS.iter().find(|row| {
        kinds.pause == row.pause
            && kinds.exchange == row.exchange
            && row.compare_exchange.contains(&kinds.compare_exchange)
            && kinds.call <= MOST_CALLS
            && code.len() <= row.most
            && row.numbers.iter().all(|number| numbers.contains(number))
            && !row.lacks.iter().any(|number| numbers.contains(number))
    })?;
    names::std_role(row.name)
}

fn uses(instruction: &Instruction, register: Register) -> bool {
    let is_base = instruction.memory_base() == register;
    is_base || instruction.op_count() == 2 && instruction.op1_register() == register
}

fn kinds(code: &[Instruction]) -> Kinds {
    let count = |is: &dyn Fn(&Instruction) -> bool| code.iter().filter(|&code| is(code)).count();
    Kinds {
        pause: count(&|code| code.mnemonic() == Mnemonic::Pause),
        exchange: count(&|code| {
            code.mnemonic() == Mnemonic::Xchg && code.op0_kind() == OpKind::Memory
        }),
        compare_exchange: count(&|code| {
            code.mnemonic() == Mnemonic::Cmpxchg && code.has_lock_prefix()
        }),
        call: count(&is_call),
    }
}

/// The constants that the code has.
fn numbers(code: &[Instruction]) -> HashSet<u32> {
    let mut numbers = HashSet::new();
    for instruction in code {
        for operand in 0..instruction.op_count() {
            let is_number = !matches!(
                instruction.op_kind(operand),
                OpKind::Register | OpKind::Memory | OpKind::NearBranch64
            );
            if let Some(number) = is_number.then(|| instruction.try_immediate(operand).ok()) {
                numbers.extend(number.map(|number| number as u32));
            }
        }
    }
    numbers
}
