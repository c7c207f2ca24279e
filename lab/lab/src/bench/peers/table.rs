//! The interface of a lock in this benchmark: a row of functions by the C calling convention.
//!
//! All locks, those of Rust too, are called through such pointers: no compiler sees a lock and the
//! loop around it together, so the calls cost every lock the same. What they cost is measured with
//! [`NOTHING`], and told.

use std::ffi::c_void;

pub use super::functions::{Functions, Waiting};

/// A lock and what it is called.
#[derive(Clone, Copy)]
pub struct Peer {
    /// Its name in the report.
    pub name: &'static str,
    /// One of lockwright's: it is compared with the best of the others.
    pub is_ours: bool,
    /// How it is used.
    pub functions: Functions,
}

impl Peer {
    /// Whether its waiters sleep.
    pub fn sleeps(&self) -> bool {
        self.functions.waiting == Waiting::SLEEPS
    }

    /// Whether it has readers.
    pub fn has_readers(&self) -> bool {
        self.functions.read_lock.is_some()
    }
}

/// A lock of Rust code.
pub trait Lock: Sized + 'static {
    /// What its holder keeps: a guard, if it has one.
    type Held;
    /// Makes one.
    ///
    /// # Safety
    /// `at` is memory for one, which stays there until it is dropped.
    unsafe fn make(at: *mut Self);
    /// Takes it.
    fn lock(&'static self) -> Self::Held;
    /// Releases it.
    ///
    /// # Safety
    /// It is taken, by the calling thread.
    unsafe fn unlock(&'static self, held: Self::Held);
}

/// A lock of Rust code that has readers.
pub trait Shared: Lock {
    /// What a reader keeps.
    type Read;
    /// Takes it to read.
    fn read(&'static self) -> Self::Read;
    /// Releases it.
    ///
    /// # Safety
    /// It is taken to read, by the calling thread.
    unsafe fn read_unlock(&'static self, held: Self::Read);
}

/// The functions of a lock, used by one holder at a time.
pub const fn exclusive<L: Lock>() -> Functions {
    assert!(align_of::<L>() <= super::place::ALIGN && super::place::Own::holds::<L::Held>());
    Functions {
        size: size_of::<L>(),
        waiting: Waiting::SLEEPS,
        make: make::<L>,
        destroy: destroy::<L>,
        lock: lock::<L>,
        unlock: unlock::<L>,
        read_lock: None,
        read_unlock: None,
    }
}

/// The functions of a lock that has readers.
pub const fn shared<L: Shared>() -> Functions {
    assert!(super::place::Own::holds::<L::Read>());
    Functions {
        read_lock: Some(read_lock::<L>),
        read_unlock: Some(read_unlock::<L>),
        ..exclusive::<L>()
    }
}

/// The same of a lock whose waiters spin.
pub const fn spinning(functions: Functions) -> Functions {
    Functions { waiting: Waiting::SPINS, ..functions }
}

/// # Safety
/// `at` is memory of this lock's size and alignment, which stays until `destroy`.
unsafe extern "C" fn make<L: Lock>(at: *mut c_void) {
    // SAFETY: the caller gives memory of this size and an alignment that is checked in `exclusive`.
    unsafe { L::make(at.cast()) }
}

/// # Safety
/// `make` made a lock at `at`, which nobody uses any more.
unsafe extern "C" fn destroy<L: Lock>(at: *mut c_void) {
    // SAFETY: the caller has made it there, and nobody uses it any more.
    unsafe { at.cast::<L>().drop_in_place() }
}

/// # Safety
/// `make` made a lock at `at`, and `own` is the calling thread's memory for what a holder keeps.
unsafe extern "C" fn lock<L: Lock>(at: *mut c_void, own: *mut c_void) {
    // SAFETY: one is made there; its holder releases it before it is destroyed.
    let lock = unsafe { &*at.cast::<L>() };
    // SAFETY: the caller's own memory; `exclusive` has checked that it is large enough.
    unsafe { own.cast::<L::Held>().write(lock.lock()) }
}

/// # Safety
/// The calling thread took the lock at `at` with the same `own`.
unsafe extern "C" fn unlock<L: Lock>(at: *mut c_void, own: *mut c_void) {
    // SAFETY: by contract the lock at `at` was made, and `lock` wrote what is read from `own`.
    let (lock, held) = unsafe { (&*at.cast::<L>(), own.cast::<L::Held>().read()) };
    // SAFETY: the caller has taken it.
    unsafe { lock.unlock(held) }
}

/// # Safety
/// The contract is that of `lock`.
unsafe extern "C" fn read_lock<L: Shared>(at: *mut c_void, own: *mut c_void) {
    // SAFETY: `make` made one at `at`, and its holder releases it before it is destroyed.
    let lock = unsafe { &*at.cast::<L>() };
    // SAFETY: by contract the lock at `at` was made, and `own` is this thread's memory; `shared`
    // has checked it.
    unsafe { own.cast::<L::Read>().write(lock.read()) }
}

/// # Safety
/// The calling thread took the lock at `at` to read, with the same `own`.
unsafe extern "C" fn read_unlock<L: Shared>(at: *mut c_void, own: *mut c_void) {
    // SAFETY: `make` made the lock at `at`, and `read_lock` wrote what is read from `own`.
    let (lock, held) = unsafe { (&*at.cast::<L>(), own.cast::<L::Read>().read()) };
    // SAFETY: the caller has taken it to read.
    unsafe { lock.read_unlock(held) }
}

/// No lock at all: what the loop and the calls cost by themselves, and what must be found out not to
/// exclude.
pub struct Nothing;

impl Lock for Nothing {
    type Held = ();
    /// # Safety
    /// The contract is that of `Lock::make`.
    unsafe fn make(_: *mut Self) {}
    fn lock(&'static self) {}
    /// # Safety
    /// The contract is that of `Lock::unlock`.
    unsafe fn unlock(&'static self, (): ()) {}
}

impl Shared for Nothing {
    type Read = ();
    fn read(&'static self) {}
    /// # Safety
    /// The contract is that of `Shared::read_unlock`.
    unsafe fn read_unlock(&'static self, (): ()) {}
}

/// [`Nothing`], as a row.
pub const NOTHING: Peer = Peer { name: "nothing", is_ours: false, functions: shared::<Nothing>() };
