//! The plan: a file that all processes of the run have mapped.

use core::sync::atomic::{AtomicPtr, Ordering::*};

use lockwright_ledger::steering::{BYTES, MAGIC, Path, Steering};

use super::paths;
use crate::os::sys;

/// The plan, which stays mapped; null if there is none.
static PLAN: AtomicPtr<Steering> = AtomicPtr::new(core::ptr::null_mut());

/// The plan, if there is one.
pub fn plan() -> Option<&'static Steering> {
    // SAFETY: null, or what `start` has mapped; all of it is atomic, and it stays mapped. Acquire pairs with the Release in
    // `start`: what that has noted of the paths is seen.
    unsafe { PLAN.load(Acquire).as_ref() }
}

/// Maps the plan at `path`, and says whether there is one.
///
/// # Safety
/// `path` is NUL terminated. Called at start, before any thread of the program.
pub unsafe fn start(path: *const u8) -> bool {
    // SAFETY: the caller promises a NUL-terminated path.
    let fd = unsafe { sys::open_shared(path) };
    if fd < 0 {
        return false;
    }
    let is_ours =
        sys::owner_of_regular(fd) == Some(sys::effective_user()) && sys::length(fd) >= BYTES as u64;
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping of a file that is long enough.
    let at = if is_ours { unsafe { sys::mmap(BYTES, prot, flags, fd) } } else { 0 };
    sys::close(fd);
    if at <= 0 {
        return false;
    }
    let plan = at as *mut Steering;
    // SAFETY: mapped above, page-aligned and never unmapped; every bit pattern is a valid atomic.
    let found = unsafe { &*plan };
    if found.magic.load(Relaxed) != MAGIC {
        return false;
    }
    paths::note(found);
    found.processes.fetch_add(1, Relaxed);
    PLAN.store(plan, Release);
    true
}

/// Whether there is a plan for which it matters when locks are released.
pub fn watches_releases() -> bool {
    let matters = |path: &Path| (path.apart.load(Relaxed) | path.signal.load(Relaxed)) != 0;
    plan().is_some_and(|plan| plan.paths.iter().any(matters))
}
