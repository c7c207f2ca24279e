//! Whether lockdep was asked for.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// lockdep was asked for.
static WANTED: AtomicBool = AtomicBool::new(true);

/// Says whether the engine is wanted. Called at start, before it begins.
pub fn ask(is_wanted: bool) {
    WANTED.store(is_wanted, Relaxed);
}

/// lockdep was asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}
