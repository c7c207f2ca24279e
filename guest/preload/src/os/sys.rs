//! System calls made directly: libc's wrappers would change errno, may be interposed themselves,
//! and some are cancellation points. Each returns the kernel's value, negative errno on failure;
//! for a thread that would be killed for it ([`tls::is_barred`]), EPERM.

use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::AtomicU32;

use super::digits::Digits;
use super::tls;
use crate::arch::{FORK, FUTEX_DIGITS, system_call};

/// # Safety
/// The arguments are valid for the system call `n`: what it reads and writes is the caller's.
#[inline]
unsafe fn syscall6(n: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    if tls::is_barred() {
        return -(libc::EPERM as isize);
    }
    // SAFETY: the caller vouches for the arguments.
    unsafe { system_call(n, [a, b, c, d, e, f]) }
}

macro_rules! syscall {
    ($n:expr $(, $arg:expr)*) => { syscall!(@ $n, [$($arg as usize,)*]) };
    (@ $n:expr, [$a:expr,]) => { syscall6($n, $a, 0, 0, 0, 0, 0) };
    (@ $n:expr, []) => { syscall6($n, 0, 0, 0, 0, 0, 0) };
    (@ $n:expr, [$a:expr, $b:expr,]) => { syscall6($n, $a, $b, 0, 0, 0, 0) };
    (@ $n:expr, [$a:expr, $b:expr, $c:expr,]) => { syscall6($n, $a, $b, $c, 0, 0, 0) };
    (@ $n:expr, [$a:expr, $b:expr, $c:expr, $d:expr,]) => { syscall6($n, $a, $b, $c, $d, 0, 0) };
    (@ $n:expr, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr,]) => {
        syscall6($n, $a, $b, $c, $d, $e, 0)
    };
    (@ $n:expr, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr,]) => {
        syscall6($n, $a, $b, $c, $d, $e, $f)
    };
}

/// Kernel thread id.
pub fn gettid() -> u32 {
    // SAFETY: `gettid` takes numbers alone, so no memory of ours is at stake.
    (unsafe { syscall!(libc::SYS_gettid) }) as u32
}

/// A clock that there is. [`super::time`] is faster.
pub fn clock_gettime(clock: libc::clockid_t, ts: &mut libc::timespec) {
    // SAFETY: the kernel writes one timespec, and `ts` refers to one that nobody else uses.
    unsafe { syscall!(libc::SYS_clock_gettime, clock, ptr::from_mut(ts)) };
}

/// How often the calling thread has lost its processor, or given it up.
pub fn switches_of_thread() -> Option<u64> {
    usage_of_thread().map(|usage| (usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

/// How often the calling thread has slept.
pub fn sleeps_of_thread() -> Option<u64> {
    usage_of_thread().map(|usage| usage.ru_nvcsw as u64)
}

fn usage_of_thread() -> Option<libc::rusage> {
    // SAFETY: zeroes are a `rusage`.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, and `usage` is one that nobody else uses.
    let result =
        unsafe { syscall!(libc::SYS_getrusage, libc::RUSAGE_THREAD, ptr::from_mut(&mut usage)) };
    (result == 0).then_some(usage)
}

/// Blocks all signals, even those that libc keeps for itself (cancellation), and returns the old
/// mask.
pub fn block_signals() -> u64 {
    let all = !0u64;
    let mut old = 0u64;
    // SAFETY: both are the kernel's 8-byte sigset.
    unsafe {
        syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, &raw mut old, 8usize)
    };
    old
}

/// The calling thread's mask.
pub fn signal_mask() -> u64 {
    let mut mask = 0u64;
    // SAFETY: the kernel's 8-byte sigset; nothing is set.
    unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0usize, &raw mut mask, 8usize) };
    mask
}

