//! Calls that may sleep, where lockdep looks at them: from the moment on that the process has a
//! spinning lock. Until then their stubs go where they would go without lockdep, except those that
//! a thread idles in.

use core::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, timespec, timeval};
use lockwright_ledger::rows::meter::blocking_call;

use crate::libc::real;
use crate::lockdep::{atomic_sleep, left_held};
use crate::lockmeter::{self, blocking};
use crate::os::{readable, sys};

/// `name(arguments) -> result: whether that call may sleep;`, for calls that matter if the thread
/// `holds` locks, with the function that reports them.
macro_rules! sleeping {
    ($holds:path, $tell:path; $($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty: $may_sleep:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name($($arg: $ty,)* site: u64) -> $ret {
            if $holds() && $may_sleep {
                $tell(const { blocking_call(stringify!($name)) }, site);
            }
            // SAFETY: the next function, or its wrapper for lockmeter, gets the program's own
            // arguments unchanged.
            unsafe {
                match lockmeter::is_wanted() {
                    true => blocking::$name($($arg,)* site),
                    false => real::$name($($arg),*),
                }
            }
        }
    )* };
}

/// I/O on the file may sleep: it is no socket, pipe or the like that has O_NONBLOCK set. For a
/// regular file the flag means nothing.
fn waits(file: c_int) -> bool {
    match sys::file_flags(file) {
        flags if flags < 0 => false,
        flags if flags & libc::O_NONBLOCK as isize == 0 => true,
        _ => sys::owner_of_regular(file as isize).is_some(),
    }
}

/// As [`waits`], of a call with flags of its own.
fn waits_with(file: c_int, flags: c_int) -> bool {
    flags & libc::MSG_DONTWAIT == 0 && waits(file)
}

/// A time to wait that `select` is given, null for as long as it takes.
///
/// # Safety
/// `timeout` is null or the address of the program's timeval: it is read only where there is
/// memory.
unsafe fn takes_time(timeout: *const c_void) -> bool {
    // SAFETY: `timeout` is the program's timeval, which `value` reads only where there is memory.
    let time = || unsafe { readable::value(timeout.cast::<timeval>()) };
    timeout.is_null() || time().is_some_and(|time| time.tv_sec != 0 || time.tv_usec != 0)
}

sleeping! {
    atomic_sleep::holds_spinning, atomic_sleep::check;
    read(f: c_int, b: *mut c_void, n: usize) -> isize: waits(f);
    write(f: c_int, b: *const c_void, n: usize) -> isize: waits(f);
    pread(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize: waits(f);
    pread64(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize: waits(f);
    pwrite(f: c_int, b: *const c_void, n: usize, o: i64) -> isize: waits(f);
    pwrite64(f: c_int, b: *const c_void, n: usize, o: i64) -> isize: waits(f);
    readv(f: c_int, v: *const c_void, n: c_int) -> isize: waits(f);
    writev(f: c_int, v: *const c_void, n: c_int) -> isize: waits(f);
    preadv(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize: waits(f);
    preadv64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize: waits(f);
    pwritev(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize: waits(f);
    pwritev64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize: waits(f);
    fsync(f: c_int) -> c_int: true;
    fdatasync(f: c_int) -> c_int: true;
    msync(a: *mut c_void, n: usize, f: c_int) -> c_int: f & libc::MS_SYNC != 0;
    flock(f: c_int, o: c_int) -> c_int: o & (libc::LOCK_NB | libc::LOCK_UN) == 0;
    send(f: c_int, b: *const c_void, n: usize, o: c_int) -> isize: waits_with(f, o);
    sendmsg(f: c_int, m: *const c_void, o: c_int) -> isize: waits_with(f, o);
    connect(f: c_int, a: *const c_void, n: c_uint) -> c_int: waits(f);
}

// What threads idle in: here a lock may be held by mistake.
sleeping! {
    left_held::holds_any, left_held::idles;
    poll(f: *mut c_void, n: u64, t: c_int) -> c_int: t != 0;
    select(n: c_int, r: *mut c_void, w: *mut c_void, e: *mut c_void, t: *mut c_void) -> c_int:
        // SAFETY: `takes_time` reads the program's own timeval only where there is memory.
        unsafe { takes_time(t) };
    epoll_wait(e: c_int, v: *mut c_void, n: c_int, t: c_int) -> c_int: t != 0;
    nanosleep(t: *const timespec, r: *mut timespec) -> c_int: true;
    clock_nanosleep(c: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int: true;
    usleep(n: c_uint) -> c_int: true;
    sleep(n: c_uint) -> c_uint: true;
    recv(f: c_int, b: *mut c_void, n: usize, o: c_int) -> isize: waits_with(f, o);
    recvmsg(f: c_int, m: *mut c_void, o: c_int) -> isize: waits_with(f, o);
    accept(f: c_int, a: *mut c_void, n: *mut c_void) -> c_int: waits(f);
    accept4(f: c_int, a: *mut c_void, n: *mut c_void, o: c_int) -> c_int: waits(f);
    waitpid(p: c_int, s: *mut c_int, o: c_int) -> c_int: o & libc::WNOHANG == 0;
}
