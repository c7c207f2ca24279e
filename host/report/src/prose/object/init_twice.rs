//! An object is initialised twice, in words.

use super::case::Case;
use super::kind::Kind;

/// It is initialised again without having been destroyed.
pub struct InitTwice;

impl Kind for InitTwice {
    fn title(&self, Case { name, words, .. }: &Case<'_>) -> String {
        format!("{name} is {} again without having been {}", words.init.then, words.destroy.then)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![
            format!("{}, and nothing {} it in between", case.made(), case.words.destroy.then),
            "a thread that uses it at that moment goes on with what is overwritten".into(),
        ]
    }

    fn names_maker(&self) -> bool {
        true
    }

    fn help(&self, case: &Case<'_>) -> Vec<String> {
        vec![
            "initialise it once, before other threads can reach it, or with pthread_once".into(),
            format!("or have it {} before{}", case.words.destroy.then, case.by_ender()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn the_maker_is_named_once() {
        let mut fault = fault(object_type::MUTEX, object_fault::INIT_TWICE, object_op::INIT);
        fault.made_unshown = true;
        assert_told(
            fault,
            "`a` is initialised again without having been destroyed",
            &[
                "thread 1 initialised it, and nothing destroyed it in between",
                "a thread that uses it at that moment goes on with what is overwritten",
            ],
            &[
                "initialise it once, before other threads can reach it, or with pthread_once",
                "or have it destroyed before (pthread_mutex_destroy)",
            ],
        );
    }
}
