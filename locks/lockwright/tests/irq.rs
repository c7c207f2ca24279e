//! Spinning locks with signals blocked: a handler that takes the lock cannot come while its own
//! thread holds it, and the mask is restored exactly.

#![cfg(feature = "std")]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{ptr, thread};

use lockwright::irq::{IrqFlags, local_irq_restore, local_irq_save};
use lockwright::mcs::{Mcs, Node, RawMcs};
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;
use lockwright::seqlock::RawSeqLock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

thread_local! {
    /// What the handler is to do.
    static IN_HANDLER: Cell<Option<fn()>> = const { Cell::new(None) };
    static CAME: Cell<u32> = const { Cell::new(0) };
    /// The thread holds what the handler takes, which would be for ever.
    static HELD: Cell<bool> = const { Cell::new(false) };
}

extern "C" fn on_signal(_signal: libc::c_int) {
    CAME.set(CAME.get() + 1);
    if let Some(then) = IN_HANDLER.get().filter(|_| !HELD.get()) {
        then();
    }
}

fn signal_self() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let on_signal: extern "C" fn(libc::c_int) = on_signal;
        // SAFETY: a handler of the right type, that uses its thread's own cells.
        unsafe { libc::signal(libc::SIGUSR1, on_signal as libc::sighandler_t) };
    });
    // SAFETY: to this thread, with a handler.
    unsafe { libc::raise(libc::SIGUSR1) };
}

