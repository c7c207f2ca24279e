//! Whether waits ever end: what follows from which thread waits for which.
//!
//! Each wait here lasted from a first look at the process to a second, and owners were read between
//! the two: what is concluded from them was true at one moment.

use std::collections::{BTreeSet, HashMap};

use super::waits::{Holder, State, Thread, WaitKind};

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Each of these threads waits for what the next has, and the last for the first: by their ids.
    Cycle {
        /// In that order, the smallest first.
        tids: Vec<u32>,
        /// One of the waits ends by itself.
        is_timed: bool,
        /// Other threads that wait for these, or for others that do.
        behind: Vec<u32>,
    },
    /// A thread waits for a lock of one that has ended.
    LeftLocked {
        /// The waiter.
        tid: u32,
        /// The former owner.
        owner: u32,
    },
    /// Every thread of the process waits for another one to wake it.
    AllWait {
        /// Signals that have handlers, which might: bit `n - 1` for signal `n`.
        handlers: u64,
    },
}

impl Verdict {
    /// It never ends by itself, and no signal ends it.
    pub fn is_certain(&self) -> bool {
        match self {
            Self::Cycle { is_timed, .. } => !is_timed,
            Self::LeftLocked { .. } => true,
            Self::AllWait { handlers } => *handlers == 0,
        }
    }
}

