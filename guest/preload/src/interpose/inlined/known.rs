//! Which modules have been looked at, and whether others can be running what a `dlopen` has just loaded: code that somebody runs
//! must not be changed.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::interpose::pthread_create;

/// Modules at most that are known at a time; more are not looked at.
const MOST: usize = 1024;

/// Where each begins; 0: none any more. Written under the loader's lock of its list, and when a module is gone.
static MODULES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static LEN: AtomicUsize = AtomicUsize::new(0);

// Relaxed, all of them: a thread that loads a module has the loader's lock, and numbers that others change meanwhile only tell that they do.

/// Calls of `dlopen` that were seen to begin, and of these the ones that have not ended.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static UNDER_WAY: AtomicU64 = AtomicU64::new(0);
/// While there were threads, one was forwarded, whose end is not seen.
static IS_UNSEEN: AtomicBool = AtomicBool::new(false);

/// Notes a module. False: it is known already, or there is no room.
pub fn note(start: u64) -> bool {
    let len = LEN.load(Relaxed);
    let known = &MODULES[..len];
    if known.iter().any(|it| it.load(Relaxed) == start) {
        return false;
    }
    let free = known.iter().position(|it| it.load(Relaxed) == 0).unwrap_or(len);
    let Some(place) = MODULES.get(free) else { return false };
    place.store(start, Relaxed);
    LEN.store(len.max(free + 1), Relaxed);
    true
}

/// The modules that begin in `[from, to)` are gone.
pub fn forget(from: u64, to: u64) {
    let gone =
        MODULES[..LEN.load(Relaxed)].iter().filter(|it| (from..to).contains(&it.load(Relaxed)));
    gone.for_each(|it| it.store(0, Relaxed));
}

/// A call of `dlopen` under way.
pub struct Load {
    /// Threads that had been created before.
    threads: u64,
    /// Calls that had begun, this one included.
    begun: u64,
    /// No other was under way.
    is_alone: bool,
}

impl Load {
    /// It begins.
    pub fn begin() -> Self {
        let is_alone = UNDER_WAY.fetch_add(1, Relaxed) == 0;
        Self { threads: pthread_create::calls(), begun: BEGUN.fetch_add(1, Relaxed) + 1, is_alone }
    }

    /// It has ended. Whether no thread but this one can have run what it has loaded.
    pub fn end(self) -> bool {
        UNDER_WAY.fetch_sub(1, Relaxed);
        let threads = pthread_create::calls();
        // A library's own constructors may have made threads, and other threads may have loaded others.
        let others_did_nothing = threads == self.threads
            && self.is_alone
            && BEGUN.load(Relaxed) == self.begun
            && !IS_UNSEEN.load(Relaxed);
        threads == 0 || others_did_nothing
    }
}

/// A call of `dlopen` is forwarded.
pub fn unseen_load() {
    BEGUN.fetch_add(1, Relaxed);
    if pthread_create::calls() != 0 {
        IS_UNSEEN.store(true, Relaxed);
    }
}
