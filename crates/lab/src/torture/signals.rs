//! A storm of signals, and what their handler does.

use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use super::data::Data;
use super::ops::Ops;

const SIGNAL: libc::c_int = libc::SIGUSR2;

/// What the handler does.
pub(super) enum Does {
    /// Takes a lock of its own.
    Lock(Box<dyn Ops>),
    /// Comes and goes.
    Nothing,
}

/// What the handler uses.
struct Handled {
    does: Does,
    data: Data,
    signals: AtomicU64,
    fail: AtomicU64,
}

static HANDLED: AtomicPtr<Handled> = AtomicPtr::new(ptr::null_mut());

/// There is one handler in a process.
static STORM: Mutex<()> = Mutex::new(());

extern "C" fn handle(_signal: libc::c_int) {
    // SAFETY: errno is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    // Acquire: pairs with the Release in `Storm::new`.
    // SAFETY: null, or kept until no thread gets signals any more.
    if let Some(handled) = unsafe { HANDLED.load(Acquire).as_ref() } {
        handled.signals.fetch_add(1, Relaxed);
        match &handled.does {
            Does::Lock(lock) => {
                lock.writelock();
                let alone = handled.data.write(|| ());
                // SAFETY: taken above.
                unsafe { lock.writeunlock() };
                handled.fail.fetch_add(u64::from(!alone), Relaxed);
            }
            Does::Nothing => {}
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The threads that get signals.
#[derive(Default)]
pub(super) struct Targets(Mutex<Vec<libc::pthread_t>>);

impl AsRef<Self> for Targets {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// The calling thread among them, until dropped.
pub(super) struct Target<'a>(&'a Targets);

impl Targets {
    pub fn join(&self) -> Target<'_> {
        // SAFETY: always there.
        self.0.lock().unwrap().push(unsafe { libc::pthread_self() });
        Target(self)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        // SAFETY: always there.
        let me = unsafe { libc::pthread_self() };
        self.0.0.lock().unwrap().retain(|thread| *thread != me);
    }
}

/// A storm, until ended.
pub(super) struct Storm {
    handled: *mut Handled,
    stop: Arc<AtomicBool>,
    sender: JoinHandle<()>,
    _alone: MutexGuard<'static, ()>,
}

impl Storm {
    /// Sends signals to all targets, one after the other, all the time.
    pub fn new(does: Does, targets: Arc<impl AsRef<Targets> + Send + Sync + 'static>) -> Self {
        let alone = STORM.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let handled = Box::into_raw(Box::new(Handled {
            does,
            data: Data::default(),
            signals: AtomicU64::new(0),
            fail: AtomicU64::new(0),
        }));
        // Release: pairs with the Acquire in `handle`.
        HANDLED.store(handled, Release);
        // SAFETY: zeros are a sigaction: no flags, so that waits are interrupted, and an empty
        // mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
            assert_eq!(libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()), 0);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sender = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                for thread in (*targets).as_ref().0.lock().unwrap().iter() {
                    // SAFETY: it has not ended, as it leaves the list before.
                    unsafe { libc::pthread_kill(*thread, SIGNAL) };
                }
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        Self { handled, stop, sender, _alone: alone }
    }

    /// Ends it: signals handled, and those whose handler was not alone under its lock. `stalled`:
    /// threads are left, which may have a handler that waits.
    pub fn end(self, stalled: bool) -> (u64, u64) {
        self.stop.store(true, Relaxed);
        self.sender.join().expect("the sender panicked");
        // SAFETY: ours, see below.
        let handled = unsafe { &*self.handled };
        let result = (handled.signals.load(Relaxed), handled.fail.load(Relaxed));
        HANDLED.store(ptr::null_mut(), Relaxed);
        if !stalled {
            // SAFETY: from a box; all targets have ended, and the handlers with them.
            drop(unsafe { Box::from_raw(self.handled) });
        }
        result
    }
}
