//! Which lock everything runs on: named in the environment, chosen at the process' first call,
//! which may come before any constructor of this library.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use libc::timespec;

use crate::exclusive::{Choice, HybridMutex, for_each_choice};
use crate::guest::{Layout, Marked, Plain};
use crate::mutex::{self, Mutex};
use crate::{environment, numbers, os, spin};

/// The name of the lock.
const LOCK: &[u8] = b"LOCKWRIGHT_SWAP=";

/// The functions that differ from lock to lock, where the exported ones go.
macro_rules! targets {
    ($($name:ident: $to:path, $first:ident, ($($arg:ident: $ty:ty),*);)*) => {
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
            #[unsafe(naked)]
            unsafe extern "C" fn $first() {
                core::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdx",
                    "call {choose}",
                    "pop rdx", "pop rsi", "pop rdi",
                    "jmp qword ptr [rip + {to}]",
                    choose = sym choose, to = sym target::$name
                )
            }
        )*

        fn install<L: Choice>() {
            // Relaxed: the functions have been there since the program began.
            $(target::$name.store($to as *mut (), Relaxed);)*
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
    mutex_lock: mutex::lock::<L::Mutex>, first_lock, (m: *mut Mutex);
    mutex_trylock: mutex::trylock::<L::Mutex>, first_trylock, (m: *mut Mutex);
    mutex_timedlock: mutex::timedlock::<L::Mutex>, first_timedlock, (m: *mut Mutex, t: *const timespec);
    mutex_clocklock: mutex::clocklock::<L::Mutex>, first_clocklock, (m: *mut Mutex, c: c_int, t: *const timespec);
    mutex_unlock: mutex::unlock::<L::Mutex>, first_unlock, (m: *mut Mutex);
    spin_lock: spin::lock::<L::Spin>, first_spin_lock, (s: *const AtomicU32);
    spin_trylock: spin::trylock::<L::Spin>, first_spin_trylock, (s: *const AtomicU32);
    spin_unlock: spin::unlock::<L::Spin>, first_spin_unlock, (s: *const AtomicU32);
}

/// Takes the lock of this name, if it is this one's. True: it is.
fn take_if_named<L: Choice>(name: &[u8]) -> bool {
    if name != L::NAME {
        return false;
    }
    if L::NUMBERS {
        numbers::prepare(|| {
            os::wipe_on_fork(Plain::storage()) && os::wipe_on_fork(Marked::storage())
        });
    }
    install::<L>();
    true
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
