//! What is asked of the model, and what it answers.

use crate::lockmeter::model::At;

/// What would be changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remedy {
    /// A place sleeps after it has released the lock.
    SleepOutside {
        /// Index into [`crate::lockmeter::model::Lock::sites`].
        site: usize,
        /// What it sleeps at.
        at: At,
    },
    /// A place holds the lock for a part of the time, and does the rest of the work without it.
    Shorter {
        /// Index into [`crate::lockmeter::model::Lock::sites`].
        site: usize,
        /// That part.
        part: f64,
    },
    /// There are so many locks instead of one, and each is used as often.
    Divided {
        /// How many.
        into: usize,
    },
}

/// A predicted change: 0.2 stands for 20 % more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The likeliest.
    pub likely: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// What a remedy would bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The change of the mean wait for an acquisition.
    pub waits: Change,
    /// The change of the acquisitions a second; `None` if it depends on what other threads do.
    pub throughput: Option<Change>,
    /// The waits of the model, in those that were measured.
    pub simulated_waits: f64,
}
