//! Findings of failing grade in programs that nobody wrote for the tool: each is true, and why it is no error of
//! the program, or that it is one. docs/field-notes.md tells more.

use serde_json::Value;

use crate::harness::{Run, functions, lock_names};

/// A finding that is known.
struct Known {
    program: &'static str,
    kind: &'static str,
    /// Part of the name of one of its locks, or a function in one of its stacks.
    of: &'static str,
    /// What it is.
    #[expect(dead_code, reason = "for those who read this")]
    why: &'static str,
}

const KNOWN: &[Known] = &[Known {
    program: "java",
    kind: "exit-with-lock-held",
    of: "VMThread::run",
    why: "The VM thread begins a safepoint that never ends (VMThread::run: \"4526887 let VM thread exit at \
          Safepoint\") and so ends with Threads_lock, which begin() takes for the time of a safepoint: from then \
          on no thread may start or end.",
}];

/// Fails the test if a finding of failing grade is not known.
pub fn judge(program: &str, run: &Run) {
    let unknown: Vec<&Value> = run
        .findings()
        .iter()
        .filter(|finding| matches!(finding["grade"].as_str(), Some("likely" | "deadlocked")))
        .filter(|finding| !KNOWN.iter().any(|known| known.program == program && known.is(finding)))
        .collect();
    assert!(unknown.is_empty(), "{program}: {unknown:#?}\n{}", run.stderr);
}

impl Known {
    fn is(&self, finding: &Value) -> bool {
        finding["kind"] == self.kind
            && (lock_names(finding).iter().any(|name| name.contains(self.of))
                || functions(finding).iter().any(|function| function.contains(self.of)))
    }
}
