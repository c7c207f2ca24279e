//! How much locks were waited for lately. It stays small, however long the program runs.

use std::collections::{HashMap, VecDeque};

use lockwright_report::live::Moment;

/// Moments kept.
const MOST_MOMENTS: usize = 120;

/// Locks kept: the ones waited for most.
const MOST_LOCKS: usize = 512;

/// Threads that waited, by lock and moment.
#[derive(Debug, Default)]
pub struct History(HashMap<String, VecDeque<f64>>);

impl History {
    /// Adds the rates of a moment.
    pub fn add(&mut self, moment: &Moment) {
        if moment.interval_ns == 0 {
            return;
        }
        // Locks come in the order of how long they were waited for.
        let locks = &moment.locks[..moment.locks.len().min(MOST_LOCKS)];
        let mut now: HashMap<&str, f64> = locks
            .iter()
            .map(|lock| (lock.id.as_str(), lock.rates.map_or(0.0, |rates| rates.waiting)))
            .collect();
        self.0.retain(|id, _| now.contains_key(id.as_str()));
        for (id, trend) in &mut self.0 {
            trend.push_back(now.remove(id.as_str()).unwrap_or(0.0));
            if trend.len() > MOST_MOMENTS {
                trend.pop_front();
            }
        }
        self.0.extend(now.into_iter().map(|(id, waiting)| (id.to_owned(), [waiting].into())));
    }

    /// Those of a lock, the oldest first.
    pub fn of(&self, lock: &str) -> impl DoubleEndedIterator<Item = f64> {
        self.0.get(lock).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_report::live::{Lock, Rates};

    fn moment(ids: &[usize], waiting: f64) -> Moment {
        let rates = Some(Rates { waiting, ..Rates::default() });
        let lock = |id: &usize| Lock { id: id.to_string(), rates, ..Lock::default() };
        Moment { interval_ns: 1, locks: ids.iter().map(lock).collect(), ..Moment::default() }
    }

    #[test]
    fn it_stays_small() {
        let mut history = History::default();
        let many: Vec<usize> = (0..2000).collect();
        for _ in 0..300 {
            history.add(&moment(&many, 1.0));
        }
        assert_eq!(history.0.len(), MOST_LOCKS);
        assert!(history.0.values().all(|trend| trend.len() == MOST_MOMENTS));
        history.add(&moment(&[7], 2.0));
        assert_eq!(history.0.len(), 1, "locks that are gone are forgotten");
        assert_eq!(history.of("7").next_back(), Some(2.0));
        assert_eq!(history.of("8").count(), 0);
    }
}
