//! The graph of dependencies, and the search for cycles in it.

pub(crate) mod budget;
pub(crate) mod cycles;
pub(crate) mod graph;
