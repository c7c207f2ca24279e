//! An object that was destroyed is used, in words.

use lockwright_ledger::rows::object::object_type;

use super::case::Case;
use super::kind::Kind;

/// It is used after it was destroyed.
pub struct UseAfterDestroy;

impl Kind for UseAfterDestroy {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is used after it was {}", words.destroy.then)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        let made = case.words.init.then;
        vec![format!("{}, and nothing {made} it again in between", case.ended())]
    }

    fn undefined(&self) -> &'static str {
        UNDEFINED
    }

    fn help(&self, case: &Case<'_>) -> Vec<String> {
        let help = match case.words.builtin {
            object_type::TIMER => "delete it after its last use, and forget its id then",
            _ => "destroy it after its last use, or initialise it again before the next",
        };
        vec![help.into()]
    }
}

/// It is initialised after it was destroyed, which the rules of its type forbid.
pub struct BeginsAgain;

impl Kind for BeginsAgain {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is {} again after it was {}", words.init.then, words.destroy.then)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![format!("{}, and nothing freed it in between", case.ended())]
    }

    fn undefined(&self) -> &'static str {
        UNDEFINED
    }

    fn help(&self, _: &Case<'_>) -> Vec<String> {
        vec!["free it first, or let the rules of its type allow a new life (reinit)".into()]
    }
}

const UNDEFINED: &str = "what its use after that does is undefined";

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn a_new_life_has_another_remedy_than_a_use() {
        assert_told(
            fault(object_type::TIMER, object_fault::USE_AFTER_DESTROY, object_op::ASSERT_INIT),
            "`a` is used after it was deleted",
            &[
                "thread 1 deleted it, and nothing created it again in between",
                "what its use after that does is undefined",
            ],
            &["delete it after its last use, and forget its id then"],
        );
        assert_told(
            fault(object_type::OWN, object_fault::USE_AFTER_DESTROY, object_op::INIT),
            "`a` is initialised again after it was destroyed",
            &["thread 1 destroyed it, and nothing freed it in between"],
            &["free it first, or let the rules of its type allow a new life (reinit)"],
        );
    }
}
