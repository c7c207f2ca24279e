//! The next definitions of functions, for what is not replaced: the C library's, as a rule.
//!
//! They are looked up when they are first needed, which is seldom a program's first lock: nothing
//! that an allocator's plain mutex comes to needs one. `dlsym` is not called: before glibc 2.34 it takes one of the
//! program's keys.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::timespec;
use lockwright_exec::{Strings, loader};

use crate::arch::symbol_version;

/// Where a function is, once it has been looked up.
pub struct Slot {
    name: &'static CStr,
    version: Option<&'static CStr>,
    at: AtomicPtr<c_void>,
}

impl Slot {
    const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self { name, version, at: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The function; null if there is none.
    pub fn get(&self) -> *mut c_void {
        // Relaxed: the function has been there since the program began.
        let at = self.at.load(Relaxed);
        if !at.is_null() {
            return at;
        }
        // If a function has versions, we ask for the one that programs are linked with.
        let at = loader::address(self.name, symbol_version(self.version));
        self.at.store(at, Relaxed);
        at
    }
}

/// `name(arg: type, ...) "VERSION" or none`
macro_rules! next {
    ($($name:ident($($arg:ident: $ty:ty),*) $version:expr;)*) => { $(
        #[doc = concat!("The next `", stringify!($name), "`; ENOSYS if there is none.")]
        ///
        /// # Safety
        /// As the function itself.
        pub unsafe fn $name($($arg: $ty),*) -> c_int {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> c_int;
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            static SLOT: Slot = Slot::new(NAME, $version);
            let at = SLOT.get();
            if at.is_null() {
                return libc::ENOSYS;
            }
            // SAFETY: the function of that name has this type.
            unsafe { core::mem::transmute::<*mut c_void, Function>(at)($($arg),*) }
        }
    )* };
}

next! {
    execve(p: *const c_char, a: Strings, e: Strings) None;
    execvpe(p: *const c_char, a: Strings, e: Strings) None;
    fexecve(f: c_int, a: Strings, e: Strings) None;
    execveat(d: c_int, p: *const c_char, a: Strings, e: Strings, f: c_int) None;
    posix_spawn(i: *mut libc::pid_t, p: *const c_char, f: *const c_void, t: *const c_void, a: Strings, e: Strings) Some(c"GLIBC_2.15");
    posix_spawnp(i: *mut libc::pid_t, p: *const c_char, f: *const c_void, t: *const c_void, a: Strings, e: Strings) Some(c"GLIBC_2.15");

    pthread_setcanceltype(k: c_int, o: *mut c_int) None;

    pthread_mutex_init(m: *mut c_void, a: *const c_void) None;
    pthread_mutex_destroy(m: *mut c_void) None;
    pthread_mutex_lock(m: *mut c_void) None;
    pthread_mutex_trylock(m: *mut c_void) None;
    pthread_mutex_timedlock(m: *mut c_void, t: *const timespec) None;
    pthread_mutex_clocklock(m: *mut c_void, c: c_int, t: *const timespec) None;
    pthread_mutex_unlock(m: *mut c_void) None;

    pthread_rwlock_init(l: *mut c_void, a: *const c_void) None;
    pthread_rwlock_destroy(l: *mut c_void) None;
    pthread_rwlock_rdlock(l: *mut c_void) None;
    pthread_rwlock_wrlock(l: *mut c_void) None;
    pthread_rwlock_tryrdlock(l: *mut c_void) None;
    pthread_rwlock_trywrlock(l: *mut c_void) None;
    pthread_rwlock_timedrdlock(l: *mut c_void, t: *const timespec) None;
    pthread_rwlock_timedwrlock(l: *mut c_void, t: *const timespec) None;
    pthread_rwlock_clockrdlock(l: *mut c_void, c: c_int, t: *const timespec) None;
    pthread_rwlock_clockwrlock(l: *mut c_void, c: c_int, t: *const timespec) None;
    pthread_rwlock_unlock(l: *mut c_void) None;

    pthread_spin_init(l: *mut c_void, p: c_int) None;
    pthread_spin_destroy(l: *mut c_void) None;
    pthread_spin_lock(l: *mut c_void) None;
    pthread_spin_trylock(l: *mut c_void) None;
    pthread_spin_unlock(l: *mut c_void) None;

    pthread_cond_init(c: *mut c_void, a: *const c_void) Some(c"GLIBC_2.3.2");
    pthread_cond_destroy(c: *mut c_void) Some(c"GLIBC_2.3.2");
    pthread_cond_wait(c: *mut c_void, m: *mut c_void) Some(c"GLIBC_2.3.2");
    pthread_cond_timedwait(c: *mut c_void, m: *mut c_void, t: *const timespec) Some(c"GLIBC_2.3.2");
    pthread_cond_clockwait(c: *mut c_void, m: *mut c_void, k: c_int, t: *const timespec) None;
    pthread_cond_signal(c: *mut c_void) Some(c"GLIBC_2.3.2");
    pthread_cond_broadcast(c: *mut c_void) Some(c"GLIBC_2.3.2");
}
