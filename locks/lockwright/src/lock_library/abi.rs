//! The interface between a library of locks and the simulator: tables of C functions, as in
//! `include/lockwright/sim.h`, which has the same in C.
//!
//! Tables can grow at their ends within a version: each side says how large the tables are that it
//! knows, and does without what the other's have not.

use core::ffi::{c_char, c_int, c_void};

/// The version of the tables. Another one has other fields in other places.
pub const VERSION: u32 = 1;

/// The function that a library has by this name: [`Entry`].
pub const ENTRY: &core::ffi::CStr = c"lockwright_sim_library";

/// Gives the library its platform, for ever, and gets what it has. It takes no lock.
pub type Entry = unsafe extern "C" fn(*const Platform) -> *const Library;

/// No deadline.
pub const NEVER: u64 = u64::MAX;

/// The CPU number of a thread outside a simulation.
pub const NO_CPU: u32 = u32::MAX;

/// A lock promises nothing of how often waiters are overtaken.
pub const NO_PROMISE: u64 = 0;

/// Where in the source an operation is, for the report of a failure. It need not outlive the call, but its file's name
/// must.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// The file's name: UTF-8, of `length` bytes.
    pub file: *const c_char,
    /// Length of the name.
    pub length: usize,
    /// From 1.
    pub line: u32,
}

/// The operations of [`Platform::modify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Modify {
    /// Stores the value.
    Exchange = 0,
    /// Adds it, and wraps.
    Add = 1,
    /// Subtracts it, and wraps.
    Sub = 2,
    /// Bits that both have.
    And = 3,
    /// Bits that one of them has.
    Or = 4,
    /// Bits that they do not share.
    Xor = 5,
}

/// How [`Platform::wait`] has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Waited {
    /// It was woken, or it returned early.
    Woken = 0,
    /// It did not wait: the word was not what was expected.
    Changed = 1,
    /// The deadline has come.
    TooLate = 2,
}

/// The simulator's services for a library: [`crate::platform::Platform`] has the meaning of each.
///
/// Words are of 1, 2, 4 or 8 bytes, and aligned to their size. Orders are those of C's
/// `memory_order`; a place may be null.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Platform {
    /// [`VERSION`].
    pub version: u32,
    /// Size of this table, in bytes.
    pub size: u32,
    /// The value of a word.
    pub load: unsafe extern "C" fn(*const c_void, u32, c_int, *const Place) -> u64,
    /// Stores a value in a word.
    pub store: unsafe extern "C" fn(*mut c_void, u32, u64, c_int, *const Place),
    /// Changes a word as the [`Modify`] says. Returns what it was.
    pub modify: unsafe extern "C" fn(*mut c_void, u32, u32, u64, c_int, *const Place) -> u64,
    /// Stores a value in a word that is as expected: 1. Otherwise 0, and what was found is stored
    /// where the expected value was.
    pub compare_exchange:
        unsafe extern "C" fn(*mut c_void, u32, *mut c_void, u64, c_int, *const Place) -> c_int,
    /// A fence.
    pub fence: unsafe extern "C" fn(c_int),
    /// A round of a spinning loop that looks at the same words until one changes, or at most so many
    /// of them. Returns how many.
    pub relax: unsafe extern "C" fn(u32) -> u32,
    /// Sleeps if the word of 4 bytes is as expected, until one of the bits is woken or the deadline
    /// has come. Returns a [`Waited`].
    pub wait: unsafe extern "C" fn(*const u32, u32, u32, u64, *const Place) -> c_int,
    /// Wakes at most so many who wait on a word for one of the bits.
    pub wake: unsafe extern "C" fn(*const u32, u32, u32, *const Place),
    /// The thread's number, from 0; [`NO_CPU`] in `init`.
    pub cpu: unsafe extern "C" fn() -> u32,
    /// How many threads there are.
    pub cpus: unsafe extern "C" fn() -> u32,
    /// The library's data for a thread, of at most [`MOST_PER_CPU`] bytes, aligned to a page: the
    /// same in a whole run. It is zeros, and given to the function, if there is one, before it is
    /// returned for the first time in a run.
    pub per_cpu:
        unsafe extern "C" fn(u32, usize, Option<unsafe extern "C" fn(*mut c_void)>) -> *mut c_void,
    /// Whether a thread does not sleep.
    pub is_running: unsafe extern "C" fn(u32) -> c_int,
    /// Whether a thread that has spun for so many rounds should sleep, or let others run.
    pub need_resched: unsafe extern "C" fn(u32) -> c_int,
    /// Gives the CPU away for once.
    pub yield_now: unsafe extern "C" fn(),
    /// Nanoseconds.
    pub now: unsafe extern "C" fn() -> u64,
}

/// The most that is kept for a thread, in bytes.
pub const MOST_PER_CPU: usize = 4096;

/// A lock of a library. Functions are of one lock, at the address that they are given.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Lock {
    /// Letters, digits, `-` and `_`: what `--lock` calls it.
    pub name: *const c_char,
    /// A description in a few words; may be null.
    pub about: *const c_char,
    /// Size of a lock, in bytes.
    pub size: usize,
    /// A power of two, at most 4096.
    pub align: usize,
    /// One more than how often a waiter may be overtaken by those who came later; [`NO_PROMISE`].
    pub overtakes: u64,
    /// Makes a free lock of memory that is zero. None: zeros are one.
    pub init: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Takes it. There must be one.
    pub lock: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Releases it. There must be one.
    pub unlock: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Takes it if that can be done at once: not 0.
    pub try_lock: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    /// Takes it, not 0, or gives up at a time in nanoseconds, 0.
    pub lock_until: Option<unsafe extern "C" fn(*mut c_void, u64) -> c_int>,
    /// Takes it to read.
    pub read_lock: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Takes it to read if that can be done at once: not 0.
    pub try_read_lock: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    /// Releases it after reading. There must be one if there is `read_lock`.
    pub read_unlock: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: what it points to is constant.
unsafe impl Sync for Lock {}

// `tests/programs/sim/every_function.c` asserts the same sizes for the header.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Platform>() == 8 + 15 * 8 && size_of::<Lock>() == 13 * 8);

/// The locks of a library.
#[derive(Debug)]
#[repr(C)]
pub struct Library {
    /// [`VERSION`], of the library.
    pub version: u32,
    /// The size of the [`Platform`] that the library knows.
    pub platform_size: u32,
    /// The size of a [`Lock`] as the library knows it.
    pub lock_size: u32,
    /// How many locks there are.
    pub lock_count: u32,
    /// The first of them.
    pub locks: *const Lock,
}

// SAFETY: what `locks` points to is constant.
unsafe impl Sync for Library {}

impl Library {
    /// The library of these locks.
    pub const fn of(locks: &'static [Lock]) -> Self {
        Self {
            version: VERSION,
            platform_size: size_of::<Platform>() as u32,
            lock_size: size_of::<Lock>() as u32,
            lock_count: locks.len() as u32,
            locks: locks.as_ptr(),
        }
    }
}
