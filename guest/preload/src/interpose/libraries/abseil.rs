//! absl::Mutex and absl::CondVar, of Abseil as a shared library. What waits for a condition of the
//! mutex itself (`Await`, `LockWhen`) is a condition wait.

use core::ffi::c_void;

use lockwright_ledger::rows::mode;

use super::steps::{self, Call};
use crate::callsite::Return;
use crate::lock_id::by_address::flag;

pub type Mutex = *mut c_void;
pub type Cond = *mut c_void;
pub type Condition = *const c_void;
/// An absl::ReleasableMutexLock, which is a pointer to its mutex.
pub type Guard = *mut Mutex;

next_functions! {
    absl_mutex_end(m: Mutex) -> ();
    absl_mutex_part_end(m: Mutex) -> ();
    absl_lock(m: Mutex) -> ();
    absl_unlock(m: Mutex) -> ();
    absl_try_lock(m: Mutex) -> bool;
    absl_reader_lock(m: Mutex) -> ();
    absl_reader_unlock(m: Mutex) -> ();
    absl_reader_try_lock(m: Mutex) -> bool;
    absl_release(guard: Guard) -> ();
    absl_lock_when(m: Mutex, when: Condition) -> ();
    absl_reader_lock_when(m: Mutex, when: Condition) -> ();
    absl_await(m: Mutex, when: Condition) -> ();
    absl_await_with_timeout(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_await_with_deadline(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_lock_when_with_timeout(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_lock_when_with_deadline(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_reader_lock_when_with_timeout(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_reader_lock_when_with_deadline(m: Mutex, when: Condition, time: u64, more: u64) -> bool;
    absl_cond_wait(c: Cond, m: Mutex) -> ();
    absl_cond_wait_with_timeout(c: Cond, m: Mutex, time: u64, more: u64) -> bool;
    absl_cond_wait_with_deadline(c: Cond, m: Mutex, time: u64, more: u64) -> bool;
    absl_cond_signal(c: Cond) -> ();
    absl_cond_signal_all(c: Cond) -> ();
    absl_cond_end(c: Cond) -> ();
    absl_cond_part_end(c: Cond) -> ();
}

/// A reader waits behind a writer that waits.
const READ: u32 = flag::READ | flag::FAIR;

/// What follows in a mangled name on the namespaces of Abseil and of its release, if it is one.
pub fn method_of(name: &[u8]) -> Option<&[u8]> {
    let rest = name.strip_prefix(b"_ZN4absl")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let len =
        rest[..digits].iter().fold(0usize, |len, b| (len * 10 + usize::from(b - b'0')) % 1000);
    let inline = rest.get(digits..digits + len)?;
    let is_release = inline.starts_with(b"debian") || inline.starts_with(b"lts_");
    Some(if is_release { &rest[digits + len..] } else { rest })
}

/// `absl::Mutex::~Mutex`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::~Mutex`; the stub passes `site`.
pub unsafe extern "C-unwind" fn end(m: Mutex, site: u64) {
    steps::destroy(m as u64, site);
    // SAFETY: the next `absl_mutex_end` gets the program's own `m` unchanged, as without us.
    unsafe { next::absl_mutex_end(m) };
}

/// The same of a mutex that is part of another object.
///
/// # Safety
/// As for [`end`].
pub unsafe extern "C-unwind" fn part_end(m: Mutex, site: u64) {
    steps::destroy(m as u64, site);
    // SAFETY: the next `absl_mutex_part_end` gets the program's own `m` unchanged, as without us.
    unsafe { next::absl_mutex_part_end(m) };
}

/// `absl::Mutex::Lock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::Lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: 0, site, back };
    // SAFETY: the program passed `m` to `Mutex::Lock`, which asks of it what `TryLock` asks.
    steps::take(call, || unsafe { next::absl_try_lock(m) }, || unsafe { next::absl_lock(m) });
}

/// `absl::Mutex::Unlock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::Unlock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, site: u64) {
    steps::release(m as u64, site);
    // SAFETY: the next `absl_unlock` gets the program's own `m` unchanged, as without us.
    unsafe { next::absl_unlock(m) };
}

/// `absl::Mutex::TryLock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::TryLock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn try_lock(m: Mutex, site: u64, back: Return) -> bool {
    // SAFETY: the next `absl_try_lock` gets the program's own `m` unchanged, as without us.
    let had = unsafe { next::absl_try_lock(m) };
    steps::tried(Call { lock: m as u64, flags: 0, site, back }, had);
    had
}

/// `absl::Mutex::ReaderLock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::ReaderLock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn reader_lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: READ, site, back };
    // SAFETY: the program passed `m` to `Mutex::ReaderLock`, which asks of it what `ReaderTryLock`
    // asks.
    let attempt = || unsafe { next::absl_reader_try_lock(m) };
    // SAFETY: `absl_reader_lock` gets the program's own `m` unchanged: its contract is the
    // program's to keep.
    steps::take(call, attempt, || unsafe { next::absl_reader_lock(m) });
}

/// `absl::Mutex::ReaderUnlock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::ReaderUnlock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn reader_unlock(m: Mutex, site: u64) {
    steps::release(m as u64, site);
    // SAFETY: the next `absl_reader_unlock` gets the program's own `m` unchanged, as without us.
    unsafe { next::absl_reader_unlock(m) };
}

