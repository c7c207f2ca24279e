//! A destroyed lock is used, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::UseAfterDestroy;

use super::Names;
use crate::prose::Sentences;

impl Sentences for UseAfterDestroy {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is used after it was destroyed")
    }

    fn evidence(&self, _: &Finding) -> Vec<String> {
        vec![
            match &self.by {
                Some(by) => {
                    format!("{by} destroyed it, and nothing initialised it again in between")
                }
                None => "nothing initialised it again in between".into(),
            },
            "what the use of a destroyed lock does is undefined".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec!["destroy it after its last use, or initialise it again before the next".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn who_destroyed_it_is_named() {
        assert_told(
            &UseAfterDestroy { by: Some(thread(2)) }.into(),
            "`a` is used after it was destroyed",
            &[
                "thread 2 destroyed it, and nothing initialised it again in between",
                "what the use of a destroyed lock does is undefined",
            ],
            &["destroy it after its last use, or initialise it again before the next"],
        );
    }
}
