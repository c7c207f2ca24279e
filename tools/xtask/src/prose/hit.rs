//! A place where prose is not plain.

/// A sentence that breaks a rule.
pub struct Hit {
    pub text: String,
    pub line: usize,
    pub rule: &'static str,
    pub quote: String,
    pub advice: &'static str,
}
