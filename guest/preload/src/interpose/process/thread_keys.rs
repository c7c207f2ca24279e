//! Keys of thread-specific data: the program gets all that there are, ours included.

use core::ffi::c_int;

use libc::pthread_key_t;

use crate::libc::real::{self, Destructor, thrd};
use crate::threads::{keys, unnoticed_ends};

/// Calls `create`, and if that answers `none_left` and we have a key to give up, again.
fn create(none_left: c_int, create: impl Fn() -> c_int) -> c_int {
    loop {
        let answer = create();
        if answer != none_left || !keys::EXIT.give_up() {
            return answer;
        }
        unnoticed_ends::end_unnoticed();
    }
}

/// # Safety
/// The arguments keep the contract of `pthread_key_create`.
pub unsafe extern "C-unwind" fn key_create(
    key: *mut pthread_key_t,
    destructor: Destructor,
    _site: u64,
) -> c_int {
    // SAFETY: the next `pthread_key_create` gets the program's own `key` and `destructor`
    // unchanged, as without us.
    create(libc::EAGAIN, || unsafe { real::pthread_key_create(key, destructor) })
}

/// `tss_create`.
///
/// # Safety
/// The arguments keep the contract of `tss_create`.
pub unsafe extern "C-unwind" fn tss_create(
    key: *mut pthread_key_t,
    destructor: Destructor,
    _site: u64,
) -> c_int {
    // SAFETY: the next `tss_create` gets the program's own `key` and `destructor` unchanged, as
    // without us.
    create(thrd::ERROR, || unsafe { real::tss_create(key, destructor) })
}