/// `absl::Mutex::ReaderTryLock`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::ReaderTryLock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn reader_try_lock(m: Mutex, site: u64, back: Return) -> bool {
    // SAFETY: the next `absl_reader_try_lock` gets the program's own `m` unchanged, as without us.
    let had = unsafe { next::absl_reader_try_lock(m) };
    steps::tried(Call { lock: m as u64, flags: READ, site, back }, had);
    had
}

/// `absl::ReleasableMutexLock::Release`, which unlocks within the library.
///
/// # Safety
/// The arguments keep the contract of `absl::ReleasableMutexLock::Release`; the stub passes `site`.
pub unsafe extern "C-unwind" fn release(guard: Guard, site: u64) {
    // SAFETY: the program passed its live guard, whose first word is the mutex that it holds.
    unsafe {
        steps::release(*guard as u64, site);
        next::absl_release(guard);
    }
}

/// `absl::Mutex::LockWhen`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::LockWhen`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn lock_when(m: Mutex, when: Condition, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: 0, site, back };
    // SAFETY: the next `absl_lock_when` gets the program's own `m` and `when` unchanged, as without
    // us.
    steps::take_some_time(call, || unsafe { next::absl_lock_when(m, when) });
}

/// `absl::Mutex::ReaderLockWhen`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::ReaderLockWhen`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn reader_lock_when(
    m: Mutex,
    when: Condition,
    site: u64,
    back: Return,
) {
    let call = Call { lock: m as u64, flags: READ, site, back };
    // SAFETY: the next `absl_reader_lock_when` gets the program's own `m` and `when` unchanged, as
    // without us.
    steps::take_some_time(call, || unsafe { next::absl_reader_lock_when(m, when) });
}

/// `absl::Mutex::Await`.
///
/// # Safety
/// The arguments keep the contract of `absl::Mutex::Await`; the stub passes `site`.
pub unsafe extern "C-unwind" fn wait_until(m: Mutex, when: Condition, site: u64) {
    // SAFETY: the next `absl_await` gets the program's own `m` and `when` unchanged, as without us.
    steps::wait(m as u64, m as u64, site, 0, || unsafe { next::absl_await(m, when) });
}

/// `name = function`: waits for a condition of the mutex until a time, or for a time, which is in
/// two registers. Answers whether it holds.
macro_rules! wait_for_condition {
    ($($name:ident = $next:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(
            m: Mutex,
            when: Condition,
            time: u64,
            more: u64,
            site: u64,
        ) -> bool {
            let mut holds = false;
            steps::wait(m as u64, m as u64, site, mode::TIMED, || {
                // SAFETY: the next function gets the program's own arguments unchanged, as without
                // us.
                holds = unsafe { next::$next(m, when, time, more) };
            });
            holds
        }
    )* };
}

