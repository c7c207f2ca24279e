//! Stubs that go by the steering of `lockwright confirm` and `--perturb`, before the wrappers: only where that is wanted
//! are they in the stubs' targets, and so cost nobody else an instruction.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::interpose::target;
use crate::steering::arrives;

/// `name;`. What the stub has passed stays in its registers and on the stack.
macro_rules! steered {
    ($($name:ident;)*) => {
        /// What the stubs went to before, as chosen at start.
        mod next {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
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
                    naked_asm!(
                        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                        "lea rsi, [rsp + 56]", "mov rdx, rbp",
                        "call {arrives}",
                        "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                        "jmp qword ptr [rip + {next}]",
                        arrives = sym arrives, next = sym next::$name
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
    };
}

steered! {
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
