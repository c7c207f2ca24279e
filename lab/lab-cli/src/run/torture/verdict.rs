//! What a lock has come to.

use serde_json::Value;

/// What a lock has come to.
pub struct Verdict {
    /// Whether the lock did what a lock should.
    pub ok: bool,
    /// What is left to be printed.
    pub text: String,
    /// All of it, for machines.
    pub json: Value,
}

/// The last line of a run.
pub fn end(name: &str, ok: bool) -> String {
    format!("{name}-torture:--- End of test: {}\n", if ok { "SUCCESS" } else { "FAILURE" })
}
