//! A message of SARIF.

use serde::Serialize;

/// message (3.11).
#[derive(Serialize)]
pub struct Message {
    pub text: String,
}

impl Message {
    /// A brace would begin a placeholder (3.11.5).
    pub fn new(text: impl AsRef<str>) -> Self {
        Self { text: text.as_ref().replace('{', "{{").replace('}', "}}") }
    }
}
