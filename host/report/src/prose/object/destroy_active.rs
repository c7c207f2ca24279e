//! An object that is in use is destroyed, in words.

use super::case::Case;
use super::kind::Kind;

/// It is destroyed while it is in use.
pub struct DestroyActive;

impl Kind for DestroyActive {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is {} while it is {}", words.destroy.then, words.in_use)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![case.in_use()]
    }

    fn undefined(&self) -> &'static str {
        "what the end of an object in use does is undefined"
    }

    fn help(&self, Case { words, .. }: &Case<'_>) -> Vec<String> {
        vec![format!("{} before it is {}", words.idle, words.destroy.then)]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn its_user_is_to_end_first() {
        assert_told(
            fault(object_type::COND, object_fault::DESTROY_ACTIVE, object_op::DESTROY),
            "`a` is destroyed while it is waited on",
            &[
                "thread 2 waits on it at that moment",
                "what the end of an object in use does is undefined",
            ],
            &["wake its waiters and join their threads before it is destroyed"],
        );
    }
}
