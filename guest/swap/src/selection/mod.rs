//! Which locks are replaced, where not all are: those that the user's patterns choose, by the name
//! of the variable that a lock lies in, the place in the program that makes or first takes it, or
//! the module of either.
//!
//! It is asked once for each lock: the lock keeps the answer in its own bytes.

mod module;
mod verdicts;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::counts::{self, Count};
use crate::environment;
pub use module::start;
use verdicts::Answer;

/// Set where there are patterns: how many choose locks (others that follow leave locks as they
/// are), a colon, and the socket where the command says which pattern fits.
const ASKED: &[u8] = b"LOCKWRIGHT_SWAP_ONLY=";

/// Whether there are patterns: [`UNKNOWN`], [`ALL`] or [`SOME`].
static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);

const UNKNOWN: u32 = 0;
const ALL: u32 = 1;
const SOME: u32 = 2;

/// Patterns, of which the first ones choose locks.
struct Patterns {
    choosing: u32,
    socket: &'static [u8],
}

/// The patterns in the environment; if there are none, all locks are replaced.
fn patterns() -> Option<Patterns> {
    let text = environment::variable(ASKED)?.to_bytes();
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (number, rest) = text.split_at(colon);
    let choosing = number.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit & 0xf));
    Some(Patterns { choosing, socket: &rest[1..] })
}

/// Whether some locks are to stay the C library's.
pub fn is_active() -> bool {
    // Relaxed: the number says all, and all who come here at once find the same.
    match STATE.load(Relaxed) {
        UNKNOWN => {
            let is_some = patterns().is_some();
            STATE.store(if is_some { SOME } else { ALL }, Relaxed);
            is_some
        }
        state => state == SOME,
    }
}

/// The patterns' verdict on a lock.
pub struct Verdict {
    /// It is replaced.
    pub is_chosen: bool,
    answer: Answer,
}

impl Verdict {
    /// Counts that it has decided on a lock. To be called once for each: of several threads that ask
    /// for the same, one decides.
    pub fn count(&self) {
        match self.answer {
            Answer::Pattern(pattern) => counts::count_pattern(pattern),
            Answer::Nothing => {}
            Answer::Nobody => counts::count(Count::Unanswered),
        }
    }
}

/// Whether the lock at `lock`, which the call that returns to `site` makes or takes first, is
/// replaced.
#[cold]
pub fn verdict(lock: usize, site: usize) -> Verdict {
    let Some(patterns) = is_active().then(patterns).flatten() else {
        return Verdict { is_chosen: true, answer: Answer::Nothing };
    };
    // The call, which may be the last instruction of its function, is before where it returns to.
    let answer = verdicts::of(patterns.socket, lock, site.wrapping_sub(1));
    let is_chosen = match answer {
        Answer::Pattern(pattern) => pattern < patterns.choosing,
        Answer::Nothing | Answer::Nobody => patterns.choosing == 0,
    };
    Verdict { is_chosen, answer }
}
