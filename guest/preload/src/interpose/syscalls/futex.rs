//! Futexes that the program, or a library of it, waits at by the C library's `syscall`: the locks
//! of Rust's std, GLib, Abseil, Qt, the OpenMP runtimes and C++20's atomics are made of them.
//!
//! One table says whether each call waits or wakes. What a call does is the kernel's alone:
//! it is forwarded as it came, and what it returns and leaves in errno is what the program gets.

use core::ffi::c_long;

use lockwright_engines::wakes::{Waiter, Waker};
use lockwright_ledger::rows::meter::futex_call;

use crate::futex::{self, Stack, Wait};
use crate::interpose::seccomp;
use crate::libc::real;
use crate::os::{sys, time};
use crate::recorder::state;
use crate::{lockdep, lockmeter};

/// The system calls of "futex2", which the libc crate does not name for all.
pub const SYS_FUTEX_WAITV: c_long = 449;
pub const SYS_FUTEX_WAKE: c_long = 454;
pub const SYS_FUTEX_WAIT: c_long = 455;
pub const SYS_FUTEX_REQUEUE: c_long = 456;

/// Operations of SYS_futex that the libc crate does not name.
const LOCK_PI2: c_long = 13;
/// What of an operation says which it is.
const OPERATION: c_long = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u32 as c_long;

/// The arguments after the number.
type Arguments = [c_long; 6];

/// What a call does.
enum Does {
    /// Waits.
    Waits { call: u32, addr: u64, word: u32, is_timed: bool },
    /// Wakes waiters at one address, or at either.
    Wakes {
        addrs: [u64; 2],
        /// It moves waiters to another address, too.
        moves: bool,
        /// It answers 0 where it has done so, not how many it has woken.
        hands_over: bool,
    },
    /// Neither, or nothing that is known.
    Else,
}

impl Does {
    fn waits(call: u32, addr: c_long, word: c_long, timeout: c_long) -> Self {
        Self::Waits { call, addr: addr as u64, word: word as u32, is_timed: timeout != 0 }
    }

    /// `FUTEX_LOCK_PI` and its like: the word is not among the arguments.
    fn locks([addr, _, _, timeout, ..]: Arguments) -> Self {
        let mut word = [0; 4];
        read(addr, &mut word);
        Self::waits(futex_call::LOCK_PI, addr, u32::from_ne_bytes(word).into(), timeout)
    }

    fn wakes(addr: c_long, other: c_long) -> Self {
        Self::Wakes { addrs: [addr as u64, other as u64], moves: false, hands_over: false }
    }

    fn moves(addr: c_long) -> Self {
        Self::Wakes { addrs: [addr as u64, 0], moves: true, hands_over: false }
    }

    /// SYS_futex.
    fn of_futex(arguments: Arguments) -> Self {
        let [addr, operation, value, timeout, other, _] = arguments;
        match (operation & OPERATION) as i32 {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
                Self::waits(futex_call::WAIT, addr, value, timeout)
            }
            libc::FUTEX_WAIT_REQUEUE_PI => {
                Self::waits(futex_call::WAIT_REQUEUE_PI, addr, value, timeout)
            }
            libc::FUTEX_LOCK_PI => Self::locks(arguments),
            other if c_long::from(other) == LOCK_PI2 => Self::locks(arguments),
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Self::wakes(addr, 0),
            libc::FUTEX_WAKE_OP => Self::wakes(addr, other),
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE | libc::FUTEX_CMP_REQUEUE_PI => {
                Self::moves(addr)
            }
            libc::FUTEX_UNLOCK_PI => {
                Self::Wakes { addrs: [addr as u64, 0], moves: false, hands_over: true }
            }
            _ => Self::Else,
        }
    }

    /// A call of "futex2".
    fn of_futex2(number: c_long, arguments: Arguments) -> Self {
        let [a, b, _, d, e, _] = arguments;
        match number {
            SYS_FUTEX_WAIT => Self::waits(futex_call::WAIT, a, b, e),
            SYS_FUTEX_WAKE => Self::wakes(a, 0),
            // The first of the array of what to wait at, which may not be there: its word, then its
            // address.
            SYS_FUTEX_WAITV => {
                let [word, addr] = first_of(a);
                Self::waits(futex_call::WAITV, addr, word, d)
            }
            SYS_FUTEX_REQUEUE => Self::moves(first_of(a)[1]),
            _ => Self::Else,
        }
    }
}

/// Reads what the program names, where there may be no memory: then, and where a filter of system
/// calls may forbid to ask, it is left as it is.
fn read(at: c_long, into: &mut [u8]) {
    if !seccomp::is_filtered() {
        sys::copy_of(sys::gettid(), at as u64, into);
    }
}

