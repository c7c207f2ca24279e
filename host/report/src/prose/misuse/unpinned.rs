//! A pinned lock is unlocked, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::Unpinned;

use super::Names;
use crate::prose::Sentences;

impl Sentences for Unpinned {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is unlocked while it is pinned")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![format!("{who} pinned it and has not unpinned it")]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec!["unpin first: whoever pinned it relies on the lock staying held".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn who_pinned_it_is_named() {
        assert_told(
            &Unpinned.into(),
            "`a` is unlocked while it is pinned",
            &["thread 1 pinned it and has not unpinned it"],
            &["unpin first: whoever pinned it relies on the lock staying held"],
        );
    }
}
