//! The memory of an object in use goes, in words.

use lockwright_ledger::rows::object::object_type;

use super::case::Case;
use super::kind::Kind;

/// Its memory goes while it is in use.
pub struct GoneActive;

impl Kind for GoneActive {
    fn title(&self, Case { name, words, gone, .. }: &Case<'_>) -> String {
        let (before, after) = gone.now;
        format!("{before}{name}{after} while it is {}", words.in_use)
    }

    fn evidence(&self, case: &Case<'_>) -> Vec<String> {
        vec![case.in_use(), case.gone.evidence.into()]
    }

    fn help(&self, case: &Case<'_>) -> Vec<String> {
        let (idle, destroyed) = (case.words.idle, case.words.destroy.then);
        match case.words.builtin {
            // Nothing destroys one.
            object_type::ONCE => vec![format!("{idle} before its memory goes")],
            _ => vec![
                format!(
                    "{idle}, and have it {destroyed}{}, before its memory goes",
                    case.by_ender()
                ),
                case.gone.help.into(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_ledger::rows::object::*;

    use crate::prose::object::testing::{assert_told, fault};

    #[test]
    fn how_its_memory_went_is_said() {
        let mut fault =
            fault(object_type::COND, object_fault::GONE_ACTIVE, object_op::NO_OBJ_FREED);
        fault.how = object_end::FREED;
        assert_told(
            fault,
            "the memory of `a` is freed while it is waited on",
            &["thread 2 waits on it at that moment", "its memory was freed"],
            &[
                "wake its waiters and join their threads, and have it destroyed (pthread_cond_destroy), before its \
                 memory goes",
            ],
        );
    }
}
