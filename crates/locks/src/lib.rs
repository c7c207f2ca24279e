//! For programs that work with lockwright: [`annotate`] tells the tool of locks that it cannot see, and of
//! what it cannot know of those it sees.
//!
//! Without the tool an annotation costs a load and a branch.

#![no_std]

pub mod annotate;
