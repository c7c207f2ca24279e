//! Unloading of libraries: an unloaded one is no module any more, and has no objects.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::object::object_end;

use crate::callsite::Return;
use crate::debugobjects::{freed_memory, user_objects};
use crate::libc::real;
use crate::lock_id::lock_pages::may_have_objects;
use crate::lockdep::loader_locks;
use crate::recorder::state;
use crate::stack::modules;

/// How many modules the loader has loaded so far, and how many of them it has unloaded.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counts {
    loaded: u64,
    unloaded: u64,
}

impl Counts {
    /// `None` where the loader has no such function. To be called where the loader's locks may be
    /// taken, as `dlclose` takes them.
    fn now() -> Option<Self> {
        let mut counts = None;
        // SAFETY: `read` has the type of such a callback, and is given what it expects.
        unsafe { real::dl_iterate_phdr(read as *mut c_void, (&raw mut counts).cast()) };
        counts
    }
}

/// Reads the counts off the first module, and wants no other.
///
/// # Safety
/// A callback of `dl_iterate_phdr`'s, with an `Option<Counts>`.
unsafe extern "C" fn read(
    info: *const libc::dl_phdr_info,
    _size: usize,
    counts: *mut Option<Counts>,
) -> c_int {
    // SAFETY: the caller promises `info` and `counts`. glibc's structure has had the counts since
    // 2.4.
    unsafe {
        *counts = Some(Counts { loaded: (*info).dlpi_adds, unloaded: (*info).dlpi_subs });
    }
    1
}

/// The counts before the list was last read here, 0 at first. Others may read it later, and the list
/// is then newer. Relaxed: what another thread stores meanwhile leads to one more reading at most.
static KNOWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn remember(counts: Option<Counts>) {
    let counts = counts.unwrap_or(Counts { loaded: 0, unloaded: 0 });
    KNOWN[0].store(counts.loaded, Relaxed);
    KNOWN[1].store(counts.unloaded, Relaxed);
}

fn is_known(counts: Counts) -> bool {
    counts.loaded == KNOWN[0].load(Relaxed) && counts.unloaded == KNOWN[1].load(Relaxed)
}

/// # Safety
/// The arguments keep the contract of `dlclose`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn dlclose(handle: *mut c_void, site: u64, back: Return) -> c_int {
    // Stacks of what is about to go must be resolved against the list as it is. To read the list takes
    // milliseconds where there are hundreds of modules.
    let before = Counts::now();
    if !before.is_some_and(is_known) {
        let is_read = state::with_core(modules::rescan).is_some();
        remember(before.filter(|_| is_read));
    }
    // SAFETY: the program's call, which the stub came from, has not returned.
    let enters = unsafe { loader_locks::enter(&loader_locks::LOADER, site, back) };
    // SAFETY: the next `dlclose` gets the program's own `handle` unchanged, as without us.
    let result = unsafe { real::dlclose(handle) };
    if enters {
        loader_locks::leave(&loader_locks::LOADER);
    }
    let after = Counts::now();
    let is_same = |after: Counts| before.is_some_and(|before| before.unloaded == after.unloaded);
    if !after.is_some_and(is_same) {
        let is_read = unloaded();
        remember(after.filter(|_| is_read));
    }
    result
}

/// Modules have gone: what is known of them goes, too. False: the list could not be read.
fn unloaded() -> bool {
    // As many as are unloaded at once, with what they alone needed.
    let mut gone = [(0, 0); 16];
    let is_read = state::with_core(|core| {
        let mut free = gone.iter_mut();
        modules::rescan_seeing(core, &mut |from, to| {
            if let Some(free) = free.next() {
                *free = (from, to);
            }
        });
    });
    user_objects::unloaded();
    for (from, to) in gone.into_iter().filter(|&(from, to)| from < to && may_have_objects(from, to))
    {
        freed_memory::check(from, to, object_end::UNLOADED, None);
    }
    is_read.is_some()
}
