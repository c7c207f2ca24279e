//! Locks that a compiler has inlined, on machines whose code is not changed: nothing is looked for, and reports say so
//! (docs/aarch64.md).

use crate::interpose::libraries::steps;
use crate::interpose::process::pthread_create;
use crate::lock_id::unstamped;
use crate::lockdep::annotate::user_locks;
use crate::lockmeter;
use crate::os::sys;
use crate::process::run_dir;
use crate::stack::{blocks, modules};

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

/// A module is gone, with the locks that are known by where they were in it.
pub fn unloaded(from: u64, to: u64) {
    unstamped::forget_unloaded(from, to);
}

/// What other parts of this library have for a machine whose code is changed: kept as it is there, and never called.
const _: fn() = || {
    let _ = (pthread_create::calls, run_dir::path_of, unstamped::era, modules::note_inlined);
    let _ = (steps::taken, steps::taken_metered, steps::wants, steps::waits);
    let _ = (steps::got, steps::gave_up, user_locks::taken_known);
    let _ = (lockmeter::user_locks::taken_known, lockmeter::user_locks::releases);
    let _ = (blocks::has_room, blocks::add, |from, to| blocks::remove(from, to, |_, _| ()));
    let _ = (sys::protect, sys::map_file_over, sys::open_pipe, sys::exists);
};
