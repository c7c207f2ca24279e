//! How a process goes over to functions that asynchronous cancellation does not harm: with the first
//! thread that asks for it. Until then they are as they are, at no cost.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use libc::timespec;

use crate::async_cancel::completed;
use crate::cond::{self, Cond};
use crate::mutex::Mutex;
use crate::{cancel, lock_choice, next};

/// Functions of condition variables, which are the same for each lock, and their careful twins.
macro_rules! conditions {
    ($($target:ident $name:ident: $plain:path, ($($arg:ident: $ty:ty),*);)*) => {
        /// Where they are.
        pub mod condition {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $target: AtomicPtr<()> = AtomicPtr::new($plain as *mut ());
            )*
        }

        mod careful {
            use super::*;
            completed! { $($name($($arg: $ty),*): $plain;)* }
        }

        fn install() {
            // Relaxed: the functions have been there since the program began.
            $(condition::$target.store(careful::$name as *mut (), Relaxed);)*
        }

        $(
            #[doc = concat!("`pthread_", stringify!($name), "`, for ourselves.")]
            ///
            /// # Safety
            /// As the function itself.
            #[allow(dead_code, reason = "of some only the target is used")]
            pub unsafe fn $name($($arg: $ty),*) -> c_int {
                // SAFETY: the target is a function of this type.
                unsafe {
                    let at = core::mem::transmute::<*mut (), unsafe extern "C-unwind" fn($($ty),*) -> c_int>(
                        condition::$target.load(Relaxed),
                    );
                    at($($arg),*)
                }
            }
        )*
    };
}

conditions! {
    wait cond_wait: cond::wait_endless, (c: *mut Cond, m: *mut Mutex);
    timedwait cond_timedwait: cond::timedwait, (c: *mut Cond, m: *mut Mutex, t: *const timespec);
    clockwait cond_clockwait: cond::clockwait, (c: *mut Cond, m: *mut Mutex, k: c_int, t: *const timespec);
    signal cond_signal: cond::signal, (c: *mut Cond);
    broadcast cond_broadcast: cond::broadcast, (c: *mut Cond);
    destroy cond_destroy: cond::destroy, (c: *mut Cond);
}

/// The careful functions are installed. Threads that come here before that install them, too.
static IS_DONE: AtomicBool = AtomicBool::new(false);

/// `pthread_setcanceltype`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn set(kind: c_int, old: *mut c_int) -> c_int {
    // Acquire: pairs with the Release below, so that the functions are installed.
    if kind == cancel::ASYNCHRONOUS && !IS_DONE.load(Acquire) {
        cancel::be_careful();
        install();
        lock_choice::choose();
        IS_DONE.store(true, Release);
    }
    // SAFETY: the next `pthread_setcanceltype` gets the program's own `kind` and `old` unchanged,
    // as without us.
    unsafe { next::pthread_setcanceltype(kind, old) }
}
