//! lockdep's engine where no report shows what it does: which releases are for the fast path.

use lockwright_engines::lockdep::{Acquire, Cache, Core, Ident, Origin, ThreadState, recursions};
use lockwright_ledger::rows::{Held, Thread, lock_kind};
use lockwright_ledger::{Writer, layout::PAGE};

const PAGES: usize = 96;

struct Host {
    core: Core,
    thread: &'static mut ThreadState,
    mutex: Ident,
}

/// Where the mutex is.
const MUTEX: u64 = 0x1000;
/// Where another one is.
const OTHER: u64 = 0x2000;

impl Host {
    fn new() -> Self {
        Self::begin(0, None)
    }

    /// With a thread that starts at a time, and has a cache of the process's own.
    fn begin(now_ns: u64, cache: Option<&'static mut Cache>) -> Self {
        let words = vec![0u64; (PAGES + 1) * PAGE / 8].leak();
        let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        // SAFETY: the words are leaked and zeroed, and `base` is the first page boundary in them.
        let writer = unsafe { Writer::create(base, PAGES * PAGE, |_, _| Ok(()), |_| {}) };
        let mut core = Core::new(writer.expect("room for a ledger"));
        if let Some(cache) = cache {
            core.lend(cache);
        }
        let thread = core.thread_start(1, now_ns, 0, 0).expect("a thread");
        let origin = Origin::FirstAcquire(&[7]);
        let mutex = core.new_lock(lock_kind::RECURSIVE, origin).expect("a class");
        // SAFETY: a row of the leaked ledger; the test uses one reference at a time.
        Self { core, thread: unsafe { &mut *thread }, mutex }
    }

    fn lock(&mut self, addr: u64) {
        let ident = if addr == MUTEX { self.mutex } else { Ident::new(99, self.mutex.class()) };
        let lock = Acquire { addr, ident, mode: 0, site: 7 };
        let mut probe = self.thread.probe(ident, 0, 7);
        if !probe.is_hit() {
            probe = self.core.enter(self.thread, &lock, probe, &mut |frames| {
                frames[0] = 7;
                1
            });
        }
        assert!(self.thread.reserve(ident, 0, 7, probe));
        self.thread.acquired(addr);
    }
}

/// Its last owner died; it is locked twice. Nobody unlocks it by the fast path, which tells nobody
/// of that.
#[test]
fn an_inconsistent_recursive_mutex_is_so_until_it_is_unlocked_for_good() {
    let mut host = Host::new();
    host.lock(MUTEX);
    host.thread.mark_robust(true);
    assert!(host.thread.recurse(MUTEX));
    assert!(!host.thread.release_innermost(MUTEX), "the host takes a closer look");
    assert!(!host.thread.is_inconsistent(MUTEX), "it stays locked");
    assert!(host.thread.release(MUTEX));
    assert_eq!(recursions(&host.thread.held_at(1)), 0);
    assert!(!host.thread.release_innermost(MUTEX), "the host takes a closer look");
    assert!(host.thread.is_inconsistent(MUTEX));
    assert!(host.thread.release(MUTEX));
    assert!(host.thread.is_idle());
}

/// Likewise where it is not the innermost lock.
#[test]
fn a_mutex_made_consistent_is_unlocked_by_the_fast_path() {
    let mut host = Host::new();
    host.lock(MUTEX);
    host.thread.mark_robust(true);
    assert!(host.thread.recurse(MUTEX));
    host.lock(OTHER);
    assert!(host.thread.release(MUTEX));
    assert!(host.thread.release(OTHER));
    assert!(!host.thread.release_innermost(MUTEX), "the host takes a closer look");
    assert!(host.thread.mark_consistent(MUTEX));
    assert!(!host.thread.is_inconsistent(MUTEX));
    assert!(host.thread.release_innermost(MUTEX));
    assert!(host.thread.is_idle());
}

/// It may come while a lock is being taken off that lies above a gap: what is stored then goes where the lock was.
#[test]
fn a_handler_leaves_all_locks_where_they_are() {
    const HANDLERS: u64 = 0x3000;
    let mut host = Host::new();
    host.lock(MUTEX);
    host.lock(OTHER);
    assert!(host.thread.release(MUTEX));
    let place = host.thread.find(OTHER);
    let before = host.thread.enter_signal(10, 0, 0);
    host.lock(HANDLERS);
    assert!(host.thread.release(HANDLERS));
    host.thread.leave_signal(before);
    assert_eq!((host.thread.find(OTHER), place), (place, Some(2)));
    // Afterwards the gap is closed.
    host.lock(MUTEX);
    assert_eq!(host.thread.find(OTHER), Some(1));
    assert!(host.thread.release(MUTEX) && host.thread.release(OTHER));
    assert!(host.thread.is_idle());
}

