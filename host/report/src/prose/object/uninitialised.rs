//! An object is used that was never initialised, in words.

use lockwright_ledger::rows::object::object_op;

use super::case::Case;
use super::kind::Kind;

/// It is used, or destroyed, without ever having been initialised.
pub struct Uninitialised;

impl Kind for Uninitialised {
    fn title(&self, Case { name, met, words, .. }: &Case<'_>) -> String {
        let done = if met.op == object_op::DESTROY { words.destroy.then } else { "used" };
        format!("{name} is {done} without ever having been {}", words.init.then)
    }

    fn evidence(&self, Case { words, .. }: &Case<'_>) -> Vec<String> {
        vec![format!("nothing was seen to have {} it", words.init.then)]
    }

    fn undefined(&self) -> &'static str {
        "what its use without that does is undefined"
    }

    fn help(&self, case: &Case<'_>) -> Vec<String> {
        vec![format!("initialise it before its first use{}", case.by_maker())]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn a_destruction_is_named_as_such() {
        let evidence = [
            "nothing was seen to have initialised it",
            "what its use without that does is undefined",
        ];
        let help = ["initialise it before its first use (sem_init)"];
        for (op, title) in [
            (object_op::DESTROY, "`a` is destroyed without ever having been initialised"),
            (object_op::ASSERT_INIT, "`a` is used without ever having been initialised"),
        ] {
            let fault = fault(object_type::SEMAPHORE, object_fault::UNINITIALISED, op);
            assert_told(fault, title, &evidence, &help);
        }
    }
}
