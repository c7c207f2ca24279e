//! An assertion about holding a lock fails, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::LockNotHeld;

use super::Names;
use crate::prose::Sentences;

impl Sentences for LockNotHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        match self.held {
            true => format!("{lock} is held where the program asserts that it is not"),
            false => format!("{lock} is not held where the program asserts that it is"),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![match self.held {
            true => format!("{who} holds it here"),
            false => format!("{who} does not hold it here"),
        }]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec![match self.held {
            true => "release it on the way here, or correct the assertion".into(),
            false => "take it on the way here, or correct the assertion".into(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn both_assertions_have_words() {
        assert_told(
            &LockNotHeld { held: false }.into(),
            "`a` is not held where the program asserts that it is",
            &["thread 1 does not hold it here"],
            &["take it on the way here, or correct the assertion"],
        );
        assert_told(
            &LockNotHeld { held: true }.into(),
            "`a` is held where the program asserts that it is not",
            &["thread 1 holds it here"],
            &["release it on the way here, or correct the assertion"],
        );
    }
}
