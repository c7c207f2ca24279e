//! Nothing of failing grade is found in programs that nobody wrote for the tool, but what rules
//! that ship with it are for.

use serde_json::Value;

use crate::harness::Run;

/// Fails the test if there is a finding of failing grade that counts.
pub fn judge(program: &str, run: &Run) {
    let unknown: Vec<&Value> = run
        .findings()
        .iter()
        .filter(|finding| matches!(finding["grade"].as_str(), Some("likely" | "deadlocked")))
        .filter(|finding| finding["suppressed"].is_null())
        .collect();
    assert!(unknown.is_empty(), "{program}: {unknown:#?}\n{}", run.stderr);
}
