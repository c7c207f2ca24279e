//! What is waited for has the name that the source gives it.

use lockwright_analysis::lockmeter::model::WaitKind;

use super::run::{EXACT, meter};
use crate::harness::build;

#[test]
fn conditions_and_semaphores_have_the_names_of_their_members_and_variables() {
    for level in ["-O0", "-O2"] {
        let run = meter(EXACT, &build("waited_names.cc", &[level]), &[]);
        let mut names: Vec<_> = run
            .report
            .waits
            .iter()
            .filter(|wait| matches!(wait.kind, WaitKind::Condition | WaitKind::Semaphore))
            .map(|wait| wait.name.as_deref().unwrap_or("(none)"))
            .collect();
        names.sort_unstable();
        let expected = ["(none)", "Queue::items", "Queue::ready", "changed"];
        assert_eq!(names, expected, "{level}: {:#?}", run.report.waits);
    }
}
