//! Libraries of locks for `lockwright-lab sim`: a lock of yours, written over
//! [`Platform`](crate::platform::Platform), in the simulator and in its explorer.
//!
//! A library is a crate of the type `cdylib` that names its locks once:
//!
//! ```ignore
//! lockwright::lock_library! {
//!     Lock::exclusive::<MyLock<Hosted>>(c"mylock", c"what it is"),
//! }
//! ```
//!
//! `lockwright-lab sim --lock-library libmylock.so --lock mylock,qspinlock` compares it with others.
//! [`Hosted`] is the platform: each of its operations goes through the simulator. The interface
//! between the two is a table of C functions ([`abi`]), which `include/lockwright/sim.h` has for C.

pub mod abi;
mod hosted;

use core::ffi::{CStr, c_int, c_void};

pub use abi::Lock;
pub use hosted::{Hosted, enter};

use crate::exclusive::Exclusive;

/// A lock that readers share.
///
/// # Safety
/// A reader excludes the holders that [`Exclusive`] describes.
pub unsafe trait ReaderWriter: Exclusive {
    /// Takes the lock to read.
    #[track_caller]
    fn read_lock(&self);

    /// Takes the lock to read if that needs no wait.
    #[track_caller]
    fn try_read_lock(&self) -> bool;

    /// Releases the lock that was taken to read.
    ///
    /// # Safety
    /// The calling thread reads.
    #[track_caller]
    unsafe fn read_unlock(&self);
}

/// A lock that can be waited for up to a time.
///
/// # Safety
/// A thread for which `lock` or `try_lock` succeeded has the lock as [`Exclusive`] defines it.
pub unsafe trait Timed: Exclusive {
    /// Takes the lock, or gives up at `deadline`, in nanoseconds of
    /// [`Platform::now`](crate::platform::Platform::now): false.
    #[track_caller]
    fn lock_until(&self, deadline: u64) -> bool;
}

impl Lock {
    /// A lock that one thread has at a time.
    pub const fn exclusive<L: Exclusive + 'static>(
        name: &'static CStr,
        about: &'static CStr,
    ) -> Self {
        Self {
            name: name.as_ptr(),
            about: about.as_ptr(),
            size: size_of::<L>(),
            align: align_of::<L>(),
            overtakes: abi::NO_PROMISE,
            init: Some(init::<L>),
            lock: Some(lock::<L>),
            unlock: Some(unlock::<L>),
            try_lock: Some(try_lock::<L>),
            lock_until: None,
            read_lock: None,
            try_read_lock: None,
            read_unlock: None,
        }
    }

    /// As [`Lock::exclusive`], of a lock that readers share.
    pub const fn reader_writer<L: ReaderWriter + 'static>(
        name: &'static CStr,
        about: &'static CStr,
    ) -> Self {
        let mut lock = Self::exclusive::<L>(name, about);
        lock.read_lock = Some(read_lock::<L>);
        lock.try_read_lock = Some(try_read_lock::<L>);
        lock.read_unlock = Some(read_unlock::<L>);
        lock
    }

    /// It can be waited for up to a time. `L` is the lock that it was made of.
    #[must_use]
    pub const fn timed<L: Timed + 'static>(mut self) -> Self {
        self.lock_until = Some(lock_until::<L>);
        self
    }

    /// At most so many later threads overtake a waiter: the explorer reports an execution with more.
    #[must_use]
    pub const fn overtakes(mut self, most: u32) -> Self {
        self.overtakes = most as u64 + 1;
        self
    }
}

/// # Safety
/// `at` points to memory of the size and alignment of `L`, which nobody uses.
unsafe extern "C" fn init<L: Exclusive>(at: *mut c_void) {
    // SAFETY: the simulator gives memory of the lock's size and alignment, which nobody uses.
    unsafe { at.cast::<L>().write(L::new()) };
}

/// The lock there.
///
/// # Safety
/// `init` has made one there, which stays.
unsafe fn at<'l, L>(at: *mut c_void) -> &'l L {
    // SAFETY: by contract `init` made an `L` at this address, and it stays there.
    unsafe { &*at.cast::<L>() }
}

// The simulator calls these of locks that were made by `init`, and unlocks what the calling thread
// has locked.
macro_rules! calls {
    ($($name:ident: $($bound:ident)? => $result:ty, |$lock:ident $(, $more:ident: $type:ty)?| $call:expr;)*) => {
        $(
            /// # Safety
            /// `place` holds an `L` that `init` made. The calling thread holds it if this releases it.
            unsafe extern "C" fn $name<L: $($bound)?>(place: *mut c_void $(, $more: $type)?) -> $result {
                // SAFETY: the simulator has had it made.
                let $lock: &L = unsafe { at(place) };
                $call
            }
        )*
    };
}

calls! {
    lock: Exclusive => (), |lock| lock.lock();
    try_lock: Exclusive => c_int, |lock| lock.try_lock().into();
    // SAFETY: the calling thread has it, says the simulator.
    unlock: Exclusive => (), |lock| unsafe { lock.unlock() };
    lock_until: Timed => c_int, |lock, deadline: u64| lock.lock_until(deadline).into();
    read_lock: ReaderWriter => (), |lock| lock.read_lock();
    try_read_lock: ReaderWriter => c_int, |lock| lock.try_read_lock().into();
    // SAFETY: the calling thread reads, says the simulator.
    read_unlock: ReaderWriter => (), |lock| unsafe { lock.read_unlock() };
}

/// Names the locks of a library: [`Lock`]s, which are constants. Once in a library.
#[macro_export]
macro_rules! lock_library {
    ($($lock:expr),+ $(,)?) => {
        /// The entry point for `lockwright-lab sim --lock-library`.
        ///
        /// # Safety
        /// The table stays for ever.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn lockwright_sim_library(
            platform: *const $crate::lock_library::abi::Platform,
        ) -> *const $crate::lock_library::abi::Library {
            static LOCKS: &[$crate::lock_library::Lock] = &[$($lock),+];
            static LIBRARY: $crate::lock_library::abi::Library =
                $crate::lock_library::abi::Library::of(LOCKS);
            // SAFETY: by contract the table at `platform` stays for ever, as `enter` demands.
            unsafe { $crate::lock_library::enter(platform) };
            &raw const LIBRARY
        }
    };
}
