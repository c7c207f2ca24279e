//! The function that took a lock has returned with it, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::LeakedLock;

use super::Names;
use crate::prose::Sentences;

impl Sentences for LeakedLock {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        let till = if self.exits { "the process exits" } else { "its thread idles" };
        let who = function_or(self, "the function that took it");
        format!("{lock} is still held when {till}: {who} has returned without unlocking it")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![
            format!("{who} took it, and nothing has unlocked it since"),
            match self.releases_otherwise {
                true => {
                    "in other passes the same call's lock is unlocked before the function returns"
                        .into()
                }
                false => "whether the function is to return with it, this run does not show".into(),
            },
            "whoever takes it next waits for ever".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        let mut help = vec![format!(
            "unlock it on every way out of {}, those of errors included",
            function_or(self, "the function")
        )];
        if !self.releases_otherwise {
            help.push(
                "or look for who is to unlock it after the function, and was not called".into(),
            );
        }
        help
    }
}

/// The function that took it, or `unknown` if it has no name.
fn function_or(leak: &LeakedLock, unknown: &str) -> String {
    leak.function.as_ref().map_or_else(|| unknown.to_owned(), |name| format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn the_function_is_named() {
        let what =
            LeakedLock { function: Some("lookup".into()), exits: false, releases_otherwise: true };
        assert_told(
            &what.into(),
            "`a` is still held when its thread idles: `lookup` has returned without unlocking it",
            &[
                "thread 1 took it, and nothing has unlocked it since",
                "in other passes the same call's lock is unlocked before the function returns",
                "whoever takes it next waits for ever",
            ],
            &["unlock it on every way out of `lookup`, those of errors included"],
        );
    }

    #[test]
    fn a_function_may_be_meant_to_return_with_it() {
        let what = LeakedLock { function: None, exits: true, releases_otherwise: false };
        assert_told(
            &what.into(),
            "`a` is still held when the process exits: the function that took it has returned \
             without unlocking it",
            &[
                "thread 1 took it, and nothing has unlocked it since",
                "whether the function is to return with it, this run does not show",
                "whoever takes it next waits for ever",
            ],
            &[
                "unlock it on every way out of the function, those of errors included",
                "or look for who is to unlock it after the function, and was not called",
            ],
        );
    }
}
