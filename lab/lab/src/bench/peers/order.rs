//! In what order runs are made: at random, so that neither what changes with time nor who came
//! before says anything of a lock.

use std::time::{Duration, Instant};

/// Told what is being done.
pub type Progress<'p> = &'p mut dyn FnMut(&str);

/// Calls `run` with each cell and each of its locks (an index of `entrants`), once a round. All
/// locks of a cell follow each other in a round, as these are compared.
///
/// # Errors
/// The first of `run`'s.
pub fn at_random<E>(
    entrants: &[Vec<usize>],
    rounds: usize,
    seed: u64,
    mut run: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..rounds {
        let mut cells: Vec<_> = (0..entrants.len()).collect();
        random.shuffle(&mut cells);
        for cell in cells {
            let mut locks = entrants[cell].clone();
            random.shuffle(&mut locks);
            locks.into_iter().try_for_each(|lock| run(cell, lock))?;
        }
    }
    Ok(())
}

/// So many of these, chosen at random, in their order; none: all.
pub fn some<T>(all: Vec<T>, number: Option<usize>, seed: u64) -> Vec<T> {
    let Some(number) = number else { return all };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut places: Vec<_> = (0..all.len()).collect();
    random.shuffle(&mut places);
    places.truncate(number);
    let chosen = |(place, _): &(usize, T)| places.contains(place);
    all.into_iter().enumerate().filter(chosen).map(|(_, one)| one).collect()
}

/// How far it is, and how long it will still take.
pub struct Remaining {
    begun: Instant,
    done: usize,
    all: usize,
}

impl Remaining {
    /// The progress of so many runs.
    pub fn of(all: usize) -> Self {
        Self { begun: Instant::now(), done: 0, all }
    }

    /// One more is done.
    pub fn step(&mut self) {
        self.done += 1;
    }

    /// In words; each run takes `interval` as long as none is done.
    pub fn tell(&self, interval: Duration) -> String {
        let each = match self.done {
            0 => interval,
            done => self.begun.elapsed() / done as u32,
        };
        let left = each.as_secs_f64() * (self.all - self.done) as f64;
        format!("run {} of {}, {}", self.done + 1, self.all, about(left))
    }
}

/// A time still to wait.
fn about(seconds: f64) -> String {
    match seconds / 60.0 {
        minutes if minutes < 1.5 => format!("{seconds:.0} s left"),
        minutes if minutes < 90.0 => format!("{minutes:.0} min left"),
        minutes => format!("{:.1} h left", minutes / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        let note = |cell, lock| {
            order.push((cell, lock));
            Ok::<(), ()>(())
        };
        at_random(&[vec![0, 1, 2, 3], vec![1, 3]], 5, seed, note).unwrap();
        order
    }

    #[test]
    fn each_lock_of_each_cell_runs_once_a_round_and_beside_the_others() {
        for round in order(1).chunks(6) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 3)]);
            assert_eq!(round.chunk_by(|a, b| a.0 == b.0).count(), 2);
        }
    }

    #[test]
    fn some_of_all_are_in_order_and_others_for_another_seed() {
        let all = || (0..1000).collect::<Vec<_>>();
        let chosen = some(all(), Some(40), 1);
        assert!(chosen.len() == 40 && chosen.is_sorted() && chosen == some(all(), Some(40), 1));
        assert_ne!(chosen, some(all(), Some(40), 2));
        assert_eq!((some(all(), None, 1), some(all(), Some(1001), 1)), (all(), all()));
    }

    #[test]
    fn a_seed_gives_one_order_and_another_another() {
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn the_time_left_is_told_in_what_suits_it() {
        assert_eq!(about(59.6), "60 s left");
        assert_eq!(about(600.0), "10 min left");
        assert_eq!(about(3.0 * 3600.0), "3.0 h left");
        let text = Remaining::of(10).tell(Duration::from_secs(1));
        assert_eq!(text, "run 1 of 10, 10 s left");
    }
}
