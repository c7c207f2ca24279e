//! A lock for which one sleeps is taken inside spinning ones, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::InvalidWaitContext;

use super::Names;
use crate::prose::Sentences;

impl Sentences for InvalidWaitContext {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, others, .. } = Names::of(finding);
        format!("{lock}, for which one sleeps, is taken inside {others}")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, others, who, .. } = Names::of(finding);
        vec![
            format!("{who} may sleep for {lock} with {others} locked"),
            "any thread that wants it spins until the sleeper wakes".into(),
        ]
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, others, .. } = Names::of(finding);
        vec![format!("take {lock} before {others}, or make that a lock that sleeps, too")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn the_spinning_lock_is_named() {
        assert_told(
            &InvalidWaitContext.into(),
            "`a`, for which one sleeps, is taken inside `b`",
            &[
                "thread 1 may sleep for `a` with `b` locked",
                "any thread that wants it spins until the sleeper wakes",
            ],
            &["take `a` before `b`, or make that a lock that sleeps, too"],
        );
    }
}
