//! Annotations: what a program declares about its own locks. They interpose nothing; the program
//! calls them if they are there.

pub mod context;
pub mod user_locks;

use core::ffi::{c_char, c_int};

use libc::{pthread_mutex_t, pthread_rwlock_t};
use lockwright_engines::lockdep::{Core, Ident, MAX_NAME, Misuse};
use lockwright_ledger::rows::{finding_kind, wait_type};

use super::{misuse, watch};
use crate::lock_id::by_address::{SpinLock, UserLock};
use crate::lock_id::identity::{self, Birth};
use crate::lock_id::spinning;
use crate::lock_id::unstamped;
use crate::os::tls;
use crate::os::upcall::Upcall;
use crate::recorder::state;
use crate::stack::{modules, python};

/// What sort of object an annotation is about, as the caller's types have it: the values of
/// `LW_ANY` and its siblings in lockwright.h.
mod sort {
    /// A user-defined lock, or whatever is known at that address.
    pub const ANY: c_uint = 0;
    pub const MUTEX: c_uint = 1;
    pub const RWLOCK: c_uint = 2;
    pub const SPIN: c_uint = 3;
    use core::ffi::c_uint;
}

/// Runs `$body` with `$this` as a pointer to the lock, of its own type.
macro_rules! typed {
    ($lock:expr, $sort:expr, $this:ident => $body:expr) => {
        match sort_of($lock, $sort) {
            sort::MUTEX => {
                let $this = $lock as *const pthread_mutex_t;
                $body
            }
            sort::RWLOCK => {
                let $this = $lock as *const pthread_rwlock_t;
                $body
            }
            sort::SPIN => {
                let $this = $lock as *const SpinLock;
                $body
            }
            _ => {
                let $this = $lock as *const UserLock;
                $body
            }
        }
    };
}

/// The sort of a lock whose type the caller did not know: a stamp tells.
fn sort_of(lock: u64, sort: u32) -> u32 {
    if sort != sort::ANY || unstamped::find(lock).is_some() || !lock.is_multiple_of(8) {
        return sort;
    }
    // A smaller object may end with its page, and the next may not be there.
    let fits = |bytes: usize| lock % 4096 + bytes as u64 <= 4096;
    if fits(size_of::<pthread_mutex_t>()) {
        // SAFETY: readable as far as the page goes; a stamp is only believed if it names its
        // address.
        if unsafe { identity::stamped(lock as *const pthread_mutex_t) }.is_some() {
            return sort::MUTEX;
        }
    }
    if fits(size_of::<pthread_rwlock_t>()) {
        // SAFETY: the lock's page is readable, and it reaches far enough; a stamp is believed if it
        // names its address.
        if unsafe { identity::stamped(lock as *const pthread_rwlock_t) }.is_some() {
            return sort::RWLOCK;
        }
    }
    sort
}

/// Which lock it is, if it was met before.
///
/// # Safety
/// `lock` is the address of a lock of that sort.
unsafe fn known(lock: u64, sort: u32) -> Option<Ident> {
    // SAFETY: the caller promises a lock of this sort at the address, as `identity::known` asks.
    typed!(lock, sort, this => unsafe { identity::known(this) })
}

/// Which lock it is; one that was not met before begins its life.
///
/// # Safety
/// `lock` is the address of a lock of that sort.
unsafe fn identified(lock: u64, sort: u32) -> Option<Ident> {
    // SAFETY: the caller promises a lock of this sort at the address, as `identify` asks.
    typed!(lock, sort, this => unsafe {
        identity::known(this).or_else(|| identity::identify(this, Birth::FirstAcquire))
    })
}

/// # Safety
/// `lock` is the address of a lock of that sort.
unsafe fn rename(
    lock: u64,
    sort: u32,
    make: impl FnOnce(&mut Core, u8, Option<Ident>) -> Option<Ident>,
) -> Option<Ident> {
    // SAFETY: the caller promises a lock of this sort at the address, as `identity::rename` asks.
    typed!(lock, sort, this => unsafe { identity::rename(this, make) })
}

/// The caller's bytes, not more of them than a name has.
///
/// # Safety
/// `name` is null or points to `len` bytes, which stay for as long as the result is used.
unsafe fn text<'a>(name: *const c_char, len: usize) -> &'a [u8] {
    if name.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller's text of `len` bytes.
    unsafe { core::slice::from_raw_parts(name.cast(), len.min(MAX_NAME)) }
}

/// Frames of an annotation that are kept.
const FRAMES: usize = 12;

/// Runs `f` with the call stack.
fn with_stack<R>(core: &mut Core, f: impl FnOnce(&mut Core, &[u64]) -> R) -> R {
    let mut frames = [0; FRAMES];
    let n = python::capture(&mut frames);
    modules::cover(core, &frames[..n]);
    let n = core.with_interpreted(&mut frames, n);
    f(core, &frames[..n])
}

/// Says whether lockmeter watches the calling thread, if that was asked for.
pub static IS_METERED: Upcall<fn() -> bool> = Upcall::none();