/// A forked child begins with what its parent's thread remembers, of another ledger.
#[test]
fn a_child_takes_nothing_that_its_parent_remembers_for_known() {
    let parents = Box::into_raw(Box::new(Cache::EMPTY));
    // SAFETY: leaked; the parent's alone until it is copied.
    let mut parent = Host::begin(1, Some(unsafe { &mut *parents }));
    parent.lock(MUTEX);
    assert!(parent.thread.release(MUTEX));
    assert!(parent.thread.probe(parent.mutex, 0, 7).is_hit());
    // SAFETY: `parents` is leaked, its owner does not run here, and a cache consists of integers
    // only.
    let copy = Box::leak(Box::new(unsafe { parents.read() }));
    let mut child = Host::begin(2, Some(copy));
    assert_eq!((child.mutex, child.thread.segment()), (parent.mutex, parent.thread.segment()));
    assert!(!child.thread.probe(child.mutex, 0, 7).is_hit());
    child.lock(MUTEX);
    assert!(child.thread.release(MUTEX));
    assert!(child.thread.probe(child.mutex, 0, 7).is_hit());
}

/// In a ledger that has no room for what each needs while it lives.
#[test]
fn threads_go_on_in_the_memory_of_those_that_ended() {
    const THREADS: u32 = 58;
    const DEPTH: u64 = 40;
    assert!(size_of::<Cache>() * THREADS as usize > 2 * PAGES * PAGE);
    let mut host = Host::new();
    for tid in 2..2 + THREADS {
        for i in 1..=DEPTH {
            let (addr, ident) = (i << 8, Ident::new(100 + i as u32, host.mutex.class()));
            let mut probe = host.thread.probe(ident, 0, 7);
            probe = host.core.enter(
                host.thread,
                &Acquire { addr, ident, mode: 0, site: 7 },
                probe,
                &mut |_| 0,
            );
            while !host.thread.reserve(ident, 0, 7, probe) {
                assert!(host.core.grow_held(host.thread));
            }
            host.thread.acquired(addr);
        }
        assert_eq!(host.thread.held().len() as u64, DEPTH);
        // SAFETY: the host's thread, which is another from here on.
        unsafe { host.core.thread_exit(host.thread, 0) };
        let next = host.core.thread_start(tid, 0, 0, 0).expect("memory");
        // SAFETY: `thread_start` returned a row of the leaked ledger; the test uses one reference
        // at a time.
        host.thread = unsafe { &mut *next };
        assert!(host.thread.held().len() == 0 && host.thread.is_idle());
    }
}

/// Between a thread's look-up of a chain and its reservation another thread says that signals have
/// changed, or unlocks what the first holds: there is room, only not by the fast path.
#[test]
fn a_stack_that_another_thread_shut_is_opened_and_does_not_grow() {
    let mut host = Host::new();
    host.lock(MUTEX);
    let capacity = |host: &Host| {
        let row = host.core.ledger().row_ptr::<Thread>(host.thread.id());
        // SAFETY: a row of the leaked ledger.
        unsafe { (*row).held.capacity }
    };
    let before = capacity(&host);
    for signal in 1..40 {
        let probe = host.thread.probe(host.mutex, 0, 7);
        host.core.signals_changed(1 << signal);
        assert!(!host.thread.reserve(host.mutex, 0, 7, probe), "it is shut");
        assert!(host.core.grow_held(host.thread));
        assert_eq!(capacity(&host), before);
        assert!(host.core.released_by_other(MUTEX, host.mutex).is_some());
        assert!(host.core.grow_held(host.thread));
        host.lock(MUTEX);
    }
    assert_eq!((capacity(&host), host.thread.held().len()), (before, 1));
}

/// Changes the engine's entry of the held lock at `position`, as a stray write would.
fn damage(host: &Host, position: usize, change: impl FnOnce(&mut Held)) {
    let row = host.core.ledger().row_ptr::<Thread>(host.thread.id());
    // SAFETY: memory of the test's own, leaked and writable; nobody else refers to it meanwhile. The first
    // entry is none.
    change(unsafe { &mut *((*row).held.base as *mut Held).add(1 + position) });
}

