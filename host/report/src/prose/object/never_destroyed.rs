//! An object is never destroyed, in words.

use lockwright_ledger::rows::object::object_end;

use super::case::Case;
use super::kind::Kind;

/// It was not destroyed before its memory went.
pub struct NeverDestroyed;

impl Kind for NeverDestroyed {
    fn title(&self, Case { name, words, gone, .. }: &Case<'_>) -> String {
        format!("{name} was not {} before {}", words.destroy.then, gone.then)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![
            format!("{}, and nothing {} it since", case.made(), case.words.destroy.then),
            case.gone.evidence.into(),
        ]
    }

    fn names_maker(&self) -> bool {
        true
    }

    fn help(&self, case: &Case<'_>) -> Vec<String> {
        let (destroyed, ender) = (case.words.destroy.then, case.by_ender());
        vec![match case.met.how {
            object_end::EXIT => format!(
                "have it {destroyed}{ender} by whoever used it last, or leave it: nothing comes after"
            ),
            _ => format!("have it {destroyed}{ender} before its memory goes"),
        }]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{fault, told_of};

    #[test]
    fn at_the_exit_it_may_be_left() {
        let helps = |how: u8, help: &str| {
            let mut fault =
                fault(object_type::BARRIER, object_fault::NEVER_DESTROYED, object_op::NO_OBJ_FREED);
            fault.how = how;
            let told = told_of(fault);
            assert_eq!(told.help, [help]);
            assert_eq!(told.evidence[0], "thread 1 initialised it, and nothing destroyed it since");
        };
        helps(
            object_end::EXIT,
            "have it destroyed (pthread_barrier_destroy) by whoever used it last, or leave it: nothing comes after",
        );
        helps(
            object_end::FREED,
            "have it destroyed (pthread_barrier_destroy) before its memory goes",
        );
    }
}
