//! The functions that we interpose, in one table. Each pointer begins as a resolver that looks
//! the next definition up and calls it, so that a call before our constructor needs no check.
//!
//! `dlsym` itself is not interposed, and not called: a function is looked up by
//! [`crate::os::loader`], at most once: from our constructor.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::arch::symbol_version;
use crate::os::loader;

pub use libc::{
    clockid_t, itimerspec, pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t,
    pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t,
    pthread_rwlockattr_t, pthread_spinlock_t, pthread_t, sem_t, timer_t, timespec,
};

/// A thread's start routine.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A start routine as C11 has it.
pub type StartC11 = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// What a child that is cloned begins with.
pub type Begin = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// Arguments or an environment: null ends it.
pub type Strings = *const *const c_char;

/// What is called around a fork, if anything.
pub type Handler = Option<unsafe extern "C" fn()>;

/// What is called with a thread's value of a key, if anything.
pub type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// What the functions of C11 answer; glibc's numbers.
pub mod thrd {
    use super::c_int;

    pub const SUCCESS: c_int = 0;
    pub const BUSY: c_int = 1;
    pub const ERROR: c_int = 2;
    pub const NOMEM: c_int = 3;
    pub const TIMEDOUT: c_int = 4;
}

/// A literal that ends with its only NUL.
pub const fn literal(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// `name(arg: type, ...) -> result, "VERSION" or none, value if it is not there`
macro_rules! real {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty, $version:expr, $missing:expr;)*) => {
        $(
            #[doc = concat!("The next `", stringify!($name), "`.")]
            /// # Safety
            /// As the function itself.
            #[inline(always)]
            #[allow(dead_code, reason = "of some only the slot is used, for stubs that forward")]
            #[allow(non_snake_case, reason = "named as the function is")]
            pub unsafe fn $name($($arg: $ty),*) -> $ret {
                type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                // SAFETY: the slot holds the resolver below or the function, both of this type.
                unsafe {
                    let at: Function = core::mem::transmute(slot::$name.load(Relaxed));
                    at($($arg),*)
                }
            }
        )*

        pub mod slot {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<c_void> = AtomicPtr::new(resolver::$name as *mut c_void);
            )*
        }

        mod resolver {
            use super::*;
            $(
                /// # Safety
                /// As for the function of that name.
                #[allow(non_snake_case, reason = "named as the function is")]
                pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
                    type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                    let version: Option<&CStr> = symbol_version($version);
                    let found = loader::address(literal(concat!(stringify!($name), "\0")), version);
                    if found.is_null() {
                        return $missing;
                    }
                    slot::$name.store(found, Relaxed);
                    // SAFETY: the symbol of that name has this type.
                    unsafe {
                        let at: Function = core::mem::transmute(found);
                        at($($arg),*)
                    }
                }
            )*
        }

        /// Looks all of them up, so that no call has to later.
        pub fn resolve_all() {
            $({
                let version: Option<&CStr> = symbol_version($version);
                let found = loader::address(literal(concat!(stringify!($name), "\0")), version);
                if !found.is_null() {
                    slot::$name.store(found, Relaxed);
                }
            })*
        }
    };
}

