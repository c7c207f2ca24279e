//! Where threads are held up.

use crate::rng::Rng;
use crate::time::Time;

/// Where threads are held up, as if preempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delays {
    /// Nowhere but by the scheduler.
    None,
    /// Before one in so many operations, for up to so long.
    Random {
        /// One in so many.
        one_in: u64,
        /// The most, in picoseconds.
        most: Time,
    },
    /// Before the operations of these numbers, for so long.
    At(Vec<(u64, Time)>),
}

impl Delays {
    /// For how long the operation of this number is held up.
    pub(crate) fn of(&self, step: u64, rng: &mut Rng) -> Time {
        match self {
            Self::None => 0,
            Self::Random { one_in, most } => {
                if rng.one_in(*one_in) {
                    rng.below(*most)
                } else {
                    0
                }
            }
            Self::At(delays) => {
                delays.iter().find(|(at, _)| *at == step).map_or(0, |(_, time)| *time)
            }
        }
    }
}
