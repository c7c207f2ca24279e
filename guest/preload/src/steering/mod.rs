//! `lockwright confirm`, `--perturb` and `--avoid`: threads are held up just before they take locks. The stubs go by here only where
//! [`start`] has found a plan, so a run without one pays nothing.

mod apart;
mod delays;
mod handlers;
mod meeting;
mod paths;
mod plan;
mod rows;

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::steering::Path;

use crate::arch::Arrived;
use crate::os::tls;
use crate::stack::unwind::Frame;

pub use apart::departs;
pub use meeting::waits;
pub use paths::{IN_PAGE, MAY_BE};
use plan::plan;
pub use plan::{start, watches_releases};

/// The program calls a function that may wait, with `first` as its first argument: for a lock, the end of a thread, or a
/// condition. The thread is held up or delayed if that is planned.
///
/// # Safety
/// `arrived` is of that call, and `fp` the caller's frame pointer; that call has not returned.
pub unsafe extern "C" fn arrives(first: u64, arrived: Arrived, fp: u64) {
    let Some(plan) = plan() else { return };
    // A thread that would be killed for a system call, or that forks, is in nobody's plan.
    if tls::is_barred() || tls::leaves() {
        return;
    }
    // SAFETY: the thread's own state or null; read here, before the wrapper that is called next has a reference to it.
    let thread = unsafe { tls::get().as_ref() };
    // SAFETY: the caller promises that the call has not returned.
    let frame = unsafe { Frame::arrived(arrived, fp) };
    if plan.seed.load(Relaxed) != 0 {
        delays::delay(plan, thread, frame.pc);
    }
    let Some(path) = paths::of(plan, frame) else { return };
    let Path { apart, signal, .. } = &plan.paths[path];
    match (apart.load(Relaxed), signal.load(Relaxed)) {
        (0, 0) => meeting::come(plan, path, thread, first),
        (0, _) => handlers::come(plan, path, thread, first),
        _ => apart::come(plan, path, thread, first),
    }
}