/// Begin and length of the calling thread's alternate signal stack, 0 and 0 if it has none.
pub fn alternate_stack() -> (u64, u64) {
    let mut stack =
        libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the kernel writes one stack_t, for which the local has room.
    unsafe { syscall!(libc::SYS_sigaltstack, 0usize, &raw mut stack) };
    match stack.ss_flags & libc::SS_DISABLE {
        0 => (stack.ss_sp as u64, stack.ss_size as u64),
        _ => (0, 0),
    }
}

/// `at` is on the calling thread's alternate signal stack.
pub fn is_on_alternate(at: u64) -> bool {
    let (begin, len) = alternate_stack();
    at.wrapping_sub(begin) < len
}

/// What is left of the process's ITIMER_REAL, which `alarm` sets, too.
pub fn real_timer() -> libc::itimerval {
    // SAFETY: an `itimerval` is made of integers, for which zero is a valid value.
    let mut timer: libc::itimerval = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes one itimerval, for which the local has room.
    unsafe { syscall!(libc::SYS_getitimer, libc::ITIMER_REAL, &raw mut timer) };
    timer
}

/// What is left of the timer that the kernel knows by this number; `None` if there is none.
pub fn timer(number: u32) -> Option<libc::itimerspec> {
    // SAFETY: an `itimerspec` is made of integers, for which zero is a valid value.
    let mut timer: libc::itimerspec = unsafe { core::mem::zeroed() };
    // SAFETY: writes one itimerspec, if there is such a timer.
    let result = unsafe { syscall!(libc::SYS_timer_gettime, number, &raw mut timer) };
    (result == 0).then_some(timer)
}

/// Has the kernel write to the page at `at`, which reads as zeros, and says whether it could: where
/// a store would be a signal, the kernel's is an error.
///
/// # Safety
/// A page of ours that nobody uses yet.
pub unsafe fn write_page(at: *mut u8) -> bool {
    let at = at.cast::<u64>();
    // SAFETY: the kernel writes its 8-byte sigset there; nothing is set.
    let done = unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0usize, at, 8usize) };
    if done == 0 {
        // SAFETY: the caller promises a page of ours that nobody uses, and the kernel has just
        // written to it.
        unsafe { at.write(0) };
    }
    done == 0
}

/// The 8 bytes at `at` can be read: where a load would be a signal, the kernel's is an error. True,
/// too, of a thread that must not ask.
pub fn can_read_word(at: usize) -> bool {
    const NO_OPERATION: i32 = -1;
    // SAFETY: the kernel copies its 8-byte sigset before it refuses the operation.
    let done = unsafe { syscall!(libc::SYS_rt_sigprocmask, NO_OPERATION, at, 0usize, 8usize) };
    done != -(libc::EFAULT as isize)
}

/// The word can be written to: where a store would be a signal, the kernel's is an error. It stays
/// as it is.
///
/// # Safety
/// A mapped word.
pub unsafe fn can_write(word: *const u32) -> bool {
    static NOBODYS: AtomicU32 = AtomicU32::new(0);
    // FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0): adds nothing, atomically.
    const ADD_NOTHING: u32 = 1 << 28;
    let op = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the caller's word; nobody waits for the other one.
    let done =
        unsafe { syscall!(libc::SYS_futex, NOBODYS.as_ptr(), op, 0, 0usize, word, ADD_NOTHING) };
    done >= 0
}

/// Changes what may be done with a page. Negative: it could not.
///
/// # Safety
/// A page that is used only in ways that stay allowed.
pub unsafe fn protect_page(page: usize, prot: i32) -> isize {
    // SAFETY: the caller promises that the page is used only in ways that stay allowed.
    unsafe { syscall!(libc::SYS_mprotect, page, 4096usize, prot) }
}

/// Changes what may be done with whole pages. Negative: it could not, or not with all.
///
/// # Safety
/// Pages that are used only in ways that stay allowed.
pub unsafe fn protect(start: u64, len: usize, prot: i32) -> isize {
    // SAFETY: the caller promises that the pages are used only in ways that stay allowed.
    unsafe { syscall!(libc::SYS_mprotect, start, len, prot) }
}

