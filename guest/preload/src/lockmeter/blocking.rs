//! Calls that may sleep (I/O, sleeping, waiting for processes): counted where a lock is held
//! meanwhile.

use core::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, timespec};
use lockwright_engines::lockmeter::{Call, key};
use lockwright_ledger::rows::meter::{blocking_call, wait_kind};

use super::spots::{cell_of, wait_site};
use super::{clock, record, tls, wait};
use crate::libc::real;

/// Calls `block`, which is number `which` of the blocking calls.
#[inline(always)]
fn around<R>(which: u32, site: u64, block: impl FnOnce() -> R) -> R {
    // SAFETY: this thread's own meter, or one that holds nothing; it is only read here.
    if unsafe { &*tls::raw() }.is_idle() { block() } else { with_lock_held(which, site, block) }
}

#[cold]
fn with_lock_held<R>(which: u32, site: u64, block: impl FnOnce() -> R) -> R {
    // SAFETY: this thread has a meter of its own, as it holds a lock; no outer reference is used
    // meanwhile.
    let thread = unsafe { &mut *tls::raw() };
    let (address, site) = (site, wait_site(site));
    let call = Call { inst: which, wait: wait_kind::BLOCKING_CALL, site, ..Call::default() };
    // Tail calls have one return address: their number tells them apart.
    let what = u64::from(wait_kind::BLOCKING_CALL) | u64::from(which) << 32;
    let key = key(what, u16::MAX, site);
    let Some(cell) = cell_of(thread, key, &call, address) else { return block() };
    cell.begin();
    let begun = clock::now();
    let (result, ended) = wait::block_at(thread, cell, 0, begun, block);
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    let errno = unsafe { *libc::__errno_location() };
    record::plain_wait(thread, cell, ended.saturating_sub(begun), ended);
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    unsafe { *libc::__errno_location() = errno };
    result
}

/// `name(arguments) -> result`: the call of that name.
macro_rules! blocking {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name($($arg: $ty,)* site: u64) -> $ret {
            const WHICH: u32 = blocking_call(stringify!($name));
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            around(WHICH, site, || unsafe { real::$name($($arg),*) })
        }
    )* };
}

blocking! {
    read(f: c_int, b: *mut c_void, n: usize) -> isize;
    write(f: c_int, b: *const c_void, n: usize) -> isize;
    pread(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize;
    pread64(f: c_int, b: *mut c_void, n: usize, o: i64) -> isize;
    pwrite(f: c_int, b: *const c_void, n: usize, o: i64) -> isize;
    pwrite64(f: c_int, b: *const c_void, n: usize, o: i64) -> isize;
    readv(f: c_int, v: *const c_void, n: c_int) -> isize;
    writev(f: c_int, v: *const c_void, n: c_int) -> isize;
    preadv(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize;
    preadv64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize;
    pwritev(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize;
    pwritev64(f: c_int, v: *const c_void, n: c_int, o: i64) -> isize;
    fsync(f: c_int) -> c_int;
    fdatasync(f: c_int) -> c_int;
    msync(a: *mut c_void, n: usize, f: c_int) -> c_int;
    flock(f: c_int, o: c_int) -> c_int;
    poll(f: *mut c_void, n: u64, t: c_int) -> c_int;
    select(n: c_int, r: *mut c_void, w: *mut c_void, e: *mut c_void, t: *mut c_void) -> c_int;
    epoll_wait(e: c_int, v: *mut c_void, n: c_int, t: c_int) -> c_int;
    nanosleep(t: *const timespec, r: *mut timespec) -> c_int;
    clock_nanosleep(c: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int;
    usleep(n: c_uint) -> c_int;
    sleep(n: c_uint) -> c_uint;
    recv(f: c_int, b: *mut c_void, n: usize, o: c_int) -> isize;
    recvmsg(f: c_int, m: *mut c_void, o: c_int) -> isize;
    send(f: c_int, b: *const c_void, n: usize, o: c_int) -> isize;
    sendmsg(f: c_int, m: *const c_void, o: c_int) -> isize;
    accept(f: c_int, a: *mut c_void, n: *mut c_void) -> c_int;
    accept4(f: c_int, a: *mut c_void, n: *mut c_void, o: c_int) -> c_int;
    connect(f: c_int, a: *const c_void, n: c_uint) -> c_int;
    waitpid(p: c_int, s: *mut c_int, o: c_int) -> c_int;
}
