//! Functions that a signal handler must not call, because the code it interrupted may be inside
//! them: malloc's and stdio's. The stub of each is one jump, to the next function as long as the program has no
//! handlers, and then to a handful of instructions, unless one is running in the thread. `free`
//! takes the same way.
//!
//! The stubs are assembly because most of these functions take a variable number of arguments.

use core::ffi::c_void;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering::*};

use lockwright_engines::lockdep::{Ident, Misuse, ThreadState};
use lockwright_ledger::rows::{Thread, finding_kind, unsafe_call};

use crate::interpose::guarded::Guarded;
use crate::lockdep::{misuse, open_signals, signal};
use crate::os::{loader, tls};
use crate::recorder::state;
use crate::stack::unwind::{self, Frame};

/// stdio has been used outside of handlers.
static STDIO_USED: AtomicU8 = AtomicU8::new(0);

/// Where the next of each is, 0 until it has been looked up.
static NEXT: [AtomicUsize; Guarded::COUNT as usize] =
    [const { AtomicUsize::new(0) }; Guarded::COUNT as usize];
/// Where the stub of each goes: to [`guard_slow`] until the next has been looked up, then to that, and
/// to that of [`CHECKED`] once the program has a handler of signals.
pub static TARGETS: [AtomicPtr<()>; Guarded::COUNT as usize] = targets();

/// The program has had a handler of signals.
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// The program is about to get a handler of signals: from now on it matters which threads are in
/// one.
pub fn handlers_begin() {
    if HANDLERS.swap(true, SeqCst) {
        return;
    }
    // A thread that looks one up meanwhile stores before it asks for HANDLERS, and this is the
    // other way round: all are SeqCst, so one of the two sees the other.
    for ((next, target), checked) in NEXT.iter().zip(&TARGETS).zip(CHECKED) {
        if next.load(SeqCst) != 0 {
            target.store(checked as *mut (), SeqCst);
        }
    }
    if NEXT_FREE.load(SeqCst) != 0 {
        TARGET_FREE.store(free_checked as *mut (), SeqCst);
    }
}

/// The next of a stub is `next`.
fn go_on(slot: &AtomicUsize, target: &AtomicPtr<()>, next: usize, checked: *mut ()) {
    slot.store(next, SeqCst);
    target.store(next as *mut (), SeqCst);
    if HANDLERS.load(SeqCst) {
        target.store(checked, SeqCst);
    }
}

/// Where a function of the list goes from its stub, 0 if there is no such function.
pub fn next(index: Guarded) -> usize {
    let slot = index as usize;
    match NEXT[slot].load(Relaxed) {
        0 => loader::address(Guarded::NAMES[slot], None) as usize,
        next => next,
    }
}

/// Has a function of the list go to `to`, which goes on to what [`next`] answered before.
pub fn divert(index: Guarded, to: usize) {
    let slot = index as usize;
    go_on(&NEXT[slot], &TARGETS[slot], to, CHECKED[slot] as *mut ());
}

/// As [`divert`], for `free` and [`next_free`].
pub fn divert_free(to: usize) {
    go_on(&NEXT_FREE, &TARGET_FREE, to, free_checked as *mut ());
}

/// Signals that no use outside of handlers has been recorded with open, by group.
static UNSEEN: [AtomicU64; 3] = [const { AtomicU64::new(u64::MAX) }; 3];

/// A ledger begins: it has no records.
pub fn begin() {
    // What a forked child does not write to it need not copy.
    let seen = UNSEEN.iter().filter(|unseen| unseen.load(Relaxed) != u64::MAX);
    seen.for_each(|unseen| unseen.store(u64::MAX, Relaxed));
}

/// Two ways for each function, both with the arguments untouched: to the next, but not if a handler runs in the thread, or
/// a signal is open that none of the group has been seen with; and to [`guard_slow`].
macro_rules! ways {
    ($($name:ident: $group:path;)*) => {
        mod checked {
            use super::*;
            $(
                /// # Safety
                /// Jumped to by the stub of the function, with the program's arguments.
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    code!(
                        guarded,
                        in_signal = const offset_of!(Thread, in_signal),
                        open = const offset_of!(Thread, open_signals),
                        unseen = sym UNSEEN,
                        group = const $group as usize * 8,
                        next = sym NEXT,
                        slot = const Guarded::$name as usize * 8,
                        slow = sym slow::$name,
                    )
                }
            )*
        }

        mod slow {
            use super::*;
            $(
                /// # Safety
                /// As for the one above of that name.
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    code!(
                        numbered,
                        index = const Guarded::$name as usize,
                        slow = sym guard_slow,
                    )
                }
            )*
        }

        /// Where the stubs go once the program has a handler of signals.
        static CHECKED: [unsafe extern "C" fn(); Guarded::COUNT as usize] = [$(checked::$name),*];

        /// Where the stubs go at first.
        const fn targets() -> [AtomicPtr<()>; Guarded::COUNT as usize] {
            [$(AtomicPtr::new(slow::$name as *mut ())),*]
        }
    };
}