wait_for_condition! {
    await_with_timeout = absl_await_with_timeout;
    await_with_deadline = absl_await_with_deadline;
}

/// `name flags = function`: as `wait_for_condition`, and takes the mutex in any case.
macro_rules! lock_for_condition {
    ($($name:ident $flags:ident = $next:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(
            m: Mutex,
            when: Condition,
            time: u64,
            more: u64,
            site: u64,
        ) -> bool {
            let mut holds = false;
            let call = Call { lock: m as u64, flags: $flags, site, back: Return::UNKNOWN };
            steps::take_some_time(call, || {
                // SAFETY: the next function gets the program's own arguments unchanged, as without
                // us.
                holds = unsafe { next::$next(m, when, time, more) };
            });
            holds
        }
    )* };
}

/// A writer's.
const WRITE: u32 = 0;

lock_for_condition! {
    lock_when_with_timeout WRITE = absl_lock_when_with_timeout;
    lock_when_with_deadline WRITE = absl_lock_when_with_deadline;
    reader_lock_when_with_timeout READ = absl_reader_lock_when_with_timeout;
    reader_lock_when_with_deadline READ = absl_reader_lock_when_with_deadline;
}

/// `absl::CondVar::Wait`.
///
/// # Safety
/// The arguments keep the contract of `absl::CondVar::Wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_wait(c: Cond, m: Mutex, site: u64) {
    // SAFETY: the next `absl_cond_wait` gets the program's own `c` and `m` unchanged, as without
    // us.
    steps::wait(c as u64, m as u64, site, 0, || unsafe { next::absl_cond_wait(c, m) });
}

/// `name = function`: a wait until a time, or for a time, which is in two registers. Answers
/// whether it was over.
macro_rules! wait_for_signal {
    ($($name:ident = $next:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(
            c: Cond,
            m: Mutex,
            time: u64,
            more: u64,
            site: u64,
        ) -> bool {
            let mut is_over = false;
            steps::wait(c as u64, m as u64, site, mode::TIMED, || {
                // SAFETY: the next function gets the program's own arguments unchanged, as without
                // us.
                is_over = unsafe { next::$next(c, m, time, more) };
            });
            is_over
        }
    )* };
}

wait_for_signal! {
    cond_wait_with_timeout = absl_cond_wait_with_timeout;
    cond_wait_with_deadline = absl_cond_wait_with_deadline;
}

/// `absl::CondVar::Signal`.
///
/// # Safety
/// The arguments keep the contract of `absl::CondVar::Signal`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_signal(c: Cond, site: u64) {
    steps::signal(c as u64, site, false);
    // SAFETY: the next `absl_cond_signal` gets the program's own `c` unchanged, as without us.
    unsafe { next::absl_cond_signal(c) };
}

/// `absl::CondVar::SignalAll`.
///
/// # Safety
/// The arguments keep the contract of `absl::CondVar::SignalAll`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_signal_all(c: Cond, site: u64) {
    steps::signal(c as u64, site, true);
    // SAFETY: the next `absl_cond_signal_all` gets the program's own `c` unchanged, as without us.
    unsafe { next::absl_cond_signal_all(c) };
}

/// `absl::CondVar::~CondVar`.
///
/// # Safety
/// The arguments keep the contract of `absl::CondVar::~CondVar`.
pub unsafe extern "C-unwind" fn cond_end(c: Cond, _site: u64) {
    steps::forget(c as u64);
    // SAFETY: the next `absl_cond_end` gets the program's own `c` unchanged, as without us.
    unsafe { next::absl_cond_end(c) };
}

/// The same of one that is part of another object.
///
/// # Safety
/// As for [`cond_end`].
pub unsafe extern "C-unwind" fn cond_part_end(c: Cond, _site: u64) {
    steps::forget(c as u64);
    // SAFETY: the next `absl_cond_part_end` gets the program's own `c` unchanged, as without us.
    unsafe { next::absl_cond_part_end(c) };
}
