//! Threads that forbid themselves system calls. In strict mode (SECCOMP_MODE_STRICT) all but four
//! kill the thread, and so does a look at the time-stamp counter: from then on what is recorded of
//! it is what needs neither. A filter may allow ours or not: before it is there, the ledger is
//! mapped ahead.

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::libc::real;
use crate::lockmeter;
use crate::os::{mapping, tls};
use crate::recorder::{slow_cost, state};
use crate::stack::checked_read;

/// The operation of `seccomp` that is `prctl`'s SECCOMP_MODE_STRICT.
const SET_MODE_STRICT: c_long = libc::SECCOMP_SET_MODE_STRICT as c_long;
/// That for a filter.
const SET_MODE_FILTER: c_long = libc::SECCOMP_SET_MODE_FILTER as c_long;

/// The process has got a filter of system calls, which may allow those only that it makes itself.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);

/// A filter may forbid what the program does not do itself.
pub fn is_filtered() -> bool {
    IS_FILTERED.load(Relaxed)
}

/// What the thread is about to forbid itself.
enum Restriction {
    Strict,
    Filter,
    Nothing,
}

impl Restriction {
    /// `prctl(PR_SET_SECCOMP, mode)`.
    fn of_mode(mode: c_ulong) -> Self {
        match mode as u32 {
            libc::SECCOMP_MODE_STRICT => Self::Strict,
            libc::SECCOMP_MODE_FILTER => Self::Filter,
            _ => Self::Nothing,
        }
    }

    /// `call` does it, and answers 0 or more if it is done.
    fn begin(self, call: impl FnOnce() -> c_long) -> c_long {
        match self {
            // Before it is in force, and taken back: a handler may come between.
            Self::Strict if !tls::is_barred() => {
                let metered = lockmeter::leave();
                tls::set_barred(true);
                let answer = call();
                if answer < 0 {
                    tls::set_barred(false);
                    lockmeter::come_back(metered);
                }
                answer
            }
            Self::Strict => call(),
            Self::Filter => {
                checked_read::filtered();
                IS_FILTERED.store(true, Relaxed);
                slow_cost::stop_timing();
                state::with_core(|_| mapping::map_ahead());
                call()
            }
            Self::Nothing => call(),
        }
    }
}

/// Stands in front of the C library's `prctl`: forwards all but PR_SET_SECCOMP.
///
/// # Safety
/// As the function itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl() -> c_int {
    code!(
        restricts_by_option,
        set_seccomp = const libc::PR_SET_SECCOMP,
        restricts = sym prctl_that_restricts,
        next = sym real::slot::prctl,
    )
}

/// `prctl` with PR_SET_SECCOMP.
///
/// # Safety
/// The arguments keep the contract of `prctl`.
unsafe extern "C-unwind" fn prctl_that_restricts(
    option: c_int,
    mode: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    // SAFETY: the program's own arguments go on unchanged; the kernel does not look at those that
    // the call has not.
    let call = || c_long::from(unsafe { real::prctl(option, mode, b, c, d) });
    Restriction::of_mode(mode).begin(call) as c_int
}

/// `syscall` with the number of `prctl` or `seccomp`.
///
/// # Safety
/// The program called `syscall` with the number and arguments of `prctl` or `seccomp`.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall_that_restricts() -> c_long {
    code!(
        restricts_by_number,
        seccomp = const libc::SYS_seccomp,
        set_seccomp = const libc::PR_SET_SECCOMP,
        restrict = sym restrict,
        next = sym real::slot::syscall,
    )
}

/// # Safety
/// The arguments keep the contract of `syscall`.
unsafe extern "C-unwind" fn restrict(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let restriction = match (number, a) {
        (libc::SYS_prctl, _) => Restriction::of_mode(b as c_ulong),
        (_, SET_MODE_STRICT) => Restriction::Strict,
        (_, SET_MODE_FILTER) => Restriction::Filter,
        _ => Restriction::Nothing,
    };
    // SAFETY: the program's own arguments go on unchanged; the kernel does not look at those that
    // the call has not.
    restriction.begin(|| unsafe { real::syscall(number, a, b, c, d, e, f) })
}
