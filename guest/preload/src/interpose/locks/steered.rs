//! Stubs that go by the steering of `lockwright confirm`, `--perturb` and `--avoid`, before the wrappers: only where that
//! is wanted are they in the stubs' targets, and so cost nobody else an instruction.

use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::interpose::target;
use crate::os::tls::ROOMS;
use crate::steering::{IN_PAGE, MAY_BE, arrives, departs};

/// The names of functions that may wait, and of those that release a lock. What the stubs have passed stays in its
/// registers and on the stack.
macro_rules! steered {
    (waits { $($name:ident;)* } releases { $($release:ident;)* }) => {
        /// What the stubs went to before, as chosen at start.
        mod next {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
            )*
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $release: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
            )*
        }

        mod by_way {
            use super::*;
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                ///
                /// # Safety
                /// The arguments keep the contract of the function of that name; `choose` has
                /// stored its target.
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    code!(
                        arrives,
                        in_page = const IN_PAGE, may_be = sym MAY_BE, arrives = sym arrives,
                        next = sym next::$name
                    )
                }
            )*
            $(
                #[doc = concat!("`", stringify!($release), "`.")]
                ///
                /// # Safety
                /// As for the others; `choose_releases` has stored its target.
                #[unsafe(naked)]
                pub unsafe extern "C" fn $release() {
                    code!(
                        departs,
                        rooms = const ROOMS, departs = sym departs, next = sym next::$release
                    )
                }
            )*
        }

        /// Has the stubs go here, and from here to where they went. Called at start, before any
        /// thread, once they are chosen, and before the stubs of internal names follow.
        pub fn choose() {
            $(
                next::$name.store(target::$name.load(Relaxed), Relaxed);
                target::$name.store(by_way::$name as *mut (), Relaxed);
            )*
        }

        /// The same of functions that release locks, where threads are to be kept apart.
        pub fn choose_releases() {
            $(
                next::$release.store(target::$release.load(Relaxed), Relaxed);
                target::$release.store(by_way::$release as *mut (), Relaxed);
            )*
        }
    };
}

steered! {
    waits {
        pthread_mutex_lock;
        pthread_mutex_timedlock;
        pthread_mutex_clocklock;
        pthread_rwlock_rdlock;
        pthread_rwlock_wrlock;
        pthread_rwlock_timedrdlock;
        pthread_rwlock_timedwrlock;
        pthread_rwlock_clockrdlock;
        pthread_rwlock_clockwrlock;
        pthread_spin_lock;
        sem_wait;
        sem_timedwait;
        sem_clockwait;
        mtx_lock;
        mtx_timedlock;
        pthread_join;
        thrd_join;
        lockwright_acquire;
        pthread_cond_wait;
        pthread_cond_timedwait;
        pthread_cond_clockwait;
        cnd_wait;
        cnd_timedwait;
    }
    releases {
        pthread_mutex_unlock;
        pthread_rwlock_unlock;
        pthread_spin_unlock;
        sem_post;
        mtx_unlock;
        lockwright_release;
    }
}
