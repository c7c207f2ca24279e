//! Real-time priorities for a while: a thread that has one keeps all others off its CPU, also the
//! one that holds what it waits for.

use super::random::Random;

/// The lowest of the real-time priorities.
const PRIORITY: libc::c_int = 1;

/// Whether the calling thread has one.
#[derive(Default)]
pub(super) struct Boost {
    boosted: bool,
}

/// What has become of an attempt.
pub(super) enum Outcome {
    Boosted,
    /// The system does not allow it.
    Refused,
    /// None was made, or the priority was given back.
    Nothing,
}

impl Boost {
    /// Once in so many calls gets a real-time priority, or gives it back.
    pub fn now_and_then(&mut self, random: &mut Random, once_in: u64) -> Outcome {
        if !random.once_in(once_in.max(1)) {
            return Outcome::Nothing;
        }
        let (policy, sched_priority) =
            if self.boosted { (libc::SCHED_OTHER, 0) } else { (libc::SCHED_FIFO, PRIORITY) };
        let parameters = libc::sched_param { sched_priority };
        // SAFETY: the calling thread, a policy and a priority of it.
        let refused = unsafe {
            libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) != 0
        };
        if refused {
            return Outcome::Refused;
        }
        self.boosted = !self.boosted;
        if self.boosted { Outcome::Boosted } else { Outcome::Nothing }
    }
}