/// Maps a part of a file over what is there.
///
/// # Safety
/// What is there is nobody's, or the same.
pub unsafe fn map_file_over(start: u64, len: usize, prot: i32, fd: isize, offset: u64) -> isize {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
    // SAFETY: the caller promises that nobody misses what is there.
    unsafe { syscall!(libc::SYS_mmap, start, len, prot, flags, fd, offset) }
}

/// Restores a mask.
pub fn restore_signals(old: u64) {
    // SAFETY: the kernel's 8-byte sigset; no old mask wanted.
    unsafe {
        syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const old, 0usize, 8usize)
    };
}

/// Waits until `word` is not `value`, for at most `timeout_ns`.
pub fn futex_wait(word: &AtomicU32, value: u32, timeout_ns: i64) -> isize {
    let ts =
        libc::timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the timespec outlive the call.
    unsafe { syscall!(libc::SYS_futex, word.as_ptr(), op, value, &raw const ts) }
}

/// This process has a thread with that id. True, too, where a filter of system calls keeps that
/// secret.
pub fn thread_lives(tid: u32) -> bool {
    // SAFETY: signal 0 is none: the kernel only checks whether the target exists.
    let sent = unsafe { syscall!(libc::SYS_tgkill, pids().0, tid, 0usize) };
    sent != -(libc::ESRCH as isize)
}

/// The signal has a handler, and is not ignored or left to the kernel.
pub fn has_handler(signal: u32) -> bool {
    // As the kernel has it: handler, flags, restorer and mask.
    let mut action = [0usize; 4];
    let old = action.as_mut_ptr();
    // SAFETY: it asks only, and the kernel writes one action, with a mask of 8 bytes.
    let done = unsafe { syscall!(libc::SYS_rt_sigaction, signal, 0usize, old, 8usize) };
    done == 0 && action[0] != libc::SIG_DFL && action[0] != libc::SIG_IGN
}

/// Sends the calling thread a signal, whose handler runs before this returns unless the thread blocks it.
pub fn raise(signal: u32) {
    // SAFETY: tgkill takes numbers. What a handler of the program does is as if the signal came from elsewhere.
    unsafe { syscall!(libc::SYS_tgkill, pids().0, gettid(), signal) };
}

/// Sleeps.
pub fn sleep_ns(ns: i64) {
    let ts = libc::timespec { tv_sec: 0, tv_nsec: ns };
    // SAFETY: the timespec outlives the call; no remainder wanted.
    unsafe { syscall!(libc::SYS_nanosleep, &raw const ts, 0usize) };
}

/// What /proc/self/task/TID/`name` begins with, as far as there is room. `None`: there is no such
/// file, or it cannot be read. `name` has up to 16 bytes.
pub fn read_of_task<'b>(tid: u32, name: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut path = [0u8; 48];
    let mut at = 0;
    let mut push = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    push(b"/proc/self/task/");
    push(Digits::of(tid.into()).as_bytes());
    push(b"/");
    push(name.to_bytes_with_nul());
    // SAFETY: the path is NUL terminated: the last push was one with its NUL.
    let fd = unsafe { open_read(path.as_ptr()) };
    if fd < 0 {
        return None;
    }
    let n = read(fd, buffer);
    close(fd);
    buffer.get(..usize::try_from(n).ok()?)
}

/// Address of the word that the thread `tid` of this process sleeps on, if it sleeps on one. Asks
/// the kernel: /proc/self/task/TID/syscall has the number of the system call that the thread sleeps
/// in and its arguments.
pub fn futex_waited_for(tid: u32) -> Option<u64> {
    // On its way in or out of the call it may sleep for something else, as a page.
    if !sleeps_interruptibly(tid) {
        return None;
    }
    let mut line = [0u8; 128];
    // "NUMBER 0xADDRESS 0xOPERATION ...", or "running".
    let mut fields = read_of_task(tid, c"syscall", &mut line)?.split(|&b| b == b' ');
    if fields.next()? != FUTEX_DIGITS {
        return None;
    }
    let mut number = || {
        let digits = fields.next()?.strip_prefix(b"0x")?;
        digits
            .iter()
            .try_fold(0u64, |value, &b| Some(value << 4 | u64::from((b as char).to_digit(16)?)))
    };
    let (word, op) = (number()?, number()? as i32);
    let waits = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_LOCK_PI,
        libc::FUTEX_WAIT_REQUEUE_PI,
        FUTEX_LOCK_PI2,
    ];
    waits.contains(&(op & libc::FUTEX_CMD_MASK)).then_some(word)
}

