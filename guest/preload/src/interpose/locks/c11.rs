//! <threads.h>: in glibc an `mtx_t` is a `pthread_mutex_t`, a `cnd_t` a `pthread_cond_t` and a
//! `thrd_t` a `pthread_t`, and its functions call those of pthreads, past any wrapper. So ours are
//! our wrappers of those, with C11's results. Where [`start`] finds it otherwise, all is left to
//! the C library.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

use crate::callsite::Return;
use crate::debugobjects::types;
use crate::interpose::engine::Engine;
use crate::interpose::{cond, mutex};
use crate::libc::real::{self, StartC11, thrd};
use crate::lockdep::thread;
use crate::stack::modules;

type Mutex = *mut pthread_mutex_t;
type Cond = *mut pthread_cond_t;

/// The C library's C11 is not as above.
static STRANGE: AtomicBool = AtomicBool::new(false);

/// `mtx_plain`.
const PLAIN: c_int = 0;
/// `mtx_recursive`.
const RECURSIVE: c_int = 1;

/// What a function of pthreads answered, as C11 has it. As glibc translates.
#[inline(always)]
fn translated(error: c_int) -> c_int {
    match error {
        0 => thrd::SUCCESS,
        libc::EBUSY => thrd::BUSY,
        libc::ENOMEM => thrd::NOMEM,
        libc::ETIMEDOUT => thrd::TIMEDOUT,
        _ => thrd::ERROR,
    }
}

/// `name(arguments) = wrapper`: the wrapper with C11's results.
macro_rules! translate {
    ($($name:ident($($arg:ident: $ty:ty),*) = $wrapper:path;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the C11 function of that name.
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
            // SAFETY: C11's objects are those of pthreads here, so the wrapper gets a call that
            // keeps its contract.
            translated(unsafe { $wrapper($($arg),*) })
        }
    )* };
}

/// `mtx_lock`.
///
/// # Safety
/// The arguments keep the contract of `mtx_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn mtx_lock<E: Engine>(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: a C11 mutex is a pthread mutex here, and the program passed its own `m` to be locked.
    translated(unsafe { mutex::lock_slow::<E>(m, site, back) })
}

/// `mtx_trylock`.
///
/// # Safety
/// The arguments keep the contract of `mtx_trylock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn mtx_trylock<E: Engine>(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: a C11 mutex is a pthread mutex here, and the program passed its own `m` to be tried.
    translated(unsafe { mutex::trylock::<E>(m, site, back) })
}

/// `mtx_timedlock`.
///
/// # Safety
/// The arguments keep the contract of `mtx_timedlock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn mtx_timedlock<E: Engine>(
    m: Mutex,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: a C11 mutex is a pthread mutex here; `m` and `t` are the program's own arguments.
    translated(unsafe { mutex::timedlock::<E>(m, t, site, back) })
}

/// lockdep's.
pub mod lockdep {
    use super::*;

    translate! {
        mtx_unlock(m: Mutex, site: u64) = crate::lockdep::mutex::unlock;
        cnd_wait(c: Cond, m: Mutex, site: u64) = cond::wait;
        cnd_timedwait(c: Cond, m: Mutex, t: *const timespec, site: u64) = cond::timedwait;
    }
}

/// lockmeter's.
pub mod lockmeter {
    use super::*;

    translate! {
        mtx_unlock(m: Mutex, site: u64) = crate::lockmeter::mutex::unlock::<false, false>;
        cnd_wait(c: Cond, m: Mutex, site: u64) = crate::lockmeter::cond::wait;
        cnd_timedwait(c: Cond, m: Mutex, t: *const timespec, site: u64) = crate::lockmeter::cond::timedwait;
    }
}

/// Both of them.
pub mod both {
    use super::*;

    translate! {
        mtx_unlock(m: Mutex, site: u64) = crate::interpose::both_engines::mutex_unlock;
        cnd_wait(c: Cond, m: Mutex, site: u64) = crate::interpose::both_engines::cond_wait;
        cnd_timedwait(c: Cond, m: Mutex, t: *const timespec, site: u64) = crate::interpose::both_engines::cond_timedwait;
    }
}

/// # Safety
/// The arguments keep the contract of `mtx_init`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn mtx_init(m: Mutex, kind: c_int, site: u64, back: Return) -> c_int {
    // SAFETY: the next `mtx_init` gets the program's own `m` and `kind` unchanged, as without us.
    let init = || unsafe { real::mtx_init(m, kind) };
    if STRANGE.load(Relaxed) {
        return init();
    }
    // SAFETY: `m` is the memory that the program initialises as a mutex, large enough for one.
    unsafe { mutex::init_by(&types::MTX, m, back.frame(site), init) }
}

