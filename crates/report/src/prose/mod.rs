//! What is said of findings, in words.

pub mod action;
pub mod words;
