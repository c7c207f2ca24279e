//! Whether lockdep was asked for.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// lockdep was asked for.
static WANTED: AtomicBool = AtomicBool::new(true);

/// Says whether the engine is wanted. Called at start, before it begins.
pub fn ask(is_wanted: bool) {
    WANTED.store(is_wanted, Relaxed);
}

/// Somebody asked for semaphores that are locks.
static SEMAPHORES: AtomicBool = AtomicBool::new(true);

/// Says whether semaphores that are locks are wanted. Called at start.
pub fn ask_semaphores(are_wanted: bool) {
    SEMAPHORES.store(are_wanted, Relaxed);
}

/// Semaphores that are locks are wanted.
pub fn are_semaphores_wanted() -> bool {
    SEMAPHORES.load(Relaxed)
}

/// lockdep was asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}