guarded_functions! { ways }

/// A function of `group` is used outside of handlers: records the open signals.
fn used_outside(thread: &ThreadState, group: u64) {
    let unseen = &UNSEEN[group as usize];
    let open = thread.open_signals() & unseen.load(Relaxed);
    if open != 0
        && let Some(header) = state::header()
    {
        header.unsafe_open[group as usize].fetch_or(open, Relaxed);
        unseen.fetch_and(!open, Relaxed);
    }
}

/// Saves what the arguments may be in, asks [`look`] where to go, and goes there. `r11`: index.
///
/// # Safety
/// Jumped to as the functions above are: `r11` has an index below `Guarded::NAMES.len()`.
#[unsafe(naked)]
unsafe extern "C" fn guard_slow() {
    code!(looks_up, look = sym look)
}

/// Finds the next function; if a handler called it, says so. `frame`: the caller's frame pointer
/// and the return address to it, as [`guard_slow`] has pushed and found them.
///
/// # Safety
/// `index` is one of a guarded function; `frame` points to the two words that `guard_slow` pushed.
unsafe extern "C" fn look(index: usize, frame: *const [u64; 2]) -> usize {
    let group = Guarded::GROUPS[index];
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let thread = unsafe { tls::get().as_mut() }.filter(|thread| {
        if thread.in_signal() == 0 {
            used_outside(thread, group);
        }
        thread.in_signal() != 0 && !open_signals::is_synchronous(thread.in_signal())
    });
    let mut next = NEXT[index].load(Relaxed);
    if next == 0 {
        next = loader::address(Guarded::NAMES[index], None) as usize;
        // Kept from the first use outside of handlers on.
        if thread.is_none() {
            go_on(&NEXT[index], &TARGETS[index], next, CHECKED[index] as *mut ());
            STDIO_USED.fetch_or(u8::from(group == unsafe_call::STDIO), Relaxed);
        }
    }
    if let Some(thread) = thread
        && (group == unsafe_call::MALLOC || STDIO_USED.load(Relaxed) != 0)
        && !signal::notice_long_jump(thread)
    {
        let what = Misuse {
            detail: u64::from(thread.in_signal()),
            ..Misuse::new(finding_kind::UNSAFE_CALL, group, Ident::NONE)
        };
        // SAFETY: `guard_slow` has pushed these two words, and its frame is there until this returns.
        let [fp, pc] = unsafe { *frame };
        let from = Frame { pc, sp: frame as u64 + 16, fp };
        misuse::tell_from(thread, &what, &mut |frames| unwind::capture_from(frames, from));
    }
    next
}

/// Where the next `free` is, 0 until it has been looked up.
static NEXT_FREE: AtomicUsize = AtomicUsize::new(0);
/// As [`TARGETS`].
static TARGET_FREE: AtomicPtr<()> = AtomicPtr::new(free_slow as *mut ());

/// Stands in front of the C library's `free`.
///
/// # Safety
/// As the function itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    code!(go_on, to = sym TARGET_FREE)
}

/// Goes to the next `free`, but not if a handler runs in the thread.
///
/// # Safety
/// `block` is null or a live block of the program's allocator, as for `free`.
#[unsafe(naked)]
unsafe extern "C" fn free_checked(block: *mut c_void) {
    code!(
        free_guarded,
        in_signal = const offset_of!(Thread, in_signal),
        next = sym NEXT_FREE,
        slow = sym free_slow,
    )
}

/// Where `free` goes from its stub.
pub fn next_free() -> usize {
    let mut next = NEXT_FREE.load(Relaxed);
    if next == 0 {
        next = loader::address(c"free", None) as usize;
        go_on(&NEXT_FREE, &TARGET_FREE, next, free_checked as *mut ());
    }
    next
}

/// # Safety
/// `block` is null or a live block of the program's allocator, as for `free`.
unsafe extern "C" fn free_slow(block: *mut c_void) {
    type Free = unsafe extern "C" fn(*mut c_void);
    let next = next_free();
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() }
        && !block.is_null()
        && thread.in_signal() != 0
        && !open_signals::is_synchronous(thread.in_signal())
        && !signal::notice_long_jump(thread)
    {
        let what = Misuse {
            detail: u64::from(thread.in_signal()),
            ..Misuse::new(finding_kind::UNSAFE_CALL, unsafe_call::MALLOC, Ident::NONE)
        };
        misuse::tell(thread, &what);
    }
    // SAFETY: `next` is the next `free`, has this type, and gets the program's own `block`
    // unchanged.
    unsafe { core::mem::transmute::<usize, Free>(next)(block) };
}
