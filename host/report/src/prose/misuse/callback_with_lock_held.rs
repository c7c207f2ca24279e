//! A library calls its user back with its own lock held, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::{CallbackWithLockHeld, Calls};

use super::Names;
use crate::prose::Sentences;
use crate::prose::words::{base_name, quote};

/// A library that calls back: its name, and the names of its callback and of the function that
/// takes the lock.
struct Library {
    name: String,
    callback: String,
    entry: String,
}

impl Library {
    fn of(what: &CallbackWithLockHeld) -> Self {
        let user = base_name(&what.user);
        Self {
            name: base_name(&what.library).to_owned(),
            callback: what.callback.as_ref().map_or_else(|| format!("a function of {user}"), quote),
            entry: what.entry.as_ref().map_or_else(|| "a function of it".to_owned(), quote),
        }
    }
}

impl Sentences for CallbackWithLockHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        let Library { name: library, callback, .. } = Library::of(self);
        format!("{lock} is held while {library} calls back {callback}")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        let Library { name: library, callback, entry } = Library::of(self);
        let caller = finding.steps.get(1).map_or_else(String::new, |step| step.thread.to_string());
        let takes = if self.is_by_class { "it, or another of its class" } else { "it" };
        let mut evidence = vec![match &self.within {
            Some(within) => format!("{who} takes {} in {callback} meanwhile", quote(within)),
            None => format!("{who} waits in {callback} meanwhile"),
        }];
        evidence.extend(match self.calls {
            Calls::Alike => [
                format!(
                    "at other times {callback}, in {caller}, calls {entry}, which takes {takes}"
                ),
                "where it makes that call while it is called back, its thread waits for itself"
                    .into(),
            ],
            Calls::Elsewhere => [
                format!(
                    "{callback} calls {entry}, which takes {takes}, only in {caller} and its like"
                ),
                "where it makes that call while it is called back, its thread waits for itself"
                    .into(),
            ],
            Calls::Unseen => [
                format!(
                    "{entry} of {library}, called from the same module as {callback}, takes {takes}"
                ),
                format!(
                    "if {callback} calls that, its thread waits for itself; in this run it did not"
                ),
            ],
        });
        evidence
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, .. } = Names::of(finding);
        let Library { name: library, callback, entry } = Library::of(self);
        match self.calls {
            Calls::Alike => vec![
                format!("let {library} release {lock} before it calls back"),
                format!(
                    "or call {entry} when {callback} has returned: from another thread, or later"
                ),
            ],
            _ => vec![format!("harmless while {callback} calls nothing that takes {lock}")],
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::Name;

    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn a_callback_that_was_not_seen_to_call_is_harmless_so_far() {
        let what = CallbackWithLockHeld {
            library: "/usr/lib/libevents.so.1".into(),
            callback: Some(Name::symbol("on_event")),
            user: "/usr/bin/server".into(),
            within: Some(Name::symbol("queue")),
            entry: Some(Name::symbol("event_add")),
            calls: Calls::Unseen,
            is_by_class: false,
        };
        assert_told(
            &what.into(),
            "`a` is held while libevents.so.1 calls back `on_event`",
            &[
                "thread 1 takes `queue` in `on_event` meanwhile",
                "`event_add` of libevents.so.1, called from the same module as `on_event`, takes it",
                "if `on_event` calls that, its thread waits for itself; in this run it did not",
            ],
            &["harmless while `on_event` calls nothing that takes `a`"],
        );
    }
}
