//! Which lock everything runs on: named in the environment, chosen at the process' first call,
//! which may come before any constructor of this library. If the replaced locks depend on call
//! sites, the wrappers that take locks also learn then to look at their callers.

use core::ffi::{CStr, c_int};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32, fence};

use libc::timespec;

use crate::mutex::{self, Mutex};
use crate::platform::{Layout, Marked, Plain};
use crate::rwlock::{self, RwLock};
use crate::table::{Choice, HybridMutex, for_each_choice};
use crate::{async_cancel, cancel, environment, os, selection, spin, thread_numbers};

/// The name of the lock.
const LOCK: &[u8] = b"LOCKWRIGHT_SWAP=";

/// The functions that differ from run to run, where the exported ones go: as they are, and as they
/// are where a thread can be cancelled at any instruction. The last argument of those that take a lock
/// is where they return to: it is there, as the argument of this number (from 0), only where some locks
/// are not replaced.
macro_rules! targets {
    ($($name:ident: $to:path, $first:ident $(, site $argument:tt)?, ($($arg:ident: $ty:ty),*);)*) => {
        /// Where the functions of the chosen lock are.
        pub mod target {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new($first as *mut ());
            )*
        }

        $(
            /// Chooses, and has the call begin again.
            ///
            /// # Safety
            /// Called by the program as the function of this row, with arguments that keep its
            /// contract.
            #[unsafe(naked)]
            unsafe extern "C" fn $first() {
                code!(follows, follow = sym choose, to = sym target::$name)
            }
        )*

        fn install<L: Choice>(is_careful: bool) {
            let is_sited = selection::is_active();
            $({
                let at = match is_careful {
                    true => async_cancel::$name::<L> as *mut (),
                    false => $to as *mut (),
                };
                $(let at = match (is_sited, is_careful) {
                    (false, _) => at,
                    (true, false) => {
                        /// The function, told where it returns to.
                        ///
                        /// # Safety
                        /// Called by the program as the function of this row, with arguments that
                        /// keep its contract.
                        #[unsafe(naked)]
                        unsafe extern "C" fn sited<L: Choice>() {
                            code!(pass site $argument, to = sym $to)
                        }
                        sited::<L> as *mut ()
                    }
                    (true, true) => {
                        /// The careful function, told where it returns to.
                        ///
                        /// # Safety
                        /// Called by the program as the function of this row, with arguments that
                        /// keep its contract.
                        #[unsafe(naked)]
                        unsafe extern "C" fn sited<L: Choice>() {
                            code!(pass site $argument, to = sym async_cancel::$name::<L>)
                        }
                        sited::<L> as *mut ()
                    }
                };)?
                // Relaxed: the functions have been there since the program began.
                target::$name.store(at, Relaxed);
            })*
            let _ = is_sited;
        }

        $(
            #[doc = concat!("`", stringify!($name), "` of the chosen lock, for ourselves.")]
            ///
            /// # Safety
            /// As the function itself.
            #[allow(dead_code, reason = "of some only the target is used")]
            pub unsafe fn $name($($arg: $ty),*) -> c_int {
                // SAFETY: the target is a function of this type, or chooses one.
                unsafe {
                    let at = core::mem::transmute::<*mut (), unsafe extern "C-unwind" fn($($ty),*) -> c_int>(
                        target::$name.load(Relaxed),
                    );
                    at($($arg),*)
                }
            }
        )*
    };
}

targets! {
    mutex_lock: mutex::lock::<L::Mutex>, first_lock, site 1, (m: *mut Mutex, site: usize);
    mutex_trylock: mutex::trylock::<L::Mutex>, first_trylock, site 1, (m: *mut Mutex, site: usize);
    mutex_timedlock: mutex::timedlock::<L::Mutex>, first_timedlock, site 2, (m: *mut Mutex, t: *const timespec, site: usize);
    mutex_clocklock: mutex::clocklock::<L::Mutex>, first_clocklock, site 3, (m: *mut Mutex, c: c_int, t: *const timespec, site: usize);
    mutex_unlock: mutex::unlock::<L::Mutex>, first_unlock, (m: *mut Mutex);
    spin_lock: spin::lock::<L::Spin>, first_spin_lock, (s: *mut AtomicU32);
    spin_trylock: spin::trylock::<L::Spin>, first_spin_trylock, (s: *mut AtomicU32);
    spin_unlock: spin::unlock::<L::Spin>, first_spin_unlock, (s: *mut AtomicU32);
    rwlock_rdlock: rwlock::rdlock, first_rdlock, site 1, (l: *mut RwLock, site: usize);
    rwlock_wrlock: rwlock::wrlock, first_wrlock, site 1, (l: *mut RwLock, site: usize);
    rwlock_tryrdlock: rwlock::tryrdlock, first_tryrdlock, site 1, (l: *mut RwLock, site: usize);
    rwlock_trywrlock: rwlock::trywrlock, first_trywrlock, site 1, (l: *mut RwLock, site: usize);
    rwlock_timedrdlock: rwlock::timedrdlock, first_timedrdlock, site 2, (l: *mut RwLock, t: *const timespec, site: usize);
    rwlock_timedwrlock: rwlock::timedwrlock, first_timedwrlock, site 2, (l: *mut RwLock, t: *const timespec, site: usize);
    rwlock_clockrdlock: rwlock::clockrdlock, first_clockrdlock, site 3, (l: *mut RwLock, c: c_int, t: *const timespec, site: usize);
    rwlock_clockwrlock: rwlock::clockwrlock, first_clockwrlock, site 3, (l: *mut RwLock, c: c_int, t: *const timespec, site: usize);
    rwlock_unlock: rwlock::unlock, first_rwlock_unlock, (l: *mut RwLock);
}

/// For our own calls, which nobody's choice of locks is about.
pub const NO_SITE: usize = 0;

/// Takes the lock of this name, if it is this one's. True: it is.
fn take_if_named<L: Choice>(name: &[u8]) -> bool {
    if name != L::NAME {
        return false;
    }
    if L::NUMBERS {
        thread_numbers::prepare(|| {
            os::wipe_on_fork(Plain::storage()) && os::wipe_on_fork(Marked::storage())
        });
    }
    loop {
        let is_careful = cancel::is_careful();
        install::<L>(is_careful);
        // SeqCst: pairs with the fence in `be_careful`, whose caller chooses after it. Either we see the
        // flag here, or that caller overwrites what we have installed.
        fence(SeqCst);
        if cancel::is_careful() == is_careful {
            return true;
        }
    }
}

/// Takes the lock that the environment names; without one, the hybrid mutex. Threads that come
/// here at once choose alike.
pub extern "C" fn choose() {
    let name = environment::variable(LOCK).map_or(HybridMutex::NAME, CStr::to_bytes);
    if !for_each_choice!(take_if_named(name)) {
        // The command knows all names; somebody else has set this one.
        take_if_named::<HybridMutex>(HybridMutex::NAME);
    }
}
