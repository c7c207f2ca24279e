//! The state that the process's threads share: the engine's core behind one lock, and whether we
//! watch.

use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use lockwright_engines::core_lock::{CoreLock, Failure, Host};
use lockwright_engines::lockdep::{Core, DEBUG_LOCKDEP, ThreadState};
use lockwright_ledger::Header;
use lockwright_ledger::layout::stopped;

use super::slow_cost;
use crate::os::upcall::Upcall;
use crate::os::{sys, tls};

/// Nothing is set up yet, or nobody asked.
pub const OFF: u32 = 0;
/// Watching.
pub const ACTIVE: u32 = 1;
/// A forked child that has not used a lock yet: its ledger is still to be made.
pub const FORKED: u32 = 2;

// In cache lines of its own: its lock is written to.
#[repr(align(64))]
struct Shared {
    status: AtomicU32,
    lock: CoreLock,
    core: UnsafeCell<MaybeUninit<Core>>,
}

// SAFETY: `core` is only touched with `lock` held, and once `status` says that it is initialised.
unsafe impl Sync for Shared {}

// This section has what a forked child writes to before it has recorded anything: each page that it
// writes to the kernel copies, which costs it microseconds. So it begins with a page, and is no longer.
global_asm!(".section lockwright_forked,\"aw\",@progbits", ".p2align 12", ".previous");

#[unsafe(link_section = "lockwright_forked")]
static SHARED: Shared = Shared {
    status: AtomicU32::new(OFF),
    lock: CoreLock::new(),
    core: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Points to a word that is 1 in the process that watches and 0 in a child that nobody told us of,
/// made by a system call of the program's own: the kernel empties the page for it. Null if it
/// cannot.
#[unsafe(link_section = "lockwright_forked")]
static HERE: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// madvise(2), since Linux 4.14: the pages are zero in a child.
const MADV_WIPEONFORK: i32 = 18;

/// Begins to watch a forked child, which uses its first lock.
pub static BEGIN_CHILD: Upcall<fn()> = Upcall::none();

/// Tells that this is a forked child, of whose fork nobody has told.
pub static UNSEEN_FORK: Upcall<fn()> = Upcall::none();

/// A forked child uses its first lock: begins to watch it.
#[cold]
pub fn begin_child() {
    if let Some(begin) = BEGIN_CHILD.get() {
        begin();
    }
}

/// Marks the process as the one that watches.
fn arrive() {
    const BYTES: usize = 4096;
    if HERE.load(Relaxed).is_null() {
        let page = sys::map_zeroed(BYTES);
        if page.is_null() {
            return;
        }
        // SAFETY: a new mapping that nobody else uses; zero is a valid atomic.
        unsafe {
            if sys::madvise(page, BYTES, MADV_WIPEONFORK) < 0 {
                return sys::munmap(page, BYTES);
            }
            HERE.store(page.cast(), Relaxed);
        }
    }
    // SAFETY: `HERE` is not null here: it points to a zeroed page of ours, which stays mapped.
    unsafe { &*HERE.load(Relaxed) }.store(1, Relaxed);
}

/// The core is this process's own.
pub fn is_here() -> bool {
    // SAFETY: null or the word above, which stays mapped.
    unsafe { HERE.load(Relaxed).as_ref() }.is_none_or(|here| here.load(Relaxed) == 1)
}

/// One of [`OFF`], [`ACTIVE`], [`FORKED`].
#[inline]
pub fn status() -> u32 {
    // Pairs with the Release in `start`: the core is there.
    SHARED.status.load(Acquire)
}

/// Watching, and by this process itself: the shared state can be used without the core's lock.
#[inline]
pub fn is_active_here() -> bool {
    status() == ACTIVE && is_here()
}

/// Installs a core, which is moved from where it is, and begins to watch.
///
/// # Safety
/// Nobody is using a former core: at start-up, or in a forked child with one thread. The one that is
/// moved is not used again.
pub unsafe fn start(core: *const Core) {
    // SAFETY: the caller promises that nobody uses a former core; the two places differ.
    unsafe { SHARED.core.get().cast::<Core>().copy_from_nonoverlapping(core, 1) };
    arrive();
    SHARED.status.store(ACTIVE, Release);
}

/// The current ledger's header, which is all atomics, without the lock. `None` where nothing is
/// watched.
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
    SHARED.lock.forget();
    if status() == ACTIVE {
        SHARED.status.store(FORKED, Relaxed);
    }
}

