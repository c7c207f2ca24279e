//! The local lock, against nested sections and signal handlers.

#![cfg(feature = "std")]

use std::cell::Cell;
use std::sync::Once;
use std::thread;

use lockwright::local_lock::RawLocalLock;
use lockwright::platform::linux::Linux;

thread_local! {
    static LOCK: RawLocalLock<Linux> = const { RawLocalLock::new() };
    static CAME: Cell<u32> = const { Cell::new(0) };
    static GOT: Cell<u32> = const { Cell::new(0) };
}

fn handler() {
    CAME.set(CAME.get() + 1);
    LOCK.with(|lock| {
        if lock.try_lock() {
            GOT.set(GOT.get() + 1);
            // SAFETY: this thread took `lock` with `try_lock` above and still holds it.
            unsafe { lock.unlock() };
        }
    });
}

extern "C" fn on_signal(_signal: libc::c_int) {
    handler();
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

/// How often the handler came, and got the lock, since the last question.
fn handled() -> (u32, u32) {
    (CAME.take(), GOT.take())
}

#[test]
fn a_handler_is_refused_in_a_section_and_welcome_outside() {
    LOCK.with(|lock| {
        lock.lock();
        signal_self();
        assert_eq!(handled(), (1, 0));
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
        signal_self();
        assert_eq!(handled(), (1, 1));
        assert!(!lock.is_locked());
    });
}

#[test]
fn a_section_that_blocks_signals_has_them_after_its_end() {
    LOCK.with(|lock| {
        let signals = lock.lock_irqsave();
        signal_self();
        assert_eq!(handled(), (0, 0));
        // SAFETY: `lock_irqsave` above took `lock` for this thread and returned `signals`.
        unsafe { lock.unlock_irqrestore(signals) };
        assert_eq!(handled(), (1, 1));
    });
}

#[test]
#[should_panic(expected = "in another section")]
fn a_section_in_a_section_panics() {
    let lock = RawLocalLock::<Linux>::new();
    lock.lock();
    lock.lock();
}

#[test]
fn threads_have_nothing_to_do_with_each_other() {
    LOCK.with(RawLocalLock::lock);
    thread::spawn(|| {
        LOCK.with(|lock| {
            assert!(lock.try_lock());
            // SAFETY: this thread took `lock` with `try_lock` above and still holds it.
            unsafe { lock.unlock() };
        });
    })
    .join()
    .unwrap();
    // SAFETY: this thread took its own `LOCK` in the first line, and still holds it.
    LOCK.with(|lock| unsafe { lock.unlock() });
}
