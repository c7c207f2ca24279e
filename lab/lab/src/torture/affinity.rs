//! Which CPUs the threads under torture may use. A program can take no CPU off line; it can keep
//! all of its threads off one, which is what the threads notice of it.

use super::random::Random;
use super::signals::Targets;
use crate::cpus;

/// The CPUs of the threads.
pub(super) struct Cpus {
    all: Vec<usize>,
    /// Left idle by shuffling: the index among `all`.
    idle: Option<usize>,
    /// Off line: likewise.
    off: Option<usize>,
    /// Times that the threads were moved.
    pub moves: u64,
}

impl Cpus {
    /// Those that the calling thread may use.
    pub fn new() -> Self {
        Self { all: cpus::allowed(), idle: None, off: None, moves: 0 }
    }

    /// Leaves the next CPU idle.
    pub fn shuffle(&mut self, targets: &Targets) {
        self.idle = Some(self.idle.map_or(0, |idle| idle + 1) % self.all.len().max(1));
        self.apply(targets);
    }

    /// Takes a random CPU off line, or the one that is off line back.
    pub fn turn(&mut self, random: &mut Random, targets: &Targets) {
        self.off = match self.off {
            Some(_) => None,
            None => Some(random.below(self.all.len().max(1) as u64) as usize),
        };
        self.apply(targets);
    }

    /// The CPUs to be used: one at least.
    fn wanted(&self) -> Vec<usize> {
        let left_out = [self.idle, self.off];
        let (used, rest): (Vec<_>, Vec<_>) =
            (0..self.all.len()).partition(|index| !left_out.contains(&Some(*index)));
        let indices = if used.is_empty() { rest } else { used };
        indices.into_iter().map(|index| self.all[index]).collect()
    }

    fn apply(&mut self, targets: &Targets) {
        if self.all.len() < 2 {
            return;
        }
        let set = cpus::set_of(self.wanted());
        targets.each(|thread| {
            // SAFETY: a thread that has not ended, and a set.
            unsafe { libc::pthread_setaffinity_np(thread, size_of_val(&set), &raw const set) };
        });
        self.moves += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_left_at_least() {
        let targets = Targets::default();
        let mut cpus = Cpus { all: vec![4, 5], idle: None, off: None, moves: 0 };
        assert_eq!(cpus.wanted(), [4, 5]);
        cpus.shuffle(&targets);
        assert_eq!(cpus.wanted(), [5]);
        cpus.off = Some(1);
        assert_eq!(cpus.wanted(), [4, 5], "all, rather than none");
        cpus.shuffle(&targets);
        assert_eq!(cpus.wanted(), [4]);
        cpus.turn(&mut Random::new(1), &targets);
        assert_eq!((cpus.off, cpus.moves), (None, 3));
    }
}
