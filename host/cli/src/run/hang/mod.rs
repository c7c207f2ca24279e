//! The threads of a program that may hang: whether they run, and what they wait for.

pub mod asleep;
pub mod blocked;
pub mod busy;
pub mod loops;
pub mod outlook;
pub mod tasks;
