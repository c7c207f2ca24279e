//! CPython's own locks: `_thread.lock`, which threading's locks are, and `_thread.RLock`. Up to 3.13.0 (3.13 for the second) each
//! is a semaphore, later a byte that waiters park at. What takes a free one calls no function of any library then. But the
//! interpreter calls the locks' methods by their addresses in tables: those are exchanged, at start, before it reads them.

mod methods;
mod tables;

use lockwright_cpython::{has_own_locks, has_own_recursive_locks};

use crate::lockdep::is_wanted;
use crate::os::loader;
use crate::stack::cpython;

/// Intercepts calls of the methods, if the program is CPython, or linked with it, and lockdep is wanted: lockmeter sees the waits
/// as those for semaphores that they are. To be called before the program's main.
pub fn start() {
    // Without the lines of Python that take them, all locks would be of one class.
    if !is_wanted() || !cpython::has_lines() || !methods::find_functions() {
        return;
    }
    let Some((code, version)) = loader::anywhere(c"PyCode_Type").zip(cpython::version()) else {
        return;
    };
    let found = tables::find(code as u64);
    methods::exchange(&found, [has_own_locks(version), has_own_recursive_locks(version)]);
}
