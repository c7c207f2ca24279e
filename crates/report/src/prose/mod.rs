//! What is said of findings, in words.

pub mod words;