/// Nobody watches the calling thread.
fn is_off() -> bool {
    tls::get().is_null()
        && watch::thread().is_none()
        && !IS_METERED.get().is_some_and(|is_metered| is_metered())
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort; `name` is null or points to `len` bytes.
pub unsafe extern "C-unwind" fn set_name(
    lock: u64,
    sort: u32,
    name: *const c_char,
    len: usize,
    _site: u64,
) -> c_int {
    if lock == 0 || is_off() {
        return 0;
    }
    // SAFETY: the program's call names its own lock, and a text of `len` bytes or null.
    unsafe {
        let name = text(name, len);
        if !name.is_empty() {
            rename(lock, sort, |core, kind, ident| {
                with_stack(core, |core, frames| core.name_lock(ident, kind, name, frames))
            });
        }
    }
    0
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort.
pub unsafe extern "C-unwind" fn set_subclass(
    lock: u64,
    sort: u32,
    subclass: u32,
    _site: u64,
) -> c_int {
    // SAFETY: the program annotates its own lock, whose sort it names.
    if lock == 0 || is_off() || unsafe { identified(lock, sort) }.is_none() {
        return 0;
    }
    let subclass = subclass.min(u16::MAX.into()) as u16;
    // SAFETY: the program annotates its own lock, whose sort it names.
    unsafe {
        rename(lock, sort, |core, _, ident| {
            with_stack(core, |core, frames| core.subclass_lock(ident?, subclass, frames))
        })
    };
    0
}

/// # Safety
/// `lock` and `nest` are 0 or the caller's locks of those sorts.
pub unsafe extern "C-unwind" fn set_nest_lock(
    lock: u64,
    lock_sort: u32,
    nest: u64,
    nest_sort: u32,
    _site: u64,
) -> c_int {
    if lock == 0 || nest == 0 || is_off() {
        return 0;
    }
    // SAFETY: the program annotates its own two locks, whose sorts it names.
    let idents = unsafe { (identified(lock, lock_sort), identified(nest, nest_sort)) };
    if let (Some(lock), Some(nest)) = idents {
        state::with_core(|core| core.nest_lock(lock, nest));
    }
    0
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort.
pub unsafe extern "C-unwind" fn set_wait_type(lock: u64, sort: u32, how: u32, _site: u64) -> c_int {
    if lock == 0 || how > wait_type::SLEEP || is_off() {
        return 0;
    }
    // SAFETY: the program annotates its own lock, whose sort it names.
    if let Some(ident) = unsafe { identified(lock, sort) } {
        state::with_core(|core| {
            core.set_wait_type(ident, how);
            spinning::note(core, ident);
        });
    }
    0
}

/// Text as Rust and C++ have it.
#[repr(C)]
pub struct Name {
    text: *const c_char,
    len: usize,
}

/// # Safety
/// `names` is null or points to `n` names, of which each is null or a text of its length.
pub unsafe extern "C-unwind" fn lock_order(names: *const Name, n: usize, _site: u64) -> c_int {
    if names.is_null() || is_off() {
        return 0;
    }
    // SAFETY: `names` is not null, so it is the program's array of `n` names.
    let names = unsafe { core::slice::from_raw_parts(names, n) };
    state::with_core(|core| {
        with_stack(core, |core, frames| {
            for pair in names.windows(2) {
                // SAFETY: each name is null or the program's text of `len` bytes.
                let (before, after) =
                    unsafe { (text(pair[0].text, pair[0].len), text(pair[1].text, pair[1].len)) };
                if !before.is_empty() && !after.is_empty() && before != after {
                    core.declare_order(before, after, frames);
                }
            }
        });
    });
    0
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort.
pub unsafe extern "C-unwind" fn assert_held(lock: u64, sort: u32, held: u32, _site: u64) -> c_int {
    let Some(thread) = watch::thread() else { return 0 };
    if lock == 0 || thread.find(lock).is_some() == (held != 0) {
        return 0;
    }
    // A lock that was never seen and whose type is unknown is not judged: it may be one without
    // annotations.
    // SAFETY: the program names its own lock, of that sort.
    let ident = unsafe {
        match sort {
            sort::ANY => known(lock, sort),
            _ => identified(lock, sort),
        }
    };
    if let Some(ident) = ident {
        let detail = u64::from(held == 0);
        let what = Misuse { detail, ..Misuse::new(finding_kind::NOT_HELD, lock, ident) };
        misuse::tell(thread, &what);
    }
    0
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort; `site` is the call's return address.
pub unsafe extern "C-unwind" fn pin(lock: u64, sort: u32, site: u64) -> c_int {
    let Some(thread) = watch::thread() else { return 0 };
    if thread.find(lock).is_none() {
        // SAFETY: `lock` and `sort` are those of this call, as `assert_held` asks.
        unsafe { assert_held(lock, sort, 1, site) };
        return 0;
    }
    let stack = state::with_core(|core| core.pin_stack(&mut python::capture));
    stack.and_then(|stack| thread.pin(lock, stack)).unwrap_or(0) as c_int
}

/// # Safety
/// `lock` is 0 or the caller's lock of that sort; `site` is the call's return address.
pub unsafe extern "C-unwind" fn unpin(lock: u64, sort: u32, cookie: u32, site: u64) -> c_int {
    let Some(thread) = watch::thread() else { return 0 };
    if !thread.unpin(lock, cookie) {
        // SAFETY: `lock` and `sort` are those of this call, as `assert_held` asks.
        unsafe { assert_held(lock, sort, 1, site) };
    }
    0
}
