//! Locks that a compiler has inlined, on machines whose code is not changed: nothing is looked for, and reports say so
//! (docs/aarch64.md).

/// Nothing.
pub enum Load {}

/// Looks for nothing.
pub fn start() {}

/// A `dlopen` begins.
pub fn load_begins() -> Option<Load> {
    None
}

/// It has ended.
pub fn load_ended(_load: Option<Load>, _has_loaded: bool) {}

/// A `dlopen` that is not looked at.
pub fn unseen_load() {}

/// A module is gone.
pub fn unloaded(_from: u64, _to: u64) {}
