//! A storm of signals, and what their handler does.

use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use super::data::Data;
use super::ops::Ops;
use super::random::Random;

const SIGNAL: libc::c_int = libc::SIGUSR2;

/// Takes a lock, works under it, and gives it up. False: somebody else was there.
pub(super) type Takes = Box<dyn Fn() -> bool + Send + Sync>;

/// Takes `lock`, which guards `data`.
pub(super) fn take(lock: &dyn Ops, data: &Data) -> bool {
    lock.writelock();
    let alone = data.write(|| ());
    // SAFETY: `writelock` above took `lock` for this thread.
    unsafe { lock.writeunlock() };
    alone
}

/// What the handler does. By default it comes and goes.
#[derive(Default)]
pub(super) struct Handler {
    /// A lock that it takes, and gives up again. Whether it was alone under it.
    pub takes: Option<Takes>,
    /// A seed, if it sometimes sleeps, and so stops the thread wherever that is, also with a lock
    /// held.
    pub stops: Option<u64>,
    /// What the threads have done outside of it. While that stays as it is, signals come less and
    /// less often: threads that leave one handler for the next would never end.
    pub progress: Option<Progress>,
}

/// Counts something.
pub(super) type Progress = Box<dyn Fn() -> u64 + Send>;

/// Between two signals to a thread that makes progress.
const INTERVAL: Duration = Duration::from_micros(20);

/// Between two signals to threads that make none, at last.
const LONGEST_INTERVAL: Duration = Duration::from_millis(100);

/// One in so many signals stops its thread.
const SIGNALS_PER_STOP: u64 = 64;

/// A stop is shorter than this, in nanoseconds: of the length of a time slice.
const LONGEST_STOP: u64 = 4_000_000;

/// What the handler uses.
struct Handled {
    takes: Option<Takes>,
    /// Seed of the numbers that say whether a signal stops its thread, and how long; 0: none does.
    stops: u64,
    signals: AtomicU64,
    stopped: AtomicU64,
    fail: AtomicU64,
}

/// What the signals have come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handlings {
    pub signals: u64,
    pub stops: u64,
    /// Those whose handler was not alone under its lock.
    pub fail: u64,
}

impl Handled {
    fn handlings(&self) -> Handlings {
        Handlings {
            signals: self.signals.load(Relaxed),
            stops: self.stopped.load(Relaxed),
            fail: self.fail.load(Relaxed),
        }
    }

    fn handle(&self) {
        let signal = self.signals.fetch_add(1, Relaxed);
        if let Some(takes) = &self.takes {
            self.fail.fetch_add(u64::from(!takes()), Relaxed);
        }
        if self.stops != 0 {
            self.stop(&mut Random::new(self.stops.wrapping_add(signal)));
        }
    }

    /// Sleeps now and then.
    fn stop(&self, random: &mut Random) {
        if !random.once_in(SIGNALS_PER_STOP) {
            return;
        }
        self.stopped.fetch_add(1, Relaxed);
        let tv_nsec = random.below(LONGEST_STOP) as libc::c_long;
        let time = libc::timespec { tv_sec: 0, tv_nsec };
        // SAFETY: a time; nobody wants to know what is left of it.
        unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
    }
}

static HANDLED: AtomicPtr<Handled> = AtomicPtr::new(ptr::null_mut());

/// There is one handler in a process.
static STORM: Mutex<()> = Mutex::new(());

extern "C" fn handle(_signal: libc::c_int) {
    // SAFETY: `errno` is this thread's own, and only the interrupted code of the same thread uses
    // it too.
    let errno = unsafe { *libc::__errno_location() };
    // Acquire: pairs with the Release in `Storm::new`.
    // SAFETY: null, or kept until no thread gets signals any more.
    if let Some(handled) = unsafe { HANDLED.load(Acquire).as_ref() } {
        handled.handle();
    }
    // SAFETY: `errno` is this thread's own, and only the interrupted code of the same thread uses
    // it too.
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
    /// Does something to each.
    pub fn each(&self, does: impl Fn(libc::pthread_t)) {
        // None of them ends meanwhile, as it leaves the list before.
        self.0.lock().unwrap().iter().for_each(|thread| does(*thread));
    }

    /// Adds the calling thread.
    pub fn join(&self) -> Target<'_> {
        // SAFETY: `pthread_self` takes no arguments and only names the calling thread.
        self.0.lock().unwrap().push(unsafe { libc::pthread_self() });
        Target(self)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        // SAFETY: `pthread_self` takes no arguments and only names the calling thread.
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
    /// Sends signals to all targets, one after the other, all the time that they stand it.
    pub fn new(
        handler: Handler,
        targets: Arc<impl AsRef<Targets> + Send + Sync + 'static>,
    ) -> Self {
        let alone = STORM.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let handled = Box::into_raw(Box::new(Handled {
            takes: handler.takes,
            stops: handler.stops.map_or(0, |seed| seed.max(1)),
            signals: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
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
            let (mut interval, mut done) = (INTERVAL, None);
            while !stopped.load(Relaxed) {
                (*targets).as_ref().each(|thread| {
                    // SAFETY: a thread that has not ended.
                    unsafe { libc::pthread_kill(thread, SIGNAL) };
                });
                std::thread::sleep(interval);
                let now = handler.progress.as_ref().map(|progress| progress());
                let stuck = now.is_some() && now == done;
                interval = if stuck { (2 * interval).min(LONGEST_INTERVAL) } else { INTERVAL };
                done = now;
            }
        });
        Self { handled, stop, sender, _alone: alone }
    }

    /// What the signals have come to until now.
    pub fn handlings(&self) -> Handlings {
        // SAFETY: ours until `end` has freed it.
        unsafe { &*self.handled }.handlings()
    }

    /// Ends it. `stalled`: threads are left, which may have a handler that waits.
    pub fn end(self, stalled: bool) -> Handlings {
        self.stop.store(true, Relaxed);
        self.sender.join().expect("the sender panicked");
        // SAFETY: the box behind `handled` is ours, and only the code below frees it.
        let result = unsafe { &*self.handled }.handlings();
        HANDLED.store(ptr::null_mut(), Relaxed);
        if !stalled {
            // SAFETY: from a box; all targets have ended, and the handlers with them.
            drop(unsafe { Box::from_raw(self.handled) });
        }
        result
    }
}
