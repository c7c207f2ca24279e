//! The tasks that wait for a CPU. The next one is that of the least virtual run time, as in CFS.

use crate::time::Time;

/// The queue of a CPU.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    /// Tasks and their virtual run times.
    waiting: Vec<(Time, usize)>,
    /// Below which nobody of the queue has come.
    least: Time,
}

impl RunQueue {
    /// How many wait.
    pub const fn len(&self) -> usize {
        self.waiting.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The least virtual run time there was.
    pub const fn least(&self) -> Time {
        self.least
    }

    /// The virtual run time of the next task.
    pub fn next_run_time(&self) -> Option<Time> {
        self.waiting.iter().min().map(|(run_time, _)| *run_time)
    }

    /// Lets a task wait.
    pub fn push(&mut self, run_time: Time, task: usize) {
        self.waiting.push((run_time, task));
    }

    /// Removes the next task.
    pub fn pop(&mut self) -> Option<(Time, usize)> {
        let next = self.waiting.iter().min().copied()?;
        self.waiting.retain(|other| *other != next);
        self.note(next.0);
        Some(next)
    }

    /// Removes the last task, for another CPU.
    pub fn pop_last(&mut self) -> Option<(Time, usize)> {
        let last = self.waiting.iter().max().copied()?;
        self.waiting.retain(|other| *other != last);
        Some(last)
    }

    /// Notes the virtual run time of the task that runs here.
    pub fn note(&mut self, run_time: Time) {
        self.least = self.least.max(run_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_run_time_is_next_and_ties_go_by_number() {
        let mut queue = RunQueue::default();
        for (run_time, task) in [(5, 1), (3, 9), (3, 2)] {
            queue.push(run_time, task);
        }
        assert_eq!(queue.pop_last(), Some((5, 1)));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some((3, 2)), Some((3, 9)), None));
        assert_eq!(queue.least(), 3);
    }
}