real! {
    pthread_mutex_init(m: *mut pthread_mutex_t, a: *const pthread_mutexattr_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_destroy(m: *mut pthread_mutex_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_lock(m: *mut pthread_mutex_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_trylock(m: *mut pthread_mutex_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_timedlock(m: *mut pthread_mutex_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_mutex_clocklock(m: *mut pthread_mutex_t, c: clockid_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_mutex_unlock(m: *mut pthread_mutex_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_consistent(m: *mut pthread_mutex_t) -> c_int, None, libc::ENOSYS;
    pthread_mutex_setprioceiling(m: *mut pthread_mutex_t, c: c_int, o: *mut c_int) -> c_int, None, libc::ENOSYS;

    pthread_rwlock_init(l: *mut pthread_rwlock_t, a: *const pthread_rwlockattr_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_destroy(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_rdlock(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_wrlock(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_tryrdlock(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_trywrlock(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_timedrdlock(l: *mut pthread_rwlock_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_timedwrlock(l: *mut pthread_rwlock_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_clockrdlock(l: *mut pthread_rwlock_t, c: clockid_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_clockwrlock(l: *mut pthread_rwlock_t, c: clockid_t, t: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_rwlock_unlock(l: *mut pthread_rwlock_t) -> c_int, None, libc::ENOSYS;

    pthread_cond_init(c: *mut pthread_cond_t, a: *const pthread_condattr_t) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;
    pthread_cond_destroy(c: *mut pthread_cond_t) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;
    pthread_cond_wait(c: *mut pthread_cond_t, m: *mut pthread_mutex_t) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;
    pthread_cond_timedwait(c: *mut pthread_cond_t, m: *mut pthread_mutex_t, t: *const timespec) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;
    pthread_cond_clockwait(c: *mut pthread_cond_t, m: *mut pthread_mutex_t, k: clockid_t, t: *const timespec) -> c_int, None, libc::ENOSYS;

    pthread_cond_signal(c: *mut pthread_cond_t) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;
    pthread_cond_broadcast(c: *mut pthread_cond_t) -> c_int, Some(c"GLIBC_2.3.2"), libc::ENOSYS;

    cnd_signal(c: *mut pthread_cond_t) -> c_int, None, thrd::ERROR;
    cnd_broadcast(c: *mut pthread_cond_t) -> c_int, None, thrd::ERROR;

    pthread_once(c: *mut libc::pthread_once_t, r: unsafe extern "C-unwind" fn()) -> c_int, None, libc::ENOSYS;
    call_once(c: *mut libc::pthread_once_t, r: unsafe extern "C-unwind" fn()) -> c_int, None, libc::ENOSYS;

    pthread_create(t: *mut pthread_t, a: *const pthread_attr_t, s: Start, x: *mut c_void) -> c_int, None, libc::ENOSYS;
    pthread_join(t: pthread_t, r: *mut *mut c_void) -> c_int, None, libc::ENOSYS;
    pthread_timedjoin_np(t: pthread_t, r: *mut *mut c_void, a: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_tryjoin_np(t: pthread_t, r: *mut *mut c_void) -> c_int, None, libc::ENOSYS;
    pthread_clockjoin_np(t: pthread_t, r: *mut *mut c_void, c: clockid_t, a: *const timespec) -> c_int, None, libc::ENOSYS;
    pthread_setname_np(t: pthread_t, name: *const c_char) -> c_int, None, libc::ENOSYS;
    pthread_cancel(t: pthread_t) -> c_int, None, libc::ENOSYS;

    pthread_key_create(k: *mut libc::pthread_key_t, d: Destructor) -> c_int, None, libc::ENOSYS;
    tss_create(k: *mut libc::pthread_key_t, d: Destructor) -> c_int, None, thrd::ERROR;
    // Not interposed: ours to call, and in another library before glibc 2.34.
    pthread_key_delete(k: libc::pthread_key_t) -> c_int, None, libc::ENOSYS;
    pthread_setspecific(k: libc::pthread_key_t, v: *const c_void) -> c_int, None, libc::ENOSYS;

    mtx_init(m: *mut pthread_mutex_t, k: c_int) -> c_int, None, thrd::ERROR;
    mtx_lock(m: *mut pthread_mutex_t) -> c_int, None, thrd::ERROR;
    mtx_trylock(m: *mut pthread_mutex_t) -> c_int, None, thrd::ERROR;
    mtx_timedlock(m: *mut pthread_mutex_t, t: *const timespec) -> c_int, None, thrd::ERROR;
    mtx_unlock(m: *mut pthread_mutex_t) -> c_int, None, thrd::ERROR;
    mtx_destroy(m: *mut pthread_mutex_t) -> c_int, None, 0;
    cnd_init(c: *mut pthread_cond_t) -> c_int, None, thrd::ERROR;
    cnd_wait(c: *mut pthread_cond_t, m: *mut pthread_mutex_t) -> c_int, None, thrd::ERROR;
    cnd_timedwait(c: *mut pthread_cond_t, m: *mut pthread_mutex_t, t: *const timespec) -> c_int, None, thrd::ERROR;
    cnd_destroy(c: *mut pthread_cond_t) -> c_int, None, 0;
    thrd_create(t: *mut pthread_t, s: StartC11, x: *mut c_void) -> c_int, None, thrd::ERROR;
    thrd_join(t: pthread_t, r: *mut c_int) -> c_int, None, thrd::ERROR;

    pthread_spin_init(l: *mut pthread_spinlock_t, p: c_int) -> c_int, None, libc::ENOSYS;
    pthread_spin_destroy(l: *mut pthread_spinlock_t) -> c_int, None, libc::ENOSYS;
    pthread_spin_lock(l: *mut pthread_spinlock_t) -> c_int, None, libc::ENOSYS;
    pthread_spin_trylock(l: *mut pthread_spinlock_t) -> c_int, None, libc::ENOSYS;
    pthread_spin_unlock(l: *mut pthread_spinlock_t) -> c_int, None, libc::ENOSYS;

    pthread_barrier_init(b: *mut pthread_barrier_t, a: *const pthread_barrierattr_t, n: c_uint) -> c_int, None, libc::ENOSYS;
    pthread_barrier_destroy(b: *mut pthread_barrier_t) -> c_int, None, libc::ENOSYS;
    pthread_barrier_wait(b: *mut pthread_barrier_t) -> c_int, None, libc::ENOSYS;
    sem_init(s: *mut sem_t, p: c_int, n: c_uint) -> c_int, None, -1;
    sem_destroy(s: *mut sem_t) -> c_int, None, -1;
    sem_post(s: *mut sem_t) -> c_int, None, -1;
    sem_wait(s: *mut sem_t) -> c_int, None, -1;
    sem_trywait(s: *mut sem_t) -> c_int, None, -1;
    sem_timedwait(s: *mut sem_t, t: *const timespec) -> c_int, None, -1;
    pthread_testcancel() -> (), None, Default::default();
    sem_clockwait(s: *mut sem_t, c: clockid_t, t: *const timespec) -> c_int, None, -1;

    sigaction(s: c_int, n: *const libc::sigaction, o: *mut libc::sigaction) -> c_int, None, -1;
    signal(s: c_int, h: usize) -> usize, None, libc::SIG_ERR;
    sysv_signal(s: c_int, h: usize) -> usize, None, libc::SIG_ERR;
    pthread_sigmask(h: c_int, n: *const libc::sigset_t, o: *mut libc::sigset_t) -> c_int, None, libc::ENOSYS;
    sigprocmask(h: c_int, n: *const libc::sigset_t, o: *mut libc::sigset_t) -> c_int, None, -1;
    munmap(a: *mut c_void, n: usize) -> c_int, None, -1;
    mremap(a: *mut c_void, n: usize, m: usize, f: c_int, t: *mut c_void) -> *mut c_void, None, libc::MAP_FAILED;
    sigsuspend(m: *const libc::sigset_t) -> c_int, None, -1;
    ppoll(f: *mut libc::pollfd, n: libc::nfds_t, t: *const timespec, m: *const libc::sigset_t) -> c_int, None, -1;
    sigset(s: c_int, h: usize) -> usize, None, libc::SIG_ERR;
    sighold(s: c_int) -> c_int, None, -1;
    sigrelse(s: c_int) -> c_int, None, -1;
    sigblock(m: c_int) -> c_int, None, 0;
    sigsetmask(m: c_int) -> c_int, None, 0;
    sigpause(m: c_int) -> c_int, None, -1;
    __xpg_sigpause(s: c_int) -> c_int, None, -1;
    pselect(n: c_int, r: *mut libc::fd_set, w: *mut libc::fd_set, x: *mut libc::fd_set, t: *const timespec, m: *const libc::sigset_t) -> c_int, None, -1;
    __ppoll_chk(f: *mut libc::pollfd, n: libc::nfds_t, t: *const timespec, m: *const libc::sigset_t, l: usize) -> c_int, None, -1;
    epoll_pwait2(e: c_int, v: *mut libc::epoll_event, n: c_int, t: *const timespec, m: *const libc::sigset_t) -> c_int, None, -1;
    siglongjmp(e: *mut c_void, v: c_int) -> c_int, None, -1;
    _exit(c: c_int) -> c_int, None, -1;
    quick_exit(c: c_int) -> c_int, None, -1;
    __longjmp_chk(e: *mut c_void, v: c_int) -> c_int, None, -1;
    epoll_pwait(e: c_int, v: *mut libc::epoll_event, n: c_int, t: c_int, m: *const libc::sigset_t) -> c_int, None, -1;

    read(f: c_int, b: *mut c_void, n: usize) -> isize, None, -1;
    write(f: c_int, b: *const c_void, n: usize) -> isize, None, -1;
    pread(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize, None, -1;
    pread64(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize, None, -1;
    pwrite(f: c_int, b: *const c_void, n: usize, o: i64) -> isize, None, -1;
    pwrite64(f: c_int, b: *const c_void, n: usize, o: i64) -> isize, None, -1;
    readv(f: c_int, v: *const c_void, n: c_int) -> isize, None, -1;
    writev(f: c_int, v: *const c_void, n: c_int) -> isize, None, -1;
    preadv(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize, None, -1;
    preadv64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize, None, -1;
    pwritev(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize, None, -1;
    pwritev64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize, None, -1;
    fsync(f: c_int) -> c_int, None, -1;
    fdatasync(f: c_int) -> c_int, None, -1;
    msync(a: *mut c_void, n: usize, f: c_int) -> c_int, None, -1;
    flock(f: c_int, o: c_int) -> c_int, None, -1;
    poll(f: *mut c_void, n: u64, t: c_int) -> c_int, None, -1;
    select(n: c_int, r: *mut c_void, w: *mut c_void, e: *mut c_void, t: *mut c_void) -> c_int, None, -1;
    epoll_wait(e: c_int, v: *mut c_void, n: c_int, t: c_int) -> c_int, None, -1;
    nanosleep(t: *const timespec, r: *mut timespec) -> c_int, None, -1;
    clock_nanosleep(c: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int, None, libc::ENOSYS;
    usleep(n: c_uint) -> c_int, None, -1;
    sleep(n: c_uint) -> c_uint, None, 0;
    recv(f: c_int, b: *mut c_void, n: usize, o: c_int) -> isize, None, -1;
    recvmsg(f: c_int, m: *mut c_void, o: c_int) -> isize, None, -1;
    send(f: c_int, b: *const c_void, n: usize, o: c_int) -> isize, None, -1;
    sendmsg(f: c_int, m: *const c_void, o: c_int) -> isize, None, -1;
    accept(f: c_int, a: *mut c_void, n: *mut c_void) -> c_int, None, -1;
    accept4(f: c_int, a: *mut c_void, n: *mut c_void, o: c_int) -> c_int, None, -1;
    connect(f: c_int, a: *const c_void, n: c_uint) -> c_int, None, -1;
    waitpid(p: c_int, s: *mut c_int, o: c_int) -> c_int, None, -1;
    wait(s: *mut c_int) -> c_int, None, -1;
    wait3(s: *mut c_int, o: c_int, r: *mut c_void) -> c_int, None, -1;
    wait4(p: c_int, s: *mut c_int, o: c_int, r: *mut c_void) -> c_int, None, -1;
    waitid(t: c_int, p: u32, i: *mut c_void, o: c_int) -> c_int, None, -1;

    // Functions of attributes: what they have for arguments, and up to two that they have not.
    pthread_attr_init(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setdetachstate(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setguardsize(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setinheritsched(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setschedparam(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setschedpolicy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setscope(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setsigmask_np(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setstack(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setstackaddr(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_attr_setstacksize(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_getattr_default_np(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_mutexattr_init(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    __pthread_mutexattr_init(a: *mut c_void, x: usize, y: usize) -> c_int, Some(c"GLIBC_2.2.5"), libc::ENOSYS;
    pthread_mutexattr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    __pthread_mutexattr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, Some(c"GLIBC_2.2.5"), libc::ENOSYS;
    pthread_mutexattr_setkind_np(a: *mut c_void, x: usize, y: usize) -> c_int, Some(c"GLIBC_2.2.5"), libc::ENOSYS;
    pthread_mutexattr_setrobust_np(a: *mut c_void, x: usize, y: usize) -> c_int, Some(c"GLIBC_2.4"), libc::ENOSYS;
    pthread_mutexattr_setprioceiling(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_mutexattr_setprotocol(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_mutexattr_setpshared(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_mutexattr_setrobust(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_mutexattr_settype(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    __pthread_mutexattr_settype(a: *mut c_void, x: usize, y: usize) -> c_int, Some(c"GLIBC_2.2.5"), libc::ENOSYS;
    pthread_rwlockattr_init(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_rwlockattr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_rwlockattr_setkind_np(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_rwlockattr_setpshared(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_condattr_init(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_condattr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_condattr_setclock(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_condattr_setpshared(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_barrierattr_init(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_barrierattr_destroy(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_barrierattr_setpshared(a: *mut c_void, x: usize, y: usize) -> c_int, None, libc::ENOSYS;
    pthread_getattr_np(t: pthread_t, a: *mut c_void) -> c_int, None, libc::ENOSYS;

    timer_create(c: clockid_t, e: *mut c_void, t: *mut timer_t) -> c_int, Some(c"GLIBC_2.3.3"), -1;
    timer_delete(t: timer_t) -> c_int, Some(c"GLIBC_2.3.3"), -1;
    timer_settime(t: timer_t, f: c_int, v: *const itimerspec, o: *mut itimerspec) -> c_int, Some(c"GLIBC_2.3.3"), -1;
    timer_gettime(t: timer_t, v: *mut itimerspec) -> c_int, Some(c"GLIBC_2.3.3"), -1;
    timer_getoverrun(t: timer_t) -> c_int, Some(c"GLIBC_2.3.3"), -1;

    __register_atfork(p: Handler, a: Handler, c: Handler, d: *const c_void) -> c_int, None, libc::ENOMEM;
    prctl(o: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int, None, -1;
    _Fork() -> c_int, None, crate::os::sys::fork();
    syscall(n: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long, None, -1;

    dlopen(f: *const c_char, m: c_int) -> *mut c_void, None, core::ptr::null_mut();
    dlclose(handle: *mut c_void) -> c_int, None, -1;
    dl_iterate_phdr(callback: *mut c_void, data: *mut c_void) -> c_int, None, 0;

    clone(b: Option<Begin>, s: *mut c_void, f: c_int, a: *mut c_void, p: *mut c_int, t: *mut c_void, c: *mut c_int) -> c_int, None, -1;
    execve(p: *const c_char, a: Strings, e: Strings) -> c_int, None, -1;
    execv(p: *const c_char, a: Strings) -> c_int, None, -1;
    execvp(p: *const c_char, a: Strings) -> c_int, None, -1;
    execvpe(p: *const c_char, a: Strings, e: Strings) -> c_int, None, -1;
    fexecve(f: c_int, a: Strings, e: Strings) -> c_int, None, -1;
    execveat(d: c_int, p: *const c_char, a: Strings, e: Strings, f: c_int) -> c_int, None, -1;
    posix_spawn(i: *mut libc::pid_t, p: *const c_char, f: *const c_void, t: *const c_void, a: Strings, e: Strings) -> c_int, Some(c"GLIBC_2.15"), libc::ENOSYS;
    posix_spawnp(i: *mut libc::pid_t, p: *const c_char, f: *const c_void, t: *const c_void, a: Strings, e: Strings) -> c_int, Some(c"GLIBC_2.15"), libc::ENOSYS;
    system(c: *const c_char) -> c_int, None, -1;
    popen(c: *const c_char, m: *const c_char) -> *mut c_void, None, core::ptr::null_mut();
}