/// The first two words of a `struct futex_waitv` at `at`; 0 if there is no memory.
fn first_of(at: c_long) -> [c_long; 2] {
    let mut bytes = [0; 16];
    read(at, &mut bytes);
    let word = |at: usize| {
        let bytes = &bytes[at..at + 8];
        bytes.iter().rev().fold(0, |word: c_long, &byte| word << 8 | c_long::from(byte))
    };
    [word(0), word(8)]
}

/// `syscall` with the number of `futex`. The number makes way for the call's return address.
///
/// # Safety
/// The program called `syscall` with the number and arguments of `futex`.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall_futex() -> c_long {
    code!(site_first, to = sym of_futex)
}

/// # Safety
/// The arguments keep the contract of `syscall`; the stub passes `site`.
unsafe extern "C-unwind" fn of_futex(
    site: u64,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the program's own arguments go on unchanged; the kernel does not look at those that
    // the call has not.
    let call = || unsafe { real::syscall(libc::SYS_futex, a, b, c, d, e, f) };
    if is_unwanted() {
        return call();
    }
    around(Does::of_futex([a, b, c, d, e, f]), site, call)
}

/// The same for the calls of "futex2", each of which has a number of its own.
macro_rules! futex2 {
    ($($stub:ident, $to:ident: $number:expr;)*) => { $(
        #[doc = concat!("`syscall` with ", stringify!($number), ".")]
        ///
        /// # Safety
        /// The program called `syscall` with that number and the arguments of such a call.
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $stub() -> c_long {
            code!(site_first, to = sym $to)
        }

        /// # Safety
        /// The arguments keep the contract of `syscall`; the stub passes `site`.
        unsafe extern "C-unwind" fn $to(
            site: u64,
            a: c_long,
            b: c_long,
            c: c_long,
            d: c_long,
            e: c_long,
            f: c_long,
        ) -> c_long {
            // SAFETY: the program's own arguments go on unchanged; the kernel does not look at
            // those that the call has not.
            let call = || unsafe { real::syscall($number, a, b, c, d, e, f) };
            if is_unwanted() {
                return call();
            }
            around(Does::of_futex2($number, [a, b, c, d, e, f]), site, call)
        }
    )* };
}

futex2! {
    syscall_futex_waitv, of_futex_waitv: SYS_FUTEX_WAITV;
    syscall_futex_wake, of_futex_wake: SYS_FUTEX_WAKE;
    syscall_futex_wait, of_futex_wait: SYS_FUTEX_WAIT;
    syscall_futex_requeue, of_futex_requeue: SYS_FUTEX_REQUEUE;
}

/// Nobody watches, or nobody who wants to know.
fn is_unwanted() -> bool {
    state::status() == state::OFF || !(lockdep::is_wanted() || lockmeter::is_wanted())
}

/// Makes the call, which returns to `site`, and tells what it does.
fn around(does: Does, site: u64, call: impl FnOnce() -> c_long) -> c_long {
    match does {
        Does::Waits { call: which, addr, word, is_timed } => {
            waits(&Wait { call: which, addr, word, is_timed, site }, call)
        }
        Does::Wakes { addrs, moves, hands_over } => {
            lockmeter::futex::wakes();
            let at = addrs.into_iter().filter(|&addr| addr != 0);
            match at.filter_map(futex::waited_for).next() {
                None => call(),
                Some(waiter) => {
                    let is_done = |answer: c_long| match hands_over || moves {
                        true => answer >= 0,
                        false => answer > 0,
                    };
                    wakes(waiter, site, is_done, call)
                }
            }
        }
        Does::Else => call(),
    }
}

#[inline(never)]
fn waits(wait: &Wait, call: impl FnOnce() -> c_long) -> c_long {
    // That wait has been told already; and a handler's does not hide the one that it interrupts.
    if lockdep::futex::is_in_wait() || lockmeter::futex::is_in_wait() {
        return call();
    }
    lockmeter::futex::comes(wait);
    let stack = Stack::capture();
    let place = futex::enter(wait.addr);
    let result = lockdep::futex::during(wait, &stack, || {
        lockmeter::futex::during(wait, &stack, place.as_ref(), call)
    });
    if let Some(place) = place {
        place.leave();
    }
    result
}

#[inline(never)]
fn wakes(
    waiter: Waiter,
    site: u64,
    is_done: impl FnOnce(c_long) -> bool,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let stack = Stack::capture();
    let cell = lockmeter::futex::waker(&stack, site);
    let by = Waker {
        tid: sys::gettid(),
        site: cell.map_or(0, |cell| cell.site()),
        stack: if lockdep::is_wanted() { stack.row() } else { 0 },
        when_ns: time::now_ns(),
    };
    let told = waiter.tell(&by);
    if lockdep::is_wanted() {
        lockdep::futex::wakes(waiter.addr(), &stack);
    }
    let result = call();
    match is_done(result) {
        true => cell.into_iter().for_each(|cell| cell.begin()),
        false => told.into_iter().for_each(|told| told.take_back()),
    }
    result
}
