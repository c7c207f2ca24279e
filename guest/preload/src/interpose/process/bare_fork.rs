//! Forks that run no handlers: `_Fork`, `clone`, and `syscall` (`syscall.rs`) with the numbers of
//! either. Their
//! wrappers do in the parent and in the child what the handlers do. Threads and vforked children
//! share all memory, ours included, and are let be.

use core::ffi::{c_int, c_long, c_void};

use crate::libc::real::{self, Begin};
use crate::lock_id::inherited;
use crate::os::readable;
use crate::process::fork::{child, parent, unseen};
use crate::recorder::state;

/// What a fork that runs no handlers does before.
fn prepare() -> Snapshotted {
    /// Longer than a fork lasts: after that it is one that this thread's handler has interrupted.
    const ROUNDS: u32 = 100;
    if state::status() == state::OFF {
        return Snapshotted::Nothing;
    }
    if !(0..ROUNDS).any(|_| inherited::reserve()) {
        return Snapshotted::Anothers;
    }
    // SAFETY: the loop above reserved the snapshot for this thread, as `take` asks.
    unsafe { inherited::take() };
    Snapshotted::Own
}

/// Whose the snapshot is while a fork runs that no handler hears of.
#[derive(Clone, Copy, PartialEq)]
enum Snapshotted {
    /// Nobody watches.
    Nothing,
    Own,
    /// The child is not told what its thread holds.
    Anothers,
}

impl Snapshotted {
    /// In the parent, after it.
    fn in_parent(self) {
        if self == Self::Own {
            // SAFETY: `parent` only releases the snapshot, which this thread has reserved.
            unsafe { parent() };
        }
    }

    /// In the child, after it.
    fn in_child(self) {
        match self {
            Self::Nothing => {}
            // SAFETY: as the C library calls it.
            Self::Own => unsafe { child() },
            Self::Anothers => unseen(),
        }
    }
}

/// `fork` answers 0 in the child, and runs no handlers.
fn without_handlers(fork: impl FnOnce() -> c_long) -> c_long {
    let snapshot = prepare();
    let answer = fork();
    match answer {
        0 => snapshot.in_child(),
        _ => snapshot.in_parent(),
    }
    answer
}

/// # Safety
/// The program asks for a fork, which the calling thread may make.
pub unsafe extern "C-unwind" fn bare(_site: u64) -> c_int {
    // SAFETY: the next `_Fork` takes no arguments, and the program itself has called it.
    without_handlers(|| c_long::from(unsafe { real::_Fork() })) as c_int
}

/// What it really begins with, and what it must know.
struct Cloned {
    begin: Begin,
    argument: *mut c_void,
    snapshot: Snapshotted,
}

/// `clone` of a process with a memory of its own: the stub of it goes here.
///
/// # Safety
/// The arguments keep the contract of `clone`.
pub unsafe extern "C-unwind" fn clone(
    begin: Option<Begin>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_tid: *mut c_int,
    tls: *mut c_void,
    child_tid: *mut c_int,
) -> c_int {
    let Some(begin) = begin.filter(|_| !stack.is_null()) else {
        // SAFETY: without a function or a stack the call fails, and `clone` gets the program's
        // arguments unchanged.
        return unsafe { real::clone(begin, stack, flags, argument, parent_tid, tls, child_tid) };
    };
    let cloned = Cloned { begin, argument, snapshot: prepare() };
    let at = (&raw const cloned).cast_mut().cast();
    // SAFETY: the program's arguments go on, with our first function. The child has its own copy of
    // this frame.
    let answer =
        unsafe { real::clone(Some(begin_cloned), stack, flags, at, parent_tid, tls, child_tid) };
    cloned.snapshot.in_parent();
    answer
}

/// The first function of a child that [`clone()`] made.
///
/// # Safety
/// `cloned` is the address of the parent's `Cloned`, of which the child has a copy.
unsafe extern "C-unwind" fn begin_cloned(cloned: *mut c_void) -> c_int {
    // SAFETY: `cloned` points to the child's copy of the `Cloned` in `clone`'s frame, which is
    // initialised.
    let Cloned { begin, argument, snapshot } = unsafe { cloned.cast::<Cloned>().read() };
    snapshot.in_child();
    // SAFETY: `begin` and `argument` are the program's own, which `clone` would have called in this
    // child.
    unsafe { begin(argument) }
}

/// A child with these is no process of its own, or its thread is none of ours: such are left alone.
pub const SHARES: c_int = libc::CLONE_VM | libc::CLONE_SETTLS;

/// `syscall` with the number of `fork`, `clone` or `clone3`.
///
/// # Safety
/// The program called `syscall` with the number and arguments of `fork`, `clone` or `clone3`.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall_that_forks() -> c_long {
    code!(
        forks_by_number,
        clone = const libc::SYS_clone,
        shares = const SHARES,
        returns_twice = sym returns_twice,
        bare = sym syscall_bare,
        next = sym real::slot::syscall,
    )
}

/// The first words of the kernel's `struct clone_args`.
#[repr(C)]
#[derive(Clone, Copy)]
struct CloneArguments {
    flags: u64,
    _of_no_matter: [u64; 4],
    stack: u64,
    _of_no_matter_either: [u64; 2],
}

/// What the kernel calls CLONE_ARGS_SIZE_VER0.
const _: () = assert!(size_of::<CloneArguments>() == 64);

/// `clone3` with these makes a process with a memory of its own that goes on from the call.
///
/// # Safety
/// `arguments` is the first argument of the program's `clone3`: any address.
unsafe extern "C" fn returns_twice(arguments: *const CloneArguments, len: usize) -> bool {
    // With fewer bytes, or with none, the call fails.
    // SAFETY: the caller's, as far as there is memory.
    len >= size_of::<CloneArguments>()
        && unsafe { readable::value(arguments) }
            .is_some_and(|arguments| arguments.flags & SHARES as u64 == 0 && arguments.stack == 0)
}

/// # Safety
/// The arguments keep the contract of `syscall`.
unsafe extern "C-unwind" fn syscall_bare(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the program's own arguments go on unchanged; the kernel does not look at those that
    // the call has not.
    without_handlers(|| unsafe { real::syscall(number, a, b, c, d, e, f) })
}