/// Whether the thread `tid` of this process sleeps, and signals may wake it.
fn sleeps_interruptibly(tid: u32) -> bool {
    let mut line = [0u8; 64];
    // "TID (NAME) STATE ...", where a name has up to 15 bytes of any kind.
    let line = read_of_task(tid, c"stat", &mut line).unwrap_or_default();
    let name_end = line.iter().rposition(|&b| b == b')').unwrap_or(line.len());
    line.get(name_end..).is_some_and(|rest| rest.starts_with(b") S"))
}

/// As FUTEX_LOCK_PI, with a choice of clocks (Linux 5.14).
const FUTEX_LOCK_PI2: i32 = 13;

/// Gives up the processor.
pub fn yield_now() {
    // SAFETY: `sched_yield` takes numbers alone, so no memory of ours is at stake.
    unsafe { syscall!(libc::SYS_sched_yield) };
}

/// Wakes up to `most` waiters on `word`.
pub fn futex_wake(word: &AtomicU32, most: i32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses only the address of the word.
    unsafe { syscall!(libc::SYS_futex, word.as_ptr(), op, most) };
}

/// Creates a file that must not exist yet and returns its descriptor.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn create(path: *const u8) -> isize {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0o600usize) }
}

/// Opens a file for reading.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn open_read(path: *const u8) -> isize {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0usize) }
}

/// Opens a file for writing at its end. It is there, or `more` is `O_CREAT`.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn open_append(path: *const u8, more: i32) -> isize {
    let flags =
        libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags | more, 0o600usize) }
}

/// Opens a file that is there for reading and writing.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn open_shared(path: *const u8) -> isize {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0usize) }
}

/// Opens a pipe that is there, for what `mode` says. Does not wait for its other end.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn open_pipe(path: *const u8, mode: i32) -> isize {
    let flags = mode | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0usize) }
}

/// Whether there is such a file, and it can be reached.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn exists(path: *const u8) -> bool {
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::F_OK) == 0 }
}

/// Writes `before` and the `parts` one after the other, at once.
pub fn writev<const M: usize, const N: usize>(
    fd: isize,
    before: [&[u8]; M],
    parts: [&[u8]; N],
) -> isize {
    const MOST: usize = 16;
    const { assert!(M + N <= MOST) };
    let mut all = [const { libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 } }; MOST];
    for (place, part) in all.iter_mut().zip(before.into_iter().chain(parts)) {
        *place = libc::iovec { iov_base: part.as_ptr() as *mut _, iov_len: part.len() };
    }
    // SAFETY: initialised bytes, which are only read.
    unsafe { syscall!(libc::SYS_writev, fd, all.as_ptr(), M + N) }
}

/// The owner of an open regular file; `None` if it is none.
pub fn owner_of_regular(fd: isize) -> Option<u32> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: writes one stat, which the C library has in the kernel's form.
    let done = unsafe { syscall!(libc::SYS_fstat, fd, stat.as_mut_ptr()) };
    // SAFETY: a zeroed stat is a valid one, as it is made of integers.
    let stat = unsafe { stat.assume_init() };
    (done == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(stat.st_uid)
}

/// The flags that the file is open with (O_NONBLOCK and the like); negative if it is not open.
pub fn file_flags(file: i32) -> isize {
    // SAFETY: `fcntl` takes numbers alone, so no memory of ours is at stake.
    unsafe { syscall!(libc::SYS_fcntl, file, libc::F_GETFL) }
}

