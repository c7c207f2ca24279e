//! An object that is in use is initialised, in words.

use super::case::Case;
use super::kind::Kind;

/// It is initialised again while it is in use.
pub struct InitActive;

impl Kind for InitActive {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is {} again while it is {}", words.init.then, words.in_use)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![case.in_use(), "what its user relies on is overwritten".into()]
    }

    fn help(&self, Case { words, .. }: &Case<'_>) -> Vec<String> {
        let (idle, destroyed) = (words.idle, words.destroy.then);
        vec![format!("{idle}, and have it {destroyed}, before it is initialised again")]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn its_user_is_named() {
        assert_told(
            fault(object_type::COND, object_fault::INIT_ACTIVE, object_op::INIT),
            "`a` is initialised again while it is waited on",
            &["thread 2 waits on it at that moment", "what its user relies on is overwritten"],
            &[
                "wake its waiters and join their threads, and have it destroyed, before it is initialised again",
            ],
        );
    }
}
