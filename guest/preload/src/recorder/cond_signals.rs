//! Whether signals of condition variables are looked at.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// There has been another thread, or somebody has waited on a condition variable: from then on stubs do
/// not forward signals unseen.
pub static SIGNALS_MATTER: AtomicBool = AtomicBool::new(false);

/// From now on they are looked at.
pub fn matter() {
    // Relaxed: a word that says nothing about other memory. It is written once, as the stubs of all threads read it.
    if !SIGNALS_MATTER.load(Relaxed) {
        SIGNALS_MATTER.store(true, Relaxed);
    }
}