/// The process's effective user id.
pub fn effective_user() -> u32 {
    // SAFETY: `geteuid` takes numbers alone, so no memory of ours is at stake.
    (unsafe { syscall!(libc::SYS_geteuid) }) as u32
}

/// Reads into `buffer`.
pub fn read(fd: isize, buffer: &mut [u8]) -> isize {
    // SAFETY: the kernel writes at most `buffer.len()` bytes, into the buffer that is ours alone.
    unsafe { syscall!(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len()) }
}

/// Copies what the process has at an address, to be named by the id of one of its threads. As many
/// bytes as were copied; negative if there is nothing.
pub fn copy_of(thread: u32, at: u64, into: &mut [u8]) -> isize {
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = libc::iovec { iov_base: at as *mut _, iov_len: into.len() };
    // SAFETY: writes to the buffer, which is ours. What is read the kernel looks after.
    unsafe { syscall!(libc::SYS_process_vm_readv, thread, &raw const to, 1, &raw const from, 1, 0) }
}

/// As [`copy_of`], of several ranges: one behind the other, up to the first that is not mapped.
pub fn copy_of_ranges(thread: u32, ranges: &[libc::iovec], into: &mut [u8]) -> isize {
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let (from, n) = (ranges.as_ptr(), ranges.len());
    // SAFETY: writes to the buffer, which is ours, and no more than that has room for. What is read the kernel looks
    // after; `ranges` are that many.
    unsafe { syscall!(libc::SYS_process_vm_readv, thread, &raw const to, 1, from, n, 0) }
}

/// Reads the target of a symbolic link.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn readlink(path: *const u8, buffer: &mut [u8]) -> isize {
    // SAFETY: the caller promises a NUL-terminated `path`; the kernel writes at most the buffer's
    // length into it.
    unsafe {
        syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, path, buffer.as_mut_ptr(), buffer.len())
    }
}

/// The length of a file; its position is there afterwards.
pub fn length(fd: isize) -> u64 {
    // SAFETY: `lseek` takes numbers alone, so no memory of ours is at stake.
    unsafe { syscall!(libc::SYS_lseek, fd, 0usize, libc::SEEK_END) }.max(0) as u64
}

/// Sets a file's length.
pub fn ftruncate(fd: isize, len: usize) -> isize {
    // SAFETY: `ftruncate` takes numbers alone, so no memory of ours is at stake.
    unsafe { syscall!(libc::SYS_ftruncate, fd, len) }
}

/// Closes a descriptor.
pub fn close(fd: isize) {
    // SAFETY: a descriptor is a number: no memory of ours is touched.
    unsafe { syscall!(libc::SYS_close, fd) };
}

/// Removes a file.
///
/// # Safety
/// `path` is NUL terminated.
pub unsafe fn unlink(path: *const u8) {
    // SAFETY: the caller promises a NUL-terminated `path`, which the kernel only reads.
    unsafe { syscall!(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0usize) };
}

/// Maps memory where the kernel likes.
///
/// # Safety
/// As mmap(2): a new mapping, so nothing of ours is touched.
pub unsafe fn mmap(len: usize, prot: i32, flags: i32, fd: isize) -> isize {
    // SAFETY: the caller promises a new mapping, so the kernel chooses a place where nothing is.
    unsafe { syscall!(libc::SYS_mmap, 0usize, len, prot, flags, fd, 0usize) }
}

