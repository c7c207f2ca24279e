//! Answers about the command itself: tips, its version, its own rules.

pub mod explain;
pub mod shipped_rules;
pub mod tips;
pub mod version;
