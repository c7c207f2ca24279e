//! What the process's threads share: the engine's core behind one lock, and whether we watch.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use lockwright_engines::lockdep::Core;
use lockwright_ledger::Header;
use lockwright_ledger::layout::stopped;

use crate::{hooks, sys};

/// Nothing is set up yet, or nobody asked.
pub const OFF: u32 = 0;
/// Watching.
pub const ACTIVE: u32 = 1;
/// A forked child that has not used a lock yet: its ledger is still to be made.
pub const FORKED: u32 = 2;

struct Shared {
    status: AtomicU32,
    /// 0 free, 1 held, 2 held and waited for.
    lock: AtomicU32,
    core: UnsafeCell<MaybeUninit<Core>>,
}

// SAFETY: `core` is only touched with `lock` held, and once `status` says that it is initialised.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    status: AtomicU32::new(OFF),
    lock: AtomicU32::new(0),
    core: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Points to a word that is 1 in the process that watches and 0 in a child that nobody told us of, made by a system call
/// of the program's own: the kernel empties the page for it. Null if it cannot.
static HERE: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// madvise(2), since Linux 4.14: the pages are zero in a child.
const MADV_WIPEONFORK: i32 = 18;

/// Marks the process as the one that watches.
fn arrive() {
    const BYTES: usize = 4096;
    if HERE.load(Relaxed).is_null() {
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping; zero is a valid atomic.
        unsafe {
            let at = sys::mmap(BYTES, prot, flags, -1);
            if at <= 0 {
                return;
            }
            let page = at as *mut u8;
            if sys::madvise(page, BYTES, MADV_WIPEONFORK) < 0 {
                return sys::munmap(page, BYTES);
            }
            HERE.store(page.cast(), Relaxed);
        }
    }
    // SAFETY: the word above.
    unsafe { &*HERE.load(Relaxed) }.store(1, Relaxed);
}

/// The core is this process's own.
fn is_here() -> bool {
    // SAFETY: null or the word above, which stays mapped.
    unsafe { HERE.load(Relaxed).as_ref() }.is_none_or(|here| here.load(Relaxed) == 1)
}

/// One of [`OFF`], [`ACTIVE`], [`FORKED`].
#[inline]
pub fn status() -> u32 {
    // Pairs with the Release in `start`: the core is there.
    SHARED.status.load(Acquire)
}

/// Installs a core and begins to watch.
///
/// # Safety
/// Nobody is using a former core: at start-up, or in a forked child with one thread.
pub unsafe fn start(core: Core) {
    // SAFETY: the caller's promise.
    unsafe { (*SHARED.core.get()).write(core) };
    arrive();
    SHARED.status.store(ACTIVE, Release);
}

/// The current ledger's header, which is all atomics, without the lock. `None` where nothing is watched.
pub fn header() -> Option<&'static Header> {
    // SAFETY: ACTIVE, so the core is initialised; a ledger's header stays mapped.
    (status() == ACTIVE)
        .then(|| unsafe { (*SHARED.core.get()).assume_init_ref() }.ledger().header())
}

/// Stops watching for good.
pub fn stop() {
    SHARED.status.store(OFF, Relaxed);
}

/// In a forked child: the parent's core is not ours.
pub fn forked() {
    SHARED.lock.store(0, Relaxed);
    if status() == ACTIVE {
        SHARED.status.store(FORKED, Relaxed);
    }
}

/// In a forked child that is not watched yet: the core of its parent, whose ledger is still mapped.
///
/// # Safety
/// Not used once [`start`] has installed another; and its rows may be changing, for the parent runs.
pub unsafe fn parents() -> Option<&'static Core> {
    // SAFETY: it was ACTIVE before the fork, so it is initialised; the child has one thread.
    (status() == FORKED).then(|| unsafe { (*SHARED.core.get()).assume_init_ref() })
}

/// How long the core's lock may take before we conclude that its holder died or jumped out.
const PATIENCE_NS: i64 = 50_000_000;
const PATIENCE_ROUNDS: u32 = 100;

/// Runs `f` on the core with the lock held and all signals blocked, so that no handler, cancellation
/// or long jump can interrupt it. `None` where nothing is watched (any more).
#[cold]
pub fn with_core<R>(f: impl FnOnce(&mut Core) -> R) -> Option<R> {
    if status() != ACTIVE {
        return None;
    }
    if !is_here() {
        hooks::fork_unseen();
        return None;
    }
    let mask = sys::block_signals();
    let result = if lock() {
        // SAFETY: ACTIVE, so it is initialised; the lock is held.
        let result = f(unsafe { (*SHARED.core.get()).assume_init_mut() });
        unlock();
        Some(result)
    } else {
        None
    };
    sys::restore_signals(mask);
    result
}

fn lock() -> bool {
    // Acquire pairs with the Release in `unlock`: the core as the last holder left it.
    if SHARED.lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
        return true;
    }
    for _ in 0..100 {
        core::hint::spin_loop();
        if SHARED.lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            return true;
        }
    }
    for _ in 0..PATIENCE_ROUNDS {
        if SHARED.lock.swap(2, Acquire) == 0 {
            return true;
        }
        sys::futex_wait(&SHARED.lock, 2, PATIENCE_NS);
    }
    stop();
    // SAFETY: it was ACTIVE, so the core is initialised and its header stays mapped; atomics only.
    let header = unsafe { (*SHARED.core.get()).assume_init_ref() }.ledger().header();
    header.stop(stopped::HOLDER_STALLED);
    false
}

fn unlock() {
    // Release pairs with the Acquires in `lock`.
    if SHARED.lock.swap(0, Release) == 2 {
        sys::futex_wake(&SHARED.lock);
    }
}