/// Maps memory of the process's own that reads as zeros. Null where there is no room.
pub fn map_zeroed(len: usize) -> *mut u8 {
    let (prot, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
    let at = unsafe { mmap(len, prot, flags, -1) };
    if at > 0 { at as *mut u8 } else { ptr::null_mut() }
}

/// As [`mmap`], at `place` if nothing is there.
///
/// # Safety
/// As for [`mmap`].
pub unsafe fn mmap_near(place: usize, len: usize, prot: i32, flags: i32, fd: isize) -> isize {
    // SAFETY: the caller promises no fixed mapping, so the kernel replaces nothing at `place`.
    unsafe { syscall!(libc::SYS_mmap, place, len, prot, flags, fd, 0usize) }
}

/// Changes the length of a mapping, or makes another of it.
///
/// # Safety
/// The range is a mapping of ours, and nobody uses what it loses.
pub unsafe fn mremap(at: *mut u8, old: usize, new: usize, flags: i32) -> isize {
    // SAFETY: the caller promises that the range is ours, and that nobody uses what it loses.
    unsafe { syscall!(libc::SYS_mremap, at, old, new, flags) }
}

/// As [`mremap`], with the new mapping at `to`.
///
/// # Safety
/// As for [`mremap`]; what was mapped at `to` is ours, and nobody uses it.
pub unsafe fn mremap_to(at: *mut u8, old: usize, new: usize, flags: i32, to: *mut u8) -> isize {
    // SAFETY: the caller promises that the range and what is at `to` are ours, and that nobody uses
    // what goes.
    unsafe { syscall!(libc::SYS_mremap, at, old, new, flags, to) }
}

/// Has a mapping of a file be that of another part of it, which begins with page `page`.
///
/// # Safety
/// The range is a mapping of ours that nobody uses.
pub unsafe fn remap_file_pages(at: *mut u8, len: usize, page: usize) -> isize {
    // SAFETY: the caller promises that the range is a mapping of ours that nobody uses.
    unsafe { syscall!(libc::SYS_remap_file_pages, at, len, 0usize, page, 0usize) }
}

/// Has pages be no longer locked into memory.
pub fn munlock(at: *mut u8, len: usize) {
    // SAFETY: unlocked pages keep their content and their address.
    unsafe { syscall!(libc::SYS_munlock, at, len) };
}

/// Gives advice about a mapping.
///
/// # Safety
/// The range is a mapping of ours.
pub unsafe fn madvise(at: *mut u8, len: usize, advice: i32) -> isize {
    // SAFETY: the caller promises that the range is a mapping of ours.
    unsafe { syscall!(libc::SYS_madvise, at, len, advice) }
}

/// Unmaps.
///
/// # Safety
/// The range is a mapping of ours that nobody uses any more.
pub unsafe fn munmap(at: *mut u8, len: usize) {
    // SAFETY: the caller promises that the range is a mapping of ours that nobody uses any more.
    unsafe { syscall!(libc::SYS_munmap, at, len) };
}

/// The calling thread's name, NUL padded.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes 16 bytes, for which `name` has room.
    unsafe { syscall!(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// What `_Fork` comes down to, where the C library has none (before 2.34).
pub fn fork() -> i32 {
    // SAFETY: the child goes on as the parent does.
    (unsafe { syscall!(FORK.0, FORK.1) }) as i32
}

/// Process id and parent process id.
pub fn pids() -> (u32, u32) {
    // SAFETY: `getpid` and `getppid` take no arguments.
    unsafe { (syscall!(libc::SYS_getpid) as u32, syscall!(libc::SYS_getppid) as u32) }
}

/// Fills the buffer with random bytes; leaves it as it is if the kernel has none yet.
pub fn random(buffer: &mut [u8]) {
    // SAFETY: the kernel writes at most `buffer.len()` bytes, into the buffer that is ours alone.
    unsafe {
        syscall!(libc::SYS_getrandom, buffer.as_mut_ptr(), buffer.len(), libc::GRND_NONBLOCK)
    };
}

/// Soft limit of a resource.
pub fn limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: u64::MAX, rlim_max: u64::MAX };
    // SAFETY: the kernel writes one rlimit64, for which the local has room; no new limit is given.
    unsafe { syscall!(libc::SYS_prlimit64, 0usize, resource, 0usize, &raw mut limit) };
    limit.rlim_cur
}

/// The calling thread's errno, to put back where a call of ours that fails would leave its own.
pub fn errno() -> i32 {
    // SAFETY: its address is the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
pub fn set_errno(errno: i32) {
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    unsafe { *libc::__errno_location() = errno };
}
