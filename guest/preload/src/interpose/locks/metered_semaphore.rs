//! sem_t where it is measured: as a lock if it is one, else as what is waited for. By lockmeter alone, and with lockdep.

use core::ffi::c_int;

use libc::{clockid_t, sem_t, timespec};

use super::semaphore;
use crate::callsite::Return;
use crate::libc::real;
use crate::lockdep;
use crate::lockmeter::{semaphore as metered, sync_waits};
use crate::os::deadline;
use crate::recorder::measured::Short;

type Semaphore = *mut sem_t;

/// Waits for the semaphore by `block`.
///
/// # Safety
/// The caller's semaphore; `site` and `back` are as the stub passes them.
unsafe fn wait_by(s: Semaphore, site: u64, back: Return, block: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
    unsafe {
        let mut part = Short::begin();
        let result = match metered::taking(&mut part, s, site, back, true) {
            Some(taking) => taking.take(&mut part, block),
            None => part.outside(|| sync_waits::sem(s, site, block)),
        };
        part.end();
        result
    }
}

/// As [`wait_by`], by a wrapper for lockdep.
///
/// # Safety
/// As for [`wait_by`].
unsafe fn both_wait_by(
    s: Semaphore,
    site: u64,
    back: Return,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
    unsafe {
        let mut part = Short::begin();
        let result = match metered::taking(&mut part, s, site, back, false) {
            Some(taking) => taking.take_by(&mut part, block),
            None => part.outside(|| sync_waits::sem_whole(s, site, block)),
        };
        part.end();
        result
    }
}

/// The calls that wait: by `$by`, with these calls.
macro_rules! waits {
    (
        $by:ident, ($s:ident, $clock:ident, $t:ident, $site:ident, $back:ident),
        $wait:expr, $timedwait:expr, $clockwait:expr
    ) => {
        /// `sem_wait`.
        ///
        /// # Safety
        /// The arguments keep the contract of `sem_wait`; the stub passes `site` and `back`.
        pub unsafe extern "C-unwind" fn wait($s: Semaphore, $site: u64, $back: Return) -> c_int {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            unsafe { $by($s, $site, $back, || $wait) }
        }

        /// `sem_timedwait`.
        ///
        /// # Safety
        /// The arguments keep the contract of `sem_timedwait`; the stub passes `site` and `back`.
        pub unsafe extern "C-unwind" fn timedwait(
            $s: Semaphore,
            $t: *const timespec,
            $site: u64,
            $back: Return,
        ) -> c_int {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let block = || unsafe { $timedwait };
            // SAFETY: `s` is the program's own semaphore, and `t` its deadline or null.
            unsafe {
                match deadline::is_time($t) {
                    true => $by($s, $site, $back, block),
                    false => block(),
                }
            }
        }

        /// `sem_clockwait`.
        ///
        /// # Safety
        /// The arguments keep the contract of `sem_clockwait`; the stub passes `site` and `back`.
        pub unsafe extern "C-unwind" fn clockwait(
            $s: Semaphore,
            $clock: clockid_t,
            $t: *const timespec,
            $site: u64,
            $back: Return,
        ) -> c_int {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let block = || unsafe { $clockwait };
            // SAFETY: `s` is the program's own semaphore, and `t` its deadline or null.
            unsafe {
                match deadline::is_clock($clock) && deadline::is_time($t) {
                    true => $by($s, $site, $back, block),
                    false => block(),
                }
            }
        }
    };
}

waits!(
    wait_by,
    (s, clock, t, site, back),
    real::sem_wait(s),
    real::sem_timedwait(s, t),
    real::sem_clockwait(s, clock, t)
);

/// `sem_trywait`.
///
/// # Safety
/// The arguments keep the contract of `sem_trywait`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn trywait(s: Semaphore, site: u64, back: Return) -> c_int {
    // SAFETY: the next `sem_trywait` gets the program's own `s` unchanged, as without us.
    unsafe { metered::try_take(s, site, back, true, || real::sem_trywait(s)) }
}

/// `sem_post`.
///
/// # Safety
/// The arguments keep the contract of `sem_post`.
pub unsafe extern "C-unwind" fn post(s: Semaphore, _site: u64) -> c_int {
    // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
    unsafe { metered::post(s, true, || real::sem_post(s)) }
}

/// With lockdep.
pub mod both {
    use super::*;

    waits!(
        both_wait_by,
        (s, clock, t, site, back),
        semaphore::wait(s, site, back),
        semaphore::timedwait(s, t, site, back),
        semaphore::clockwait(s, clock, t, site, back)
    );

    /// `sem_trywait`.
    ///
    /// # Safety
    /// The arguments keep the contract of `sem_trywait`; the stub passes `site` and `back`.
    pub unsafe extern "C-unwind" fn trywait(s: Semaphore, site: u64, back: Return) -> c_int {
        // SAFETY: the wrapper for lockdep gets the program's call unchanged.
        unsafe {
            let attempt = || lockdep::semaphore::trywait(s, site, back);
            metered::try_take(s, site, back, false, attempt)
        }
    }

    /// `sem_post`.
    ///
    /// # Safety
    /// The arguments keep the contract of `sem_post`.
    pub unsafe extern "C-unwind" fn post(s: Semaphore, site: u64) -> c_int {
        // SAFETY: the wrapper for lockdep gets the program's call unchanged.
        unsafe { metered::post(s, false, || lockdep::semaphore::post(s, site)) }
    }
}
