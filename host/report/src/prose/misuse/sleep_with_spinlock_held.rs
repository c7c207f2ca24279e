//! A thread may sleep with a spinning lock held, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::{InvalidWaitContext, SleepWithSpinlockHeld};

use super::Names;
use crate::prose::Sentences;

impl Sentences for SleepWithSpinlockHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        match self {
            Self::InCall { call } => {
                format!("{}, which may sleep, is called with spinlock {lock} held", name(*call))
            }
            Self::ForLock => InvalidWaitContext.title(finding),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, who, .. } = Names::of(finding);
        match self {
            Self::InCall { call } => vec![
                format!("{who} may sleep in {} with {lock} locked", name(*call)),
                "any thread that wants it spins until the sleeper wakes".into(),
            ],
            Self::ForLock => InvalidWaitContext.evidence(finding),
        }
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, .. } = Names::of(finding);
        match self {
            Self::InCall { call } => vec![format!(
                "release {lock} before {}, or make it a lock for which one sleeps",
                name(*call)
            )],
            Self::ForLock => InvalidWaitContext.help(finding),
        }
    }
}

fn name(call: Option<&str>) -> String {
    call.map_or_else(|| "a call".to_owned(), |call| format!("`{call}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn the_call_is_named() {
        assert_told(
            &SleepWithSpinlockHeld::InCall { call: Some("usleep") }.into(),
            "`usleep`, which may sleep, is called with spinlock `a` held",
            &[
                "thread 1 may sleep in `usleep` with `a` locked",
                "any thread that wants it spins until the sleeper wakes",
            ],
            &["release `a` before `usleep`, or make it a lock for which one sleeps"],
        );
    }
}
