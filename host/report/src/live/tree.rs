//! The graph of waits as a tree: a thread that others wait for is above them. Threads that wait for each other are a
//! deadlock; each is shown once.

use std::collections::{HashMap, HashSet};

use super::moment::{Moment, Thread};

/// A line of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch<'m> {
    /// The thread.
    pub thread: &'m Thread,
    /// How many threads are above it.
    pub depth: usize,
    /// It closes a circle: the thread above which it stands waits for it.
    pub closes: Option<u32>,
    /// No other line of its depth follows below the same thread.
    pub is_last: bool,
}

/// All threads that wait for a thread or are waited for, those in a deadlock first.
pub fn tree(moment: &Moment) -> Vec<Branch<'_>> {
    let by_tid: HashMap<u32, &Thread> = moment.threads.iter().map(|it| (it.tid, it)).collect();
    // By thread: those that wait for it, in order.
    let mut behind: HashMap<u32, Vec<&Thread>> = HashMap::new();
    for thread in &moment.threads {
        for &holder in thread.wait.iter().flat_map(|wait| &wait.holders) {
            if by_tid.contains_key(&holder) {
                behind.entry(holder).or_default().push(thread);
            }
        }
    }
    let mut walk = Walk { behind: &behind, shown: HashSet::new(), lines: Vec::new() };
    let waits_for_known = |thread: &Thread| {
        let holders = thread.wait.iter().flat_map(|wait| &wait.holders);
        holders.clone().any(|holder| by_tid.contains_key(holder))
    };
    // A circle has no first thread.
    let in_circles = moment.threads.iter().filter(|thread| leads_to_itself(thread, &by_tid));
    in_circles.for_each(|thread| walk.from(thread, 0, true));
    let firsts =
        moment.threads.iter().filter(|it| behind.contains_key(&it.tid) && !waits_for_known(it));
    firsts.for_each(|thread| walk.from(thread, 0, true));
    let has_wait = |thread: &&Thread| thread.wait.as_ref().is_some_and(|wait| wait.is_for_thread);
    moment.threads.iter().filter(has_wait).for_each(|thread| walk.from(thread, 0, true));
    walk.lines
}

/// Its wait is, in the end, for itself: by the first holder of each.
fn leads_to_itself(thread: &Thread, by_tid: &HashMap<u32, &Thread>) -> bool {
    let next = |thread: &Thread| {
        let holders = &thread.wait.as_ref()?.holders;
        holders.first().and_then(|tid| by_tid.get(tid)).copied()
    };
    let mut at = thread;
    for _ in 0..by_tid.len() {
        let Some(after) = next(at) else { return false };
        if after.tid == thread.tid {
            return true;
        }
        at = after;
    }
    false
}

struct Walk<'w, 'm> {
    behind: &'w HashMap<u32, Vec<&'m Thread>>,
    shown: HashSet<u32>,
    lines: Vec<Branch<'m>>,
}

impl<'m> Walk<'_, 'm> {
    /// The thread and all behind it; depth first, without recursion, as a queue for a lock may be long.
    fn from(&mut self, thread: &'m Thread, depth: usize, is_last: bool) {
        let mut open = vec![Branch { thread, depth, closes: None, is_last }];
        while let Some(mut branch) = open.pop() {
            let Branch { thread, depth, .. } = branch;
            if !self.shown.insert(thread.tid) {
                // Where it is behind a thread of its own circle, that is the point of it.
                branch.closes =
                    (depth > 0 && self.is_above(thread.tid, depth)).then_some(thread.tid);
                if branch.closes.is_some() {
                    self.lines.push(branch);
                }
                continue;
            }
            self.lines.push(branch);
            let behind = self.behind.get(&thread.tid).map_or(&[][..], Vec::as_slice);
            for (at, &thread) in behind.iter().enumerate().rev() {
                let is_last = at + 1 == behind.len();
                open.push(Branch { thread, depth: depth + 1, closes: None, is_last });
            }
        }
    }

    /// The thread is one of those above the line that comes next, at this depth.
    fn is_above(&self, tid: u32, depth: usize) -> bool {
        let mut wanted = depth;
        for line in self.lines.iter().rev() {
            if line.depth < wanted {
                if line.thread.tid == tid {
                    return true;
                }
                wanted = line.depth;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::moment::Wait;
    use super::*;

    fn thread(tid: u32, holders: &[u32]) -> Thread {
        let wait = Wait { is_for_thread: true, holders: holders.to_vec(), ..Wait::default() };
        Thread { tid, wait: (!holders.is_empty()).then_some(wait), ..Thread::default() }
    }

    fn lines(threads: Vec<Thread>) -> Vec<(u32, usize, bool)> {
        let moment = Moment { threads, ..Moment::default() };
        tree(&moment).iter().map(|it| (it.thread.tid, it.depth, it.closes.is_some())).collect()
    }

    #[test]
    fn waiters_are_below_holders() {
        let threads = vec![thread(1, &[2]), thread(2, &[]), thread(3, &[1]), thread(4, &[])];
        assert_eq!(lines(threads), [(2, 0, false), (1, 1, false), (3, 2, false)]);
    }

    #[test]
    fn a_circle_is_shown_once_and_closed() {
        let threads = vec![thread(5, &[]), thread(1, &[2]), thread(2, &[1]), thread(3, &[1])];
        let shown = lines(threads);
        assert_eq!(shown, [(1, 0, false), (2, 1, false), (1, 2, true), (3, 1, false)]);
        assert_eq!(lines(vec![thread(1, &[1])]), [(1, 0, false), (1, 1, true)]);
    }

    #[test]
    fn a_wait_for_nobody_that_is_known_is_a_line() {
        let mut lone = thread(1, &[77]);
        assert_eq!(lines(vec![lone.clone()]), [(1, 0, false)]);
        lone.wait.as_mut().unwrap().holders.clear();
        assert_eq!(lines(vec![lone]), [(1, 0, false)]);
    }

    #[test]
    fn several_readers_are_each_above_the_writer_that_is_shown_once() {
        let threads = vec![thread(1, &[]), thread(2, &[]), thread(3, &[1, 2])];
        assert_eq!(lines(threads), [(1, 0, false), (3, 1, false), (2, 0, false)]);
    }
}