/// In a forked child that is not watched yet: the core of its parent, whose ledger is still mapped.
///
/// # Safety
/// Not used once [`start`] has installed another; and its rows may be changing, for the parent
/// runs.
pub unsafe fn parents() -> Option<&'static Core> {
    // SAFETY: it was ACTIVE before the fork, so it is initialised; the child has one thread.
    (status() == FORKED).then(|| unsafe { (*SHARED.core.get()).assume_init_ref() })
}

/// Runs `f` on the core with the lock held and all signals blocked, so that no handler,
/// cancellation or long jump can interrupt it. `None` where nothing is watched (any more).
#[inline(always)]
pub fn with_core<R>(f: impl FnOnce(&mut Core) -> R) -> Option<R> {
    // SAFETY: null or the thread's own state, which is only read.
    let own = || unsafe { tls::get().as_ref() }.map_or_else(sys::gettid, ThreadState::tid);
    with_core_as(own, f)
}

/// As [`with_core`], by the thread whose kernel thread id is `own`.
#[cold]
pub fn with_core_as<R>(own: impl FnOnce() -> u32, f: impl FnOnce(&mut Core) -> R) -> Option<R> {
    if status() != ACTIVE {
        return None;
    }
    if tls::is_barred() {
        lose_barred();
        return None;
    }
    if !is_here() {
        if let Some(unseen_fork) = UNSEEN_FORK.get() {
            unseen_fork();
        }
        return None;
    }
    let header = header()?;
    let timed = slow_cost::begin(header);
    let mask = sys::block_signals();
    let result = match SHARED.lock.lock(own(), &Threads) {
        Ok(()) => {
            // SAFETY: ACTIVE, so it is initialised; the lock is held.
            let core = unsafe { (*SHARED.core.get()).assume_init_mut() };
            let result = f(core);
            if DEBUG_LOCKDEP
                && core.ledger().header().stopped.load(Relaxed) == stopped::INCONSISTENT
            {
                stop();
            }
            SHARED.lock.unlock(&Threads);
            Some(result)
        }
        Err(failure) => {
            give_up(failure);
            None
        }
    };
    if let Some(timed) = timed {
        timed.end_closed(header);
    }
    sys::restore_signals(mask);
    result
}

/// What the calling thread may make no system call for goes unrecorded.
pub fn lose_barred() {
    if let Some(header) = header() {
        header.lost.fetch_add(1, Relaxed);
        header.stop(stopped::SYSTEM_CALLS);
    }
}

/// How the core's lock waits and wakes, and knows of threads.
struct Threads;

/// How long a thread sleeps before it checks whether the core's lock has changed hands.
const ROUND_NS: i64 = 1_000_000_000;

impl Host for Threads {
    fn wait(&self, word: &AtomicU32, value: u32) -> bool {
        match i32::try_from(-sys::futex_wait(word, value, ROUND_NS)).unwrap_or(0) {
            0 | libc::EAGAIN | libc::EINTR => false,
            libc::ETIMEDOUT => true,
            // A filter of system calls forbids it.
            _ => {
                sys::sleep_ns(ROUND_NS);
                true
            }
        }
    }

    fn wake_one(&self, word: &AtomicU32) {
        sys::futex_wake(word, 1);
    }

    fn wake_all(&self, word: &AtomicU32) {
        sys::futex_wake(word, i32::MAX);
    }

    fn lives(&self, thread: u32) -> bool {
        sys::thread_lives(thread)
    }
}

/// The core's lock can no longer be taken: no thread records from now on.
#[cold]
fn give_up(failure: Failure) {
    stop();
    // SAFETY: it was ACTIVE, so the core is initialised and its header stays mapped; atomics only.
    let header = unsafe { (*SHARED.core.get()).assume_init_ref() }.ledger().header();
    let (reason, holder) = match failure {
        Failure::Gone(holder) => (stopped::HOLDER_GONE, holder),
        Failure::Stalled(holder) => (stopped::HOLDER_STALLED, holder),
        // Another thread says why.
        Failure::Closed => return,
    };
    header.stopped_by.store(holder, Relaxed);
    header.stop(reason);
}
