//! The waiters on a word: queues by address, first come, first served.

use std::collections::BTreeMap;

/// A task that waits for one of these bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiter {
    task: usize,
    bits: u32,
}

/// All queues.
#[derive(Debug, Default)]
pub struct Futexes(BTreeMap<usize, Vec<Waiter>>);

impl Futexes {
    /// A task waits.
    pub fn push(&mut self, address: usize, task: usize, bits: u32) {
        self.0.entry(address).or_default().push(Waiter { task, bits });
    }

    /// It waits no more.
    pub fn remove(&mut self, address: usize, task: usize) {
        self.retain(address, |waiter| waiter.task != task);
    }

    /// At most `count` of those who wait for one of the bits, who wait no more.
    pub fn take(&mut self, address: usize, count: u32, bits: u32) -> Vec<usize> {
        let mut taken = Vec::new();
        self.retain(address, |waiter| {
            let stays = taken.len() == count as usize || waiter.bits & bits == 0;
            if !stays {
                taken.push(waiter.task);
            }
            stays
        });
        taken
    }

    fn retain(&mut self, address: usize, stays: impl FnMut(&Waiter) -> bool) {
        if let Some(queue) = self.0.get_mut(&address) {
            queue.retain(stays);
            if queue.is_empty() {
                self.0.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_those_who_wait_for_the_bits() {
        let mut futexes = Futexes::default();
        for (task, bits) in [(7, 1), (3, 2), (5, 3)] {
            futexes.push(64, task, bits);
        }
        assert!(futexes.take(128, 9, u32::MAX).is_empty());
        assert_eq!(futexes.take(64, 1, 2), [3]);
        futexes.remove(64, 7);
        assert_eq!(futexes.take(64, 9, u32::MAX), [5]);
        assert!(futexes.0.is_empty());
    }
}
