//! Candidates among held locks (see [`Trial`]): the entry is marked, and the release then goes the
//! slow way, past the host.

use lockwright_ledger::rows::Held;

use super::entry::{ON_TRIAL, is_last_release, mark};
use super::state::ThreadState;
use crate::held::update;
use crate::trial::Trial;

impl ThreadState {
    /// Makes the lock of the reserved entry a candidate.
    pub fn put_on_trial(&mut self, trial: Trial) {
        let put = |held: &mut Held| {
            held.trial = [trial.address, trial.frame];
            mark(held, ON_TRIAL);
        };
        // SAFETY: the top is the reserved entry.
        unsafe { update(self.top(), put) };
        self.row.last_trial = u64::from(self.depth());
    }

    /// The trial of the held lock `addr`, if it is about to be released for good.
    pub fn trial_of(&self, addr: u64) -> Option<Trial> {
        let held = self.held_of(addr)?;
        trial(&held).filter(|_| is_last_release(&held))
    }

    /// Trials of all held locks. An address is tried a few times only: a thread that holds
    /// thousands of locks has few candidates, among the outermost.
    pub fn trials(&mut self) -> impl Iterator<Item = Trial> {
        let last = self.row.last_trial.min(u64::from(self.depth()));
        self.row.last_trial = last;
        let held = self.held().take(last as usize).filter(|held| held.addr != 0);
        held.filter_map(|held| trial(&held))
    }
}

fn trial(held: &Held) -> Option<Trial> {
    let [address, frame] = held.trial;
    (held.flags & ON_TRIAL != 0).then_some(Trial { address, frame })
}
