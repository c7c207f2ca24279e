//! Waits at barriers: the thread that comes last ends those of the others.

use std::collections::HashMap;

use super::slices::{HandOver, Timeline};
use crate::lockmeter::model::At;

/// Gives each wait at a barrier the thread that ended it, where that is known.
///
/// A thread meets at one barrier in one meeting after the other, and waits in a meeting while its last thread comes. When that is
/// within its call is not recorded: it may lose its processor before it comes, and others begin to wait after it. So the last
/// thread of a wait's meeting is the first whose call is under way during the wait, of the meetings that the thread that waits
/// has not been in before.
pub fn end_waits(timeline: &mut Timeline) {
    // By process, place and address: the calls of those that came last, in order.
    let mut last: HashMap<(usize, u64), Vec<Last>> = HashMap::new();
    for (number, thread) in timeline.threads.iter().enumerate() {
        for slice in thread.slices.iter().filter(|slice| slice.came_last) {
            let (begin_ns, end_ns) = (slice.begin_ns, slice.end_ns);
            let calls = last.entry((thread.process, slice.addr)).or_default();
            calls.push(Last { begin_ns, end_ns, thread: number });
        }
    }
    last.values_mut().for_each(|calls| calls.sort_unstable());
    for (number, thread) in timeline.threads.iter_mut().enumerate() {
        // By address: the first meeting that the thread has not been in.
        let mut next: HashMap<u64, usize> = HashMap::new();
        for slice in &mut thread.slices {
            let is_meeting = slice.came_last || matches!(slice.at, At::Wait(_));
            let Some(calls) =
                last.get(&(thread.process, slice.addr)).filter(|_| is_meeting && slice.addr != 0)
            else {
                continue;
            };
            let next = next.entry(slice.addr).or_default();
            let is_it = |call: &Last| match slice.came_last {
                true => call.thread == number && call.begin_ns == slice.begin_ns,
                false => {
                    let is_at_once = call.begin_ns < slice.end_ns && slice.begin_ns < call.end_ns;
                    is_at_once && call.thread != number
                }
            };
            // Those are over for all that the thread does from here on.
            *next += calls[*next..].iter().take_while(|call| call.end_ns < slice.begin_ns).count();
            let mut so_far = calls[*next..].iter().take_while(|call| call.begin_ns <= slice.end_ns);
            let Some(at) = so_far.position(is_it).map(|at| *next + at) else { continue };
            *next = at + 1;
            if !slice.came_last {
                let Last { begin_ns, thread, .. } = calls[at];
                let ended = HandOver { thread, at_ns: begin_ns.max(slice.begin_ns) };
                slice.ended_by = slice.ended_by.or(Some(ended));
            }
        }
    }
}

/// The call of a thread that came last to a meeting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Last {
    begin_ns: u64,
    end_ns: u64,
    thread: usize,
}

#[cfg(test)]
mod tests {
    use super::super::slices::{Slice, SliceKind, Thread};
    use super::*;

    fn wait(begin_ns: u64, end_ns: u64, came_last: bool) -> Slice {
        Slice {
            kind: SliceKind::Wait,
            begin_ns,
            end_ns,
            at: At::Wait(0),
            addr: 8,
            lock: None,
            holder: None,
            ended_by: None,
            gave_up: false,
            is_unfinished: false,
            is_shared: false,
            is_waited_for: false,
            came_last,
        }
    }

    /// Three threads meet twice. The second is slow to wake up and comes last to the second meeting; the first is there again before.
    #[test]
    fn a_wait_is_ended_by_the_last_of_its_own_meeting() {
        let thread = |tid, slices| Thread { process: 0, pid: 1, tid, name: None, slices };
        let threads = vec![
            thread(1, vec![wait(10, 32, false), wait(35, 61, false)]),
            thread(2, vec![wait(20, 50, false), wait(60, 61, true)]),
            thread(3, vec![wait(30, 31, true), wait(40, 62, false)]),
        ];
        let mut timeline = Timeline { threads, ..Timeline::default() };
        end_waits(&mut timeline);
        let ended = |thread: usize, slice: usize| {
            timeline.threads[thread].slices[slice].ended_by.map(|by| (by.thread, by.at_ns))
        };
        assert_eq!([ended(0, 0), ended(1, 0), ended(2, 0)], [Some((2, 30)), Some((2, 30)), None]);
        assert_eq!([ended(0, 1), ended(1, 1), ended(2, 1)], [Some((1, 60)), None, Some((1, 60))]);
    }

    /// The second thread loses its processor on its way into the second meeting, and comes last all the same; the third leaves the first
    /// meeting, to which it came last, after the first thread is back.
    #[test]
    fn who_comes_last_may_have_called_first() {
        let thread = |tid, slices| Thread { process: 0, pid: 1, tid, name: None, slices };
        let threads = vec![
            thread(1, vec![wait(10, 32, false), wait(44, 61, false)]),
            thread(2, vec![wait(20, 40, false), wait(41, 60, true)]),
            thread(3, vec![wait(30, 45, true), wait(46, 62, false)]),
        ];
        let mut timeline = Timeline { threads, ..Timeline::default() };
        end_waits(&mut timeline);
        let ended = |thread: usize, slice: usize| {
            timeline.threads[thread].slices[slice].ended_by.map(|by| (by.thread, by.at_ns))
        };
        assert_eq!([ended(0, 0), ended(1, 0), ended(2, 0)], [Some((2, 30)), Some((2, 30)), None]);
        assert_eq!([ended(0, 1), ended(1, 1), ended(2, 1)], [Some((1, 44)), None, Some((1, 46))]);
    }
}
