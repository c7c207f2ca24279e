//! An object is in the wrong state, in words.

use lockwright_ledger::rows::object::object_op;

use super::case::Case;
use super::kind::Kind;

/// It is not in the state for what is done, as its type or the program has it.
pub struct WrongState;

impl Kind for WrongState {
    fn title(&self, case: &Case<'_>) -> String {
        let (name, done) = (&case.name, case.done());
        match case.met.states {
            Some((expected, found)) if case.met.op == object_op::ACTIVE_STATE => {
                format!("{name} is in state {found} where the program expects state {expected}")
            }
            Some((expected, found)) => {
                format!("{name} is {done} in state {found} of its own instead of {expected}")
            }
            None => format!("{name} is {done} {}", case.state()),
        }
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        let of_its_own = "these states are the program's own: how far it has come with the object";
        case.met.states.iter().map(|_| of_its_own.to_owned()).collect()
    }

    fn help(&self, _: &Case<'_>) -> Vec<String> {
        vec!["look for the path on which a step was left out, or made twice".into()]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn states_of_the_programs_own_are_numbers() {
        let mut fault = fault(object_type::OWN, object_fault::WRONG_STATE, object_op::ACTIVE_STATE);
        fault.was = object_state::ACTIVE;
        fault.states = Some((2, 3));
        assert_told(
            fault,
            "`a` is in state 3 where the program expects state 2",
            &["these states are the program's own: how far it has come with the object"],
            &["look for the path on which a step was left out, or made twice"],
        );
    }
}