/// Signals that the processor raises, and two that the C library keeps to itself: nobody else sends
/// them to wake a thread.
const FAULTS: [i32; 9] = [
    32,
    33,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// What follows from what the threads of a process wait for. `elsewhere` are threads of other processes to which its waits lead.
/// `handled` are the signals that have handlers, and are not blocked by all threads: bit `n - 1` for signal `n`.
pub fn judge(threads: &[Thread], elsewhere: &[Thread], handled: u64) -> Vec<Verdict> {
    let all: Vec<&Thread> = threads.iter().chain(elsewhere).collect();
    let next: HashMap<u32, u32> = all
        .iter()
        .filter_map(|thread| match thread.wait()?.holder {
            Holder::Thread(holder) | Holder::Elsewhere(holder) => Some((thread.tid, holder)),
            _ => None,
        })
        .collect();
    let mut verdicts = cycles(&all, &next);
    for thread in threads {
        let Some(wait) = thread.wait() else { continue };
        // The wait for a thread that is joined and has ended is over.
        if let (Holder::Ended(owner), false) = (wait.holder, wait.kind == WaitKind::Join) {
            verdicts.push(Verdict::LeftLocked { tid: thread.tid, owner });
        }
    }
    if verdicts.is_empty() && wait_for_ever(threads) {
        verdicts.push(Verdict::AllWait { handlers: may_wake(handled) });
    }
    verdicts
}

/// Whether each thread waits for another and can be woken by none of another process, and no wait has a timeout.
pub fn wait_for_ever(threads: &[Thread]) -> bool {
    let waits = |thread: &Thread| matches!(&thread.state, State::Waits(wait) if !wait.futex.is_timed && !wait.is_shared);
    !threads.is_empty() && threads.iter().all(waits)
}

/// Those of a set of signals with handlers that others may send to wake a thread: bit `n - 1` for signal `n`.
pub fn may_wake(handled: u64) -> u64 {
    handled & !FAULTS.iter().fold(0, |set, signal| set | 1u64 << (signal - 1))
}

fn cycles(threads: &[&Thread], next: &HashMap<u32, u32>) -> Vec<Verdict> {
    let mut met = BTreeSet::new();
    let mut found = Vec::new();
    for thread in threads {
        // Each thread waits for one other, so a walk ends, or comes back to where it was.
        let mut walk = vec![thread.tid];
        while let Some(&holder) = walk.last().and_then(|tid| next.get(tid)) {
            if met.contains(&holder) {
                break;
            }
            if let Some(begin) = walk.iter().position(|&tid| tid == holder) {
                found.push(walk[begin..].to_vec());
                break;
            }
            walk.push(holder);
        }
        met.extend(walk);
    }
    let is_timed = |tid: &u32| {
        let thread = threads.iter().find(|thread| thread.tid == *tid);
        thread.and_then(|thread| thread.wait()).is_some_and(|wait| wait.futex.is_timed)
    };
    let cycle = |mut tids: Vec<u32>| {
        let smallest = tids.iter().enumerate().min_by_key(|(_, tid)| **tid).map_or(0, |(at, _)| at);
        tids.rotate_left(smallest);
        Verdict::Cycle { is_timed: tids.iter().any(is_timed), behind: behind(&tids, next), tids }
    };
    found.into_iter().map(cycle).collect()
}

/// The threads whose waits lead to one of these.
fn behind(tids: &[u32], next: &HashMap<u32, u32>) -> Vec<u32> {
    let leads = |start: u32| {
        let mut at = start;
        (0..next.len()).any(|_| {
            at = next.get(&at).copied().unwrap_or(0);
            tids.contains(&at)
        })
    };
    let mut behind: Vec<u32> =
        next.keys().copied().filter(|tid| !tids.contains(tid) && leads(*tid)).collect();
    behind.sort_unstable();
    behind
}

#[cfg(test)]
mod tests {
    use super::super::waits::{Futex, Wait};
    use super::*;

    fn thread(tid: u32, state: State) -> Thread {
        Thread { tid, name: String::new(), state, stack: Vec::new() }
    }

    fn waits(tid: u32, kind: WaitKind, holder: Holder, is_timed: bool) -> Thread {
        let futex = Futex { address: 0x1000, is_timed, may_be_shared: false, is_pi: false };
        let wait = Wait { futex, kind, object: 0x1000, name: None, holder, is_shared: false };
        thread(tid, State::Waits(wait))
    }

    fn mutex(tid: u32, holder: u32) -> Thread {
        waits(tid, WaitKind::Mutex, Holder::Thread(holder), false)
    }

    #[test]
    fn a_cycle_is_found_once_with_those_behind_it() {
        let threads = [mutex(5, 3), mutex(2, 3), mutex(3, 4), mutex(4, 3), thread(9, State::Runs)];
        let cycle = Verdict::Cycle { tids: vec![3, 4], is_timed: false, behind: vec![2, 5] };
        assert!(cycle.is_certain());
        assert_eq!(judge(&threads, &[], 0), [cycle]);
        let own = [mutex(1, 1)];
        assert_eq!(
            judge(&own, &[], 0),
            [Verdict::Cycle { tids: vec![1], is_timed: false, behind: vec![] }]
        );
    }

    #[test]
    fn a_cycle_goes_through_other_processes() {
        let own = waits(2, WaitKind::Mutex, Holder::Elsewhere(9), false);
        let other = waits(9, WaitKind::Mutex, Holder::Elsewhere(2), false);
        let cycle = Verdict::Cycle { tids: vec![2, 9], is_timed: false, behind: vec![] };
        assert_eq!(judge(std::slice::from_ref(&own), &[other], 0), [cycle]);
        let clean = [own, thread(3, State::Sleeps(0))];
        assert_eq!(judge(&clean, &[thread(9, State::Runs)], 0), []);
    }

    #[test]
    fn threads_that_were_stopped_in_their_waits_come_back_to_them() {
        let stopped = |mut thread: Thread| {
            let State::Waits(wait) = thread.state else { panic!() };
            thread.state = State::Stopped(Some(wait));
            thread
        };
        let threads = [stopped(mutex(3, 4)), stopped(mutex(4, 3))];
        let cycle = Verdict::Cycle { tids: vec![3, 4], is_timed: false, behind: vec![] };
        assert_eq!(judge(&threads, &[], 0), [cycle]);
        let unknown = waits(5, WaitKind::Lock("Rust Mutex"), Holder::NotRecorded, false);
        assert_eq!(judge(&[stopped(unknown)], &[], 0), []);
    }

    #[test]
    fn a_chain_that_ends_at_one_that_runs_is_none() {
        assert_eq!(judge(&[mutex(1, 2), mutex(2, 3), thread(3, State::Runs)], &[], 0), []);
        assert_eq!(
            judge(&[mutex(1, 2), mutex(2, 3), thread(3, State::SleepsForATime(35))], &[], 0),
            []
        );
    }

    #[test]
    fn a_wait_with_a_timeout_ends() {
        let timed = waits(1, WaitKind::Mutex, Holder::Thread(2), true);
        let verdicts = judge(&[timed, mutex(2, 1)], &[], 0);
        assert!(matches!(verdicts[..], [Verdict::Cycle { is_timed: true, .. }]), "{verdicts:?}");
        assert!(!verdicts[0].is_certain());
    }

    #[test]
    fn a_lock_of_an_ended_thread_stays_locked() {
        let left = waits(1, WaitKind::Mutex, Holder::Ended(7), false);
        let expected = Verdict::LeftLocked { tid: 1, owner: 7 };
        assert_eq!(judge(&[left, thread(2, State::Runs)], &[], 0), [expected]);
        let joins = waits(1, WaitKind::Join, Holder::Ended(7), false);
        assert_eq!(judge(&[joins, thread(2, State::Runs)], &[], 0), []);
    }

    #[test]
    fn where_all_wait_nobody_wakes() {
        let unknown = |tid| waits(tid, WaitKind::Lock("Rust Mutex"), Holder::NotRecorded, false);
        let joins = waits(1, WaitKind::Join, Holder::Thread(2), false);
        let all = vec![joins, unknown(2), unknown(3)];
        // Rust's runtime handles overflows of the stack.
        let faults = 1 << (libc::SIGSEGV - 1) | 1 << (libc::SIGBUS - 1);
        assert_eq!(judge(&all, &[], faults), [Verdict::AllWait { handlers: 0 }]);
        let term = 1 << (libc::SIGTERM - 1);
        assert_eq!(judge(&all, &[], faults | term), [Verdict::AllWait { handlers: term }]);
        for other in
            [State::Runs, State::Sleeps(0), State::SleepsForATime(35), State::Stopped(None)]
        {
            let mut all = all.clone();
            all.push(thread(4, other));
            assert_eq!(judge(&all, &[], 0), []);
        }
        assert_eq!(judge(&[], &[], 0), []);
    }

    #[test]
    fn one_that_may_be_woken_is_enough() {
        let own = || mutex(1, 1);
        assert!(wait_for_ever(&[own(), own()]));
        for state in
            [State::Runs, State::Sleeps(0), State::SleepsForATime(35), State::Stopped(None)]
        {
            assert!(!wait_for_ever(&[own(), thread(2, state)]));
        }
        let State::Waits(mut wait) = own().state else { panic!() };
        wait.is_shared = true;
        assert!(!wait_for_ever(&[own(), thread(2, State::Waits(wait))]));
        assert!(!wait_for_ever(&[]));
    }
}