/// The signals that this thread blocks, one bit each.
fn mask() -> u64 {
    let mut set = MaybeUninit::uninit();
    // SAFETY: asks for the mask alone.
    let set = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
        set.assume_init()
    };
    // SAFETY: the kernel has filled `set` in, which lives during the call.
    let is_blocked = |signal| unsafe { libc::sigismember(&set, signal) == 1 };
    (1..=64).filter(|&signal| is_blocked(signal)).fold(0, |mask, signal| mask | 1 << (signal - 1))
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn block(signal: i32) {
    let mut set = MaybeUninit::uninit();
    // SAFETY: makes a set and blocks what is in it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// One way of taking a lock, which lies in a static.
struct Way {
    lock: fn() -> IrqFlags,
    try_lock: fn() -> Option<IrqFlags>,
    unlock: fn(IrqFlags),
    /// As the handler takes it, and releases it.
    in_handler: fn(),
    /// Another lock of the sort, inside.
    nested: fn() -> IrqFlags,
    unnest: fn(IrqFlags),
}

fn holds_what_it_promises(way: &Way) {
    // A thread of its own: the mask and the handler are.
    thread::scope(|scope| {
        scope.spawn(|| {
            block(libc::SIGUSR2);
            let before = mask();
            assert_eq!(before & (bit(libc::SIGUSR1) | bit(libc::SIGUSR2)), bit(libc::SIGUSR2));

            // The handler takes the same lock: if it came now, it would wait for ever.
            IN_HANDLER.set(Some(way.in_handler));
            let flags = (way.lock)();
            HELD.set(true);
            signal_self();
            HELD.set(false);
            assert_eq!(CAME.get(), 0, "a handler came while the lock was held");
            (way.unlock)(flags);
            assert_eq!(CAME.get(), 1, "the signal was lost");
            assert_eq!(mask(), before);

            // One in another.
            let outer = (way.lock)();
            let all = mask();
            assert_ne!(all & bit(libc::SIGUSR1), 0);
            let inner = (way.nested)();
            assert_eq!(mask(), all);
            (way.unnest)(inner);
            assert_eq!(mask(), all, "an inner release lets no signal in");
            HELD.set(true);
            signal_self();
            HELD.set(false);
            assert_eq!(CAME.get(), 1);
            (way.unlock)(outer);
            assert_eq!((CAME.get(), mask()), (2, before));

            // An attempt that fails, with signals open and with all blocked.
            let flags = (way.lock)();
            thread::scope(|scope| {
                scope.spawn(|| {
                    local_irq_restore(flags);
                    block(libc::SIGHUP);
                    let before = mask();
                    assert!((way.try_lock)().is_none());
                    assert_eq!(mask(), before, "a failed attempt has changed the mask");
                    let saved = local_irq_save();
                    let all = mask();
                    assert!((way.try_lock)().is_none());
                    assert_eq!(mask(), all);
                    local_irq_restore(saved);
                    assert_eq!(mask(), before);
                });
            });
            (way.unlock)(flags);
            let flags = (way.try_lock)().expect("it is free");
            let flags = IrqFlags::from_bits(flags.to_bits());
            HELD.set(true);
            signal_self();
            HELD.set(false);
            assert_eq!(CAME.get(), 2);
            (way.unlock)(flags);
            assert_eq!((CAME.get(), mask()), (3, before));
        });
    });
}

macro_rules! each {
    ($($test:ident: $lock:ty = $new:expr, $take:ident $try:ident $give:ident, $plain:ident $plain_give:ident;)*) => { $(
        #[test]
        fn $test() {
            static LOCK: $lock = $new;
            static OTHER: $lock = $new;
            holds_what_it_promises(&Way {
                lock: || LOCK.$take(),
                try_lock: || LOCK.$try(),
                // SAFETY: taken by the test in this thread.
                unlock: |flags| unsafe { LOCK.$give(flags) },
                in_handler: || {
                    LOCK.$plain();
                    // SAFETY: this handler took `LOCK` in the line above and still holds it.
                    unsafe { LOCK.$plain_give() };
                },
                nested: || OTHER.$take(),
                // SAFETY: taken by the test in this thread.
                unnest: |flags| unsafe { OTHER.$give(flags) },
            });
        }
    )* };
}

each! {
    tas: RawTas<Linux> = RawTas::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    ticket: RawTicket<Linux> = RawTicket::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    k42: RawMcs<Linux> = RawMcs::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    qspinlock: RawQspinlock<Linux> = RawQspinlock::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    pvqspinlock: RawPvQspinlock<Linux, Hybrid> = RawPvQspinlock::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    pvqspinlock_steal_once: RawPvQspinlock<Linux, SingleSteal> = RawPvQspinlock::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    pvqspinlock_unfair: RawPvQspinlock<Linux, Unfair> = RawPvQspinlock::new(), lock_irqsave try_lock_irqsave unlock_irqrestore, lock unlock;
    qrwlock_write: RawQrwLock<Linux> = RawQrwLock::new(), write_lock_irqsave try_write_lock_irqsave write_unlock_irqrestore, write_lock write_unlock;
    seqlock_write: RawSeqLock<Linux> = RawSeqLock::new(), write_lock_irqsave try_write_lock_irqsave write_unlock_irqrestore, write_lock write_unlock;
}

/// A reader's handler writes: what a reader must not be interrupted by. Attempts to read fail while
/// somebody writes.
#[test]
fn qrwlock_read() {
    static LOCK: RawQrwLock<Linux> = RawQrwLock::new();
    static OTHER: RawQrwLock<Linux> = RawQrwLock::new();
    thread_local! {
        static READS: Cell<bool> = const { Cell::new(true) };
    }
    holds_what_it_promises(&Way {
        lock: || LOCK.read_lock_irqsave(),
        // As a writer: readers do not keep each other out.
        try_lock: || LOCK.try_write_lock_irqsave().inspect(|_| READS.set(false)),
        unlock: |flags| match READS.replace(true) {
            // SAFETY: taken so by the test in this thread.
            true => unsafe { LOCK.read_unlock_irqrestore(flags) },
            // SAFETY: `READS` is false, so the test took `LOCK` to write in this thread and got
            // these flags.
            false => unsafe { LOCK.write_unlock_irqrestore(flags) },
        },
        in_handler: || {
            LOCK.write_lock();
            // SAFETY: this thread took `LOCK` with `write_lock` above and still holds it.
            unsafe { LOCK.write_unlock() };
        },
        nested: || OTHER.read_lock_irqsave(),
        // SAFETY: taken by the test in this thread.
        unnest: |flags| unsafe { OTHER.read_unlock_irqrestore(flags) },
    });
    let before = mask();
    let flags = LOCK.write_lock_irqsave();
    let all = mask();
    assert!(LOCK.try_read_lock_irqsave().is_none());
    assert_eq!(mask(), all);
    // SAFETY: `write_lock_irqsave` above took `LOCK` for this thread and returned `flags`.
    unsafe { LOCK.write_unlock_irqrestore(flags) };
    assert_eq!(mask(), before);
    let flags = LOCK.try_read_lock_irqsave().expect("it is free");
    // SAFETY: `try_read_lock_irqsave` above took `LOCK` for this thread and returned `flags`.
    unsafe { LOCK.read_unlock_irqrestore(flags) };
    assert_eq!(mask(), before);
}

#[test]
fn mcs_with_nodes() {
    static LOCK: Mcs<Linux> = Mcs::new();
    static CAME_IN: AtomicU32 = AtomicU32::new(0);
    IN_HANDLER.set(Some(|| {
        let node = Node::new();
        // SAFETY: the node is on this stack until it has been unlocked.
        unsafe {
            LOCK.lock(&node);
            LOCK.unlock(&node);
        }
        CAME_IN.fetch_add(1, Relaxed);
    }));
    let before = mask();
    let (node, other) = (Node::new(), Node::new());
    // SAFETY: both nodes are on this stack, and each is in use for one acquisition at a time.
    unsafe {
        let flags = LOCK.lock_irqsave(&node);
        HELD.set(true);
        signal_self();
        HELD.set(false);
        let all = mask();
        assert!(LOCK.try_lock_irqsave(&other).is_none());
        assert_eq!((mask(), CAME_IN.load(Relaxed)), (all, 0));
        LOCK.unlock_irqrestore(&node, flags);
        assert_eq!((mask(), CAME_IN.load(Relaxed)), (before, 1));
        let flags = LOCK.try_lock_irqsave(&node).expect("it is free");
        LOCK.unlock_irqrestore(&node, flags);
    }
    assert_eq!(mask(), before);
}
