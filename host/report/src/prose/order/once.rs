//! Locks around the routines of `pthread_once`, in words.

use lockwright_analysis::finding::order::once::Remedy;

use super::involved::{Involved, Lines};

/// Why a caller of `pthread_once` counts as a holder.
pub fn held_while_initialising(involved: &Involved<'_>, once: usize) -> String {
    format!(
        "a thread that calls pthread_once waits while another runs the routine of {}",
        involved.lock(once)
    )
}

impl Lines for Remedy {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        match self {
            Self::InitialiseWithoutLock { once } => {
                let (held, taken) =
                    (involved.lock(once + involved.steps() - 1), involved.lock(once + 1));
                vec![
                    format!("release {held} before calling pthread_once"),
                    format!("or do not take {taken} in the routine"),
                ]
            }
            Self::JoinAfterRoutine { once } => {
                let held = involved.lock(once + involved.steps() - 1);
                let joined = involved.thread(once + 1);
                vec![
                    format!("join {joined} after the routine, not in it"),
                    format!("or release {held} before calling pthread_once"),
                ]
            }
            Self::KeepOutOfRoutine => {
                vec![
                    format!("do not call pthread_once for {} in its own routine", involved.lock(0)),
                    "what the routine itself needs, let it initialise first and use directly"
                        .into(),
                ]
            }
            Self::KeepRoutinesApart => {
                vec![
                    "let one of the routines do without what the other initialises".into(),
                    "or initialise both in one routine".into(),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn the_control_is_named() {
        let told = told_of(
            order::Fault::Cycle,
            vec![order::Evidence::HeldWhileInitialising { once: 0 }],
            vec![order::Remedy::Once(Remedy::InitialiseWithoutLock { once: 0 })],
        );
        assert_eq!(
            told.evidence,
            ["a thread that calls pthread_once waits while another runs the routine of `a`"]
        );
        assert_eq!(
            told.help,
            ["release `b` before calling pthread_once", "or do not take `b` in the routine"]
        );
    }
}
