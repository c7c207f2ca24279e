//! Nothing but tests: `tests/models`.
