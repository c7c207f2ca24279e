//! Tested by tests/locks.rs.
