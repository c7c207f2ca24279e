//! Waits at barriers: the thread that comes last ends those of the others.

use std::collections::HashMap;

use super::slices::{HandOver, Timeline};
use crate::lockmeter::model::At;

/// Gives each wait at a barrier the thread that ended it, where that is known: the first that came last after the wait began and
/// before it ended. Those of the meeting before came last before it began.
pub fn end_waits(timeline: &mut Timeline) {
    // By process, place and address: when a thread came last, and which.
    let mut last: HashMap<(usize, u64), Vec<(u64, usize)>> = HashMap::new();
    for (number, thread) in timeline.threads.iter().enumerate() {
        for slice in thread.slices.iter().filter(|slice| slice.came_last) {
            let times = last.entry((thread.process, slice.addr)).or_default();
            times.push((slice.begin_ns, number));
        }
    }
    last.values_mut().for_each(|times| times.sort_unstable());
    for (number, thread) in timeline.threads.iter_mut().enumerate() {
        for slice in &mut thread.slices {
            let is_wait = matches!(slice.at, At::Wait(_)) && !slice.came_last;
            let Some(times) =
                last.get(&(thread.process, slice.addr)).filter(|_| is_wait && slice.addr != 0)
            else {
                continue;
            };
            let after = times.partition_point(|&(at, _)| at < slice.begin_ns);
            let ended = times.get(after).filter(|&&(at, by)| at < slice.end_ns && by != number);
            slice.ended_by =
                slice.ended_by.or(ended.map(|&(at_ns, thread)| HandOver { thread, at_ns }));
        }
    }
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
}
