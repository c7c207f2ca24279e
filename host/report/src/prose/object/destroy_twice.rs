//! An object is destroyed twice, in words.

use super::case::Case;
use super::kind::Kind;

/// It is destroyed a second time.
pub struct DestroyTwice;

impl Kind for DestroyTwice {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is {} twice", words.destroy.then)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![format!("{} before", case.ended())]
    }

    fn undefined(&self) -> &'static str {
        "what doing that again does is undefined"
    }

    fn help(&self, _: &Case<'_>) -> Vec<String> {
        vec!["look for the second of two paths that clean up, and let one do it".into()]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn who_did_it_before_is_named() {
        assert_told(
            fault(object_type::BARRIER, object_fault::DESTROY_TWICE, object_op::DESTROY),
            "`a` is destroyed twice",
            &["thread 1 destroyed it before", "what doing that again does is undefined"],
            &["look for the second of two paths that clean up, and let one do it"],
        );
    }
}
