//! The functions by which locks of all languages are used.

use std::ffi::c_void;

/// Takes or releases a lock. `own` is the calling thread's [`super::place::Own`], which keeps from
/// taking to releasing what the lock needs to know: a guard, a queue's node.
pub type Call = unsafe extern "C" fn(lock: *mut c_void, own: *mut c_void);

/// Makes a lock at an address, or destroys it there.
pub type Place = unsafe extern "C" fn(lock: *mut c_void);

/// What waiters do: `enum lock_waiting` in `lab/lab/peers/peers.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Waiting(u32);

impl Waiting {
    /// They sleep, if they wait for long.
    pub const SLEEPS: Self = Self(0);
    /// They spin or yield, and any of them may be first.
    pub const SPINS: Self = Self(1);
    /// They spin in a queue, without giving way: where they outnumber the CPUs, each release waits
    /// until the one thread that is next runs.
    pub const SPINS_IN_QUEUE: Self = Self(2);
}

/// A lock's functions. `struct lock_functions` in `lab/lab/peers/peers.h` is the same.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Functions {
    /// Bytes of a lock; at most 128 of alignment.
    pub size: usize,
    /// What waiters do.
    pub waiting: Waiting,
    /// Makes one.
    pub make: Place,
    /// Destroys it: nobody holds it.
    pub destroy: Place,
    /// Takes it for its caller alone.
    pub lock: Call,
    /// Releases it.
    pub unlock: Call,
    /// Takes it for its caller and other readers; none: it has no readers.
    pub read_lock: Option<Call>,
    /// Releases it.
    pub read_unlock: Option<Call>,
}
