//! The names of threads.

use lockwright_engines::lockdep::Core;

use crate::os::sys;

/// Reads the names of all live threads: programs name them by prctl or through /proc, too.
pub fn refresh(core: &mut Core) {
    let mut next = core.first_live();
    while let Some((id, tid, after)) = core.live_thread(next) {
        next = after;
        let mut name = [0u8; 16];
        if let Some(name) = sys::read_of_task(tid, c"comm", &mut name).filter(|n| !n.is_empty()) {
            core.thread_name(id, name.strip_suffix(b"\n").unwrap_or(name));
        }
    }
}