/// What a chain key is made of, each changed behind the engine's back: the check finds it, in the
/// innermost lock as in one further out.
#[test]
fn a_damaged_held_lock_does_not_agree_with_its_chain() {
    let damages: [fn(&mut Held); 5] = [
        |held| held.key ^= 1 << 20,
        |held| held.class += 1,
        |held| held.mode ^= 1,
        |held| held.site += 1,
        |held| held.key = 0,
    ];
    for change in damages {
        for position in [0, 1] {
            let mut host = Host::new();
            host.lock(MUTEX);
            host.lock(OTHER);
            assert_eq!(host.thread.chain_agrees(), Some(true));
            damage(&host, position, change);
            assert_eq!(
                host.thread.chain_agrees(),
                Some(false),
                "{:?}",
                host.thread.held().collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn locks_released_in_another_order_agree_with_their_chains() {
    let mut host = Host::new();
    host.lock(MUTEX);
    host.lock(OTHER);
    assert!(host.thread.release(MUTEX));
    // The gap is closed at the next acquisition.
    assert_eq!(host.thread.chain_agrees(), None);
    host.lock(MUTEX);
    assert_eq!(host.thread.chain_agrees(), Some(true));
    host.thread.set_open_signals(1);
    assert_eq!(host.thread.chain_agrees(), None);
}

#[cfg(feature = "debug-lockdep")]
mod debug_lockdep {
    use std::sync::atomic::Ordering::Relaxed;

    use lockwright_engines::lockdep::MaskCall;
    use lockwright_ledger::layout::stopped;
    use lockwright_ledger::rows::{ClassOps, DebugCounts, OPS_CLASSES};

    use super::*;

    impl Host {
        fn counts(&self) -> DebugCounts {
            *self.core.ledger().get::<DebugCounts>(1).unwrap()
        }

        fn ops(&self, class: u32) -> u64 {
            let rows = self.core.ledger().len_of::<ClassOps>();
            (1..rows)
                .filter_map(|id| self.core.ledger().get::<ClassOps>(id))
                .filter(|row| row.first / 16 == class / 16)
                .map(|row| row.ops[class as usize % OPS_CLASSES])
                .sum()
        }
    }

    #[test]
    fn damage_is_found_at_the_next_acquisition() {
        let mut host = Host::new();
        let stopped = |host: &Host| host.core.ledger().header().stopped.load(Relaxed);
        host.lock(MUTEX);
        host.lock(OTHER);
        assert_eq!((host.counts().chain_checks, host.counts().bad_chains), (2, 0));
        assert_eq!(stopped(&host), stopped::NO);
        damage(&host, 0, |held| held.site += 1);
        host.lock(0x3000);
        assert_eq!((host.counts().chain_checks, host.counts().bad_chains), (3, 1));
        assert_eq!(stopped(&host), stopped::INCONSISTENT);
        assert_eq!(host.core.ledger().header().stopped_by.load(Relaxed), 1);
    }

    #[test]
    fn acquisitions_are_counted_by_class() {
        let mut host = Host::new();
        let mut classes = vec![host.mutex.class()];
        for site in 100..700u64 {
            let ident = host.core.new_lock(lock_kind::MUTEX, Origin::FirstAcquire(&[site]));
            classes.push(ident.unwrap().class());
        }
        for (i, &class) in classes.iter().enumerate() {
            for _ in 0..=i % 3 {
                host.mutex = Ident::new(i as u32 + 1, class);
                host.lock(MUTEX);
                assert!(host.thread.release(MUTEX));
            }
        }
        for (i, &class) in classes.iter().enumerate() {
            assert_eq!(host.ops(class), i as u64 % 3 + 1, "class {class}");
        }
    }

    #[test]
    fn each_way_of_acquiring_is_counted() {
        let mut host = Host::new();
        host.lock(MUTEX);
        assert!(host.thread.recurse(MUTEX));
        assert!(host.thread.release(MUTEX));
        host.thread.cond_release(MUTEX);
        host.thread.cond_reacquired(MUTEX);
        assert_eq!(host.ops(host.mutex.class()), 3);
    }

    #[test]
    fn calls_that_change_the_mask_are_counted_as_the_kernel_does() {
        let host = Host::new();
        let calls = [
            (MaskCall::Block, 3, 1),
            (MaskCall::Block, 1, 1),
            (MaskCall::Unblock, 1, 3),
            (MaskCall::Unblock, 3, 3),
            (MaskCall::Set, 3, 0),
            (MaskCall::Set, 0, 0),
            (MaskCall::Set, 0, 2),
            (MaskCall::Set, 2, 2),
            // One is opened and another blocked.
            (MaskCall::Set, 2, 1),
        ];
        for (call, before, now) in calls {
            host.thread.count_mask_call(call, before, now);
        }
        let counts = host.counts();
        assert_eq!((counts.hardirqs_on, counts.hardirqs_off), (3, 3));
        assert_eq!((counts.redundant_on, counts.redundant_off), (2, 2));
    }
}
