//! Memory at fixed addresses: what lies in one cache line, and what a lock's address hashes to, is
//! the same in every process.
//!
//! There is one, for ever, which simulations take turns with. So what the locks keep per CPU can be
//! static, as [`lockwright::platform::Platform::per_cpu`] says.
//!
//! What is kept per CPU lies at places of its own, so that no simulation puts anything else there;
//! so does what a library of locks keeps there.
//!
//! ```text
//!   BASE   what is kept per CPU    placed objects ...    libraries' per CPU    stacks, each with a guard page
//! ```

use std::cell::RefCell;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use corosensei::stack::{Stack, StackPointer};
use lockwright::platform::PerCpu;

use crate::cell::{Long, Word};

/// Between where programs and where libraries are loaded, on x86-64 and on AArch64.
const BASE: usize = 0x2000_0000_0000;
/// Size of a cache line.
pub const LINE: usize = 64;
/// For what is kept per CPU.
const PER_CPU: usize = 4 << 10;
/// For all that is kept per CPU, and what is placed.
const OBJECTS: usize = 64 << 20;
/// Where libraries keep what they keep per CPU: a page for each.
const LIBRARIES: usize = OBJECTS - MOST_TASKS * PAGE;
/// Size of a stack, with its guard page. In debug builds a panic's message needs much.
const STACK: usize = 256 << 10;
/// Nothing that is placed needs more alignment.
pub const PAGE: usize = 4096;
/// The most threads of a simulation.
pub const MOST_TASKS: usize = 1024;

const SIZE: usize = OBJECTS + MOST_TASKS * STACK;

/// Whether it is mapped.
static MAPPED: Mutex<bool> = Mutex::new(false);

std::thread_local! {
    /// The CPUs that a library has kept something for since the arena was empty.
    static KEPT: RefCell<HashSet<usize>> = RefCell::default();
}

/// The arena, taken by one simulation.
pub struct Arena {
    used: usize,
    _turn: MutexGuard<'static, bool>,
}

impl Arena {
    /// Waits for the arena and takes it, empty.
    ///
    /// # Panics
    /// If the addresses are in use by something else.
    pub fn take() -> Self {
        // A thread that panicked inside left nothing that matters: the content is rewritten.
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        if !*mapped {
            map();
            *mapped = true;
        }
        let mut arena = Self { used: 0, _turn: mapped };
        arena.clear();
        arena
    }

    /// Empties it: what was placed is over.
    pub fn clear(&mut self) {
        self.used = MOST_TASKS * PER_CPU;
        KEPT.with_borrow_mut(HashSet::clear);
    }

    /// Puts a value on lines of its own. It is never dropped.
    ///
    /// # Panics
    /// If there is no room.
    pub fn place<T>(&mut self, value: T) -> NonNull<T> {
        let at = self.reserve(size_of::<T>(), align_of::<T>()).cast();
        // SAFETY: of its size and aligned, and nobody's.
        unsafe { at.write(value) };
        at
    }

    /// As [`Arena::place`], of so many bytes, which are zero.
    pub fn place_zeros(&mut self, size: usize, align: usize) -> NonNull<u8> {
        let at = self.reserve(size, align);
        // SAFETY: of this size, and nobody's.
        unsafe { at.write_bytes(0, size) };
        at
    }

    /// Memory on lines of its own that is nobody's: what was placed there is of an earlier
    /// simulation, whose references have ended.
    fn reserve(&mut self, size: usize, align: usize) -> NonNull<u8> {
        assert!(align <= PAGE);
        let from = self.used.next_multiple_of(align.max(LINE));
        self.used = (from + size).next_multiple_of(LINE);
        assert!(self.used <= LIBRARIES, "too much is placed in one simulation");
        NonNull::new((BASE + from) as *mut u8).expect("the base is not 0")
    }