/// # Safety
/// The arguments keep the contract of `mtx_destroy`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn mtx_destroy(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: both functions get the program's own mutex, which nobody may use any more. They
    // answer nothing.
    unsafe {
        match STRANGE.load(Relaxed) {
            true => real::mtx_destroy(m),
            false => mutex::destroy(m, site, back),
        }
    }
}

/// # Safety
/// The arguments keep the contract of `cnd_init`.
pub unsafe extern "C-unwind" fn cnd_init(c: Cond, _site: u64) -> c_int {
    // SAFETY: the next `cnd_init` gets the program's own `c` unchanged. Its answer for success is
    // 0, too.
    cond::init_by(&types::CND, c, || unsafe { real::cnd_init(c) })
}

/// # Safety
/// The arguments keep the contract of `cnd_destroy`.
pub unsafe extern "C-unwind" fn cnd_destroy(c: Cond, _site: u64) -> c_int {
    // SAFETY: the next `cnd_destroy` gets the program's own `c` unchanged, as without us.
    cond::destroy_by(c, || unsafe {
        real::cnd_destroy(c);
        0
    })
}

/// # Safety
/// The arguments keep the contract of `thrd_create`.
pub unsafe extern "C-unwind" fn thrd_create(
    t: *mut pthread_t,
    start: StartC11,
    argument: *mut c_void,
    _site: u64,
) -> c_int {
    // SAFETY: the next `thrd_create` gets the program's own arguments unchanged, as without us.
    unsafe {
        match STRANGE.load(Relaxed) {
            true => real::thrd_create(t, start, argument),
            false => thread::create_c11(t, start, argument),
        }
    }
}

/// Looks at the C library. False: C11 is left to it, as that is not as we think. Called at start,
/// before any thread, once modules are known.
pub fn start() -> bool {
    // SAFETY: this is start, before any other thread, and the function works on its own objects.
    let is_known = unsafe { is_pthreads() };
    STRANGE.store(!is_known, Relaxed);
    is_known
}

/// Room for an object, with space beyond it that must stay as it is.
#[derive(PartialEq)]
#[repr(C, align(16))]
struct Room([u8; 128]);

impl Room {
    /// What `init`, which answers 0, leaves there; `None` if it answers otherwise.
    fn after(init: impl FnOnce(*mut c_void) -> c_int) -> Option<Self> {
        let mut room = Self([0xa5; 128]);
        (init((&raw mut room).cast()) == 0).then_some(room)
    }
}

/// C11's objects are those of pthreads, by one and the same library, and answer in the numbers that
/// we know.
///
/// # Safety
/// Called at start, before any other thread, when the functions of both are known.
unsafe fn is_pthreads() -> bool {
    let pthreads = real::slot::pthread_mutex_lock.load(Relaxed);
    let all = [
        &real::slot::mtx_init,
        &real::slot::mtx_lock,
        &real::slot::mtx_unlock,
        &real::slot::cnd_init,
        &real::slot::cnd_wait,
        &real::slot::thrd_create,
    ];
    if !all.iter().all(|slot| modules::are_in_one(slot.load(Relaxed), pthreads)) {
        return false;
    }
    // SAFETY: objects and attributes are local, initialised before use, and `Room` is larger than
    // they are.
    unsafe {
        let mutex = |type_| {
            let mut attr: libc::pthread_mutexattr_t = core::mem::zeroed();
            real::pthread_mutexattr_init((&raw mut attr).cast(), 0, 0);
            real::pthread_mutexattr_settype((&raw mut attr).cast(), type_ as usize, 0);
            let room = Room::after(|at| real::pthread_mutex_init(at.cast(), &raw const attr));
            real::pthread_mutexattr_destroy((&raw mut attr).cast(), 0, 0);
            room
        };
        let mtx = |kind| Room::after(|at| real::mtx_init(at.cast(), kind));
        let mut same = mutex(libc::PTHREAD_MUTEX_NORMAL) == mtx(PLAIN)
            && mutex(libc::PTHREAD_MUTEX_RECURSIVE) == mtx(RECURSIVE);
        let cond = Room::after(|at| real::pthread_cond_init(at.cast(), core::ptr::null()));
        same &= cond == Room::after(|at| real::cnd_init(at.cast()));

        let mut taken = Room([0; 128]);
        let m: Mutex = (&raw mut taken).cast();
        same && real::mtx_init(m, PLAIN) == thrd::SUCCESS
            && real::mtx_lock(m) == thrd::SUCCESS
            && real::mtx_trylock(m) == thrd::BUSY
            && real::mtx_unlock(m) == thrd::SUCCESS
    }
}
