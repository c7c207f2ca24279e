//! The input of every engine's findings: one process, the locks involved, and a finding until
//! those that are the same to a reader are folded.

pub mod candidate;
pub mod occurrence;
pub mod process_view;