    /// Writes the data that is kept for a CPU. It stays for ever, or until the next call.
    ///
    /// # Panics
    /// If there are not so many CPUs.
    pub fn keep_for_cpu(
        &mut self,
        cpu: usize,
        value: PerCpu<Word, Long>,
    ) -> &'static PerCpu<Word, Long> {
        const { assert!(size_of::<PerCpu<Word, Long>>() <= PER_CPU) };
        assert!(cpu < MOST_TASKS, "{MOST_TASKS} threads are the most");
        let at = (BASE + cpu * PER_CPU) as *mut PerCpu<Word, Long>;
        // SAFETY: mapped, aligned to a page, and of this type since it was first written; it is all
        // atomics, and whose simulation it was has ended.
        unsafe {
            at.write(value);
            &*at
        }
    }

    /// The stack of a thread's number.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn stack(&self, number: usize) -> FixedStack {
        assert!(number < MOST_TASKS, "{MOST_TASKS} threads are the most");
        FixedStack { limit: BASE + OBJECTS + number * STACK }
    }
}

/// The page that a library has for a CPU.
///
/// # Panics
/// If there are not so many.
pub fn library_page(cpu: usize) -> NonNull<u8> {
    assert!(cpu < MOST_TASKS, "{MOST_TASKS} threads are the most");
    NonNull::new((BASE + LIBRARIES + cpu * PAGE) as *mut u8).expect("the base is not 0")
}

/// As [`library_page`], and whether it was not asked for before: it is zeros
/// then. Only for the thread that runs a simulation.
///
/// # Panics
/// If there are not so many CPUs.
pub fn keep_for_library(cpu: usize) -> (NonNull<u8>, bool) {
    let at = library_page(cpu);
    let is_new = KEPT.with_borrow_mut(|kept| kept.insert(cpu));
    if is_new {
        // SAFETY: mapped, of this size, and the library's only, which has no reference to it yet.
        unsafe { at.write_bytes(0, PAGE) };
    }
    (at, is_new)
}

/// The CPU that a library keeps this address for, and where in what it keeps.
pub const fn kept_by_library(address: usize) -> Option<(usize, usize)> {
    match address.checked_sub(BASE + LIBRARIES) {
        Some(offset) if offset < MOST_TASKS * PAGE => Some((offset / PAGE, offset % PAGE)),
        _ => None,
    }
}

/// The number of the line that an address lies in, if it is in the arena.
pub const fn line(address: usize) -> Option<usize> {
    match address.checked_sub(BASE) {
        Some(offset) if offset < SIZE => Some(offset / LINE),
        _ => None,
    }
}

/// Whether a line is one of a stack.
pub const fn is_of_stack(line: usize) -> bool {
    line >= OBJECTS / LINE
}

/// Whose stack an address lies in.
pub const fn stack_of(address: usize) -> Option<usize> {
    match address.checked_sub(BASE + OBJECTS) {
        Some(offset) if offset < MOST_TASKS * STACK => Some(offset / STACK),
        _ => None,
    }
}

/// All lines.
pub const fn lines() -> usize {
    SIZE / LINE
}

fn map() {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE fails where something is mapped, so this replaces no mapping.
    let at = unsafe { libc::mmap(BASE as *mut libc::c_void, SIZE, protection, flags, -1, 0) };
    assert_eq!(
        at as usize,
        BASE,
        "the simulator's memory cannot be mapped at {BASE:#x}: {}",
        std::io::Error::last_os_error()
    );
    for number in 0..MOST_TASKS {
        let guard = (BASE + OBJECTS + number * STACK) as *mut libc::c_void;
        // SAFETY: of the mapping above, which nobody uses yet.
        let result = unsafe { libc::mprotect(guard, PAGE, libc::PROT_NONE) };
        assert_eq!(result, 0, "a guard page: {}", std::io::Error::last_os_error());
    }
}

/// A thread's stack.
pub struct FixedStack {
    limit: usize,
}

// SAFETY: its lowest page is a guard page, and it is larger than the least.
unsafe impl Stack for FixedStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.limit + STACK).expect("above the base")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("above the base")
    }
}
