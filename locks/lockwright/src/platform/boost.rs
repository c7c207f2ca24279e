//! Priority inheritance among the threads of Linux: while a real-time thread waits for one that has
//! a lock, that one runs as SCHED_FIFO at no less than its priority.
//!
//! It needs the right to (CAP_SYS_NICE, or RLIMIT_RTPRIO), which who made the waiter a real-time
//! thread has. Without it everything stays as it is. Niceness is not inherited. The system has
//! FUTEX_LOCK_PI for the same, whose wait lists are its own.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::cpus::CPUS;
use super::system_call::quiet;

const RESET_ON_FORK: u32 = 0x4000_0000;
const FIFO: u32 = libc::SCHED_FIFO as u32;

/// The scheduling data of a thread with a number. Zeroed: nothing.
///
/// Relaxed throughout: changed by the thread itself before anybody knows its number, and under its
/// pi lock.
struct Thread {
    /// Its id in the kernel; 0: there is none.
    tid: AtomicU32,
    /// Whether it runs at a priority not of its own.
    boosted: AtomicU32,
    /// Its own policy and priority then.
    policy: AtomicU32,
    priority: AtomicU32,
}

static THREADS: [Thread; CPUS as usize] = [const {
    let [tid, boosted, policy, priority] = [const { AtomicU32::new(0) }; 4];
    Thread { tid, boosted, policy, priority }
}; CPUS as usize];

/// The calling thread has got a number.
pub(super) fn begin(number: u32) {
    // SAFETY: `gettid` takes no arguments and accesses no memory of ours.
    let tid = quiet(|| unsafe { libc::syscall(libc::SYS_gettid) });
    THREADS[number as usize].tid.store(tid.unwrap_or(0) as u32, Relaxed);
}

/// The calling thread is about to give its number back.
pub(super) fn end(number: u32) {
    let thread = &THREADS[number as usize];
    thread.tid.store(0, Relaxed);
    thread.boosted.store(0, Relaxed);
}

/// The calling thread's own priority: 1 to 99 if it is a real-time thread, else 0. `number`: if it
/// has one.
pub(super) fn own_priority(number: Option<u32>) -> i32 {
    let boosted = number
        .map(|number| &THREADS[number as usize])
        .filter(|thread| thread.boosted.load(Relaxed) != 0);
    match boosted {
        Some(thread) => thread.priority.load(Relaxed) as i32,
        None => priority_of(0).unwrap_or(0) as i32,
    }
}

/// Lets a thread inherit a priority, or nothing any more. Under its pi lock.
pub(super) fn inherit(number: u32, inherited: Option<i32>) {
    let thread = &THREADS[number as usize];
    let tid = thread.tid.load(Relaxed);
    if tid == 0 {
        return;
    }
    let boosted = thread.boosted.load(Relaxed) != 0;
    match inherited.filter(|inherited| *inherited > 0) {
        Some(inherited) => {
            if !boosted && !remember(thread, tid) {
                return;
            }
            let policy = thread.policy.load(Relaxed);
            let priority = thread.priority.load(Relaxed).max(inherited as u32);
            // Not a deadline thread, which goes before all others as it is.
            let runs = policy & !RESET_ON_FORK != libc::SCHED_DEADLINE as u32
                && schedule(tid, FIFO | (policy & RESET_ON_FORK), priority);
            if runs {
                thread.boosted.store(1, Relaxed);
            }
        }
        None if boosted => {
            schedule(tid, thread.policy.load(Relaxed), thread.priority.load(Relaxed));
            thread.boosted.store(0, Relaxed);
        }
        None => {}
    }
}

/// Notes the thread's own scheduling policy and priority. False: the kernel does not report them.
fn remember(thread: &Thread, tid: u32) -> bool {
    // SAFETY: `sched_getscheduler` takes an id only, and no pointer.
    let policy = quiet(|| unsafe { libc::syscall(libc::SYS_sched_getscheduler, tid) });
    let Some((policy, priority)) = policy.ok().zip(priority_of(tid)) else { return false };
    thread.policy.store(policy as u32, Relaxed);
    thread.priority.store(priority, Relaxed);
    true
}

/// The present priority of a thread; 0: the calling one.
fn priority_of(tid: u32) -> Option<u32> {
    let mut param = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: the kernel writes a `sched_param` into `param`, which has room for one and lives
    // during the call.
    quiet(|| unsafe { libc::syscall(libc::SYS_sched_getparam, tid, param.as_mut_ptr()) }).ok()?;
    // SAFETY: `param` began as zeros and the kernel has written it, so all its bytes are
    // initialised.
    Some(unsafe { param.assume_init() }.sched_priority as u32)
}

fn schedule(tid: u32, policy: u32, priority: u32) -> bool {
    // SAFETY: zeros are a priority; where there are other fields they are unused.
    let mut param: libc::sched_param = unsafe { core::mem::zeroed() };
    param.sched_priority = priority as libc::c_int;
    // SAFETY: the kernel only reads `param`, which lives during the call.
    quiet(|| unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, policy, &raw const param) })
        .is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::platform::Platform;
    use crate::platform::linux::Linux;
    use crate::rtmutex::RawRtMutex;

    fn tid() -> u32 {
        // SAFETY: `gettid` takes no arguments and accesses no memory of ours.
        unsafe { libc::gettid() as u32 }
    }

    fn policy() -> u32 {
        // SAFETY: `sched_getscheduler` takes an id only, and no pointer.
        unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) as u32 }
    }

    fn await_that(condition: impl Fn() -> bool) {
        let begin = Instant::now();
        while !condition() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn an_owner_runs_at_its_waiters_real_time_priority_until_it_unlocks() {
        let lock = Arc::new(RawRtMutex::<Linux>::new());
        lock.lock();
        let own = policy();
        let waiter = {
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || {
                let may = schedule(tid(), FIFO, 7);
                if may {
                    lock.lock();
                    assert_eq!(Linux::priority(), 7);
                    // SAFETY: this thread took `lock` above and still holds it.
                    unsafe { lock.unlock() };
                }
                may
            })
        };
        await_that(|| priority_of(0) == Some(7) || waiter.is_finished());
        if waiter.is_finished() {
            assert!(!waiter.join().unwrap(), "it got a lock that was held");
            // No right to real-time threads here: nothing to inherit.
            return;
        }
        assert_eq!(policy() & !RESET_ON_FORK, FIFO);
        assert_eq!(Linux::priority(), 0, "its own is another");
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
        assert_eq!((policy(), priority_of(0)), (own, Some(0)));
        assert!(waiter.join().unwrap());
    }
}
