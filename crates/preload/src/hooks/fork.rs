//! fork: the child has one thread, a copy of our memory and the parent's mapping. It gets a ledger of
//! its own, made when it first uses a lock: most children exec soon.
//!
//! Of a fork we hear by handlers of our own. A child's run in the order of their registration, and they may use locks
//! (those of an allocator do): so ours have to be registered before all others.
//!
//! Of forks that run no handlers, others tell ([`super::unheard`]), or they are noticed when the child comes to us
//! ([`unseen`]).

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

use lockwright_engines::lockdep::{Ident, ThreadState, recursions};
use lockwright_ledger::rows::Held;

use crate::real::{self, Handler};
use crate::{meter, modules, objects, state, sys, tls};

/// What the forking thread holds, for its child. More than this many are not carried over.
const MOST: usize = 64;

struct Snapshot {
    /// 1 while a fork is under way: several threads may fork at once.
    busy: AtomicU32,
    len: UnsafeCell<usize>,
    held: UnsafeCell<[Held; MOST]>,
    /// What each is.
    kinds: UnsafeCell<[u8; MOST]>,
}

// SAFETY: written by whoever holds `busy`, read by its child.
unsafe impl Sync for Snapshot {}

static SNAPSHOT: Snapshot = Snapshot {
    busy: AtomicU32::new(0),
    len: UnsafeCell::new(0),
    held: UnsafeCell::new(
        [Held {
            addr: 0,
            key: 0,
            site: 0,
            inst: 0,
            class: 0,
            node: 0,
            mode: 0,
            flags: 0,
            recursion: 0,
            pin: 0,
            trial: [0; 2],
        }; MOST],
    ),
    kinds: UnsafeCell::new([0; MOST]),
};

/// Asks to be told of forks.
pub fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Relaxed) {
        // By `pthread_atfork` our own module would be named, which need not be: a preloaded library is never unloaded.
        // SAFETY: the handlers stay loaded.
        unsafe {
            real::__register_atfork(Some(prepare), Some(parent), Some(child), core::ptr::null())
        };
    }
}

/// Stands in front of what `pthread_atfork` calls. The first may come before our constructor runs; until something is
/// watched our handlers have nothing to do.
///
/// # Safety
/// As the function itself.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    dso: *const c_void,
) -> c_int {
    register();
    // SAFETY: forwarded.
    unsafe { real::__register_atfork(prepare, parent, child, dso) }
}

/// In a child of a fork that our handlers were not told of. What its parent's thread held it does not hold: of locks
/// such a child may do nothing with them.
pub fn unseen() {
    // SAFETY: the child's copy; it has one thread.
    unsafe {
        *SNAPSHOT.len.get() = 0;
        *LEFT_BEHIND.len.get() = 0;
        child();
    }
}

/// Makes the snapshot the calling thread's. A fork lasts microseconds.
pub fn is_taken() -> bool {
    // Acquire pairs with the Release in `parent`.
    let is_taken = SNAPSHOT.busy.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
    if !is_taken {
        sys::futex_wait(&SNAPSHOT.busy, 1, 1_000_000);
    }
    is_taken
}

unsafe extern "C" fn prepare() {
    while !is_taken() {}
    // SAFETY: it is ours.
    unsafe { take() };
}

/// Takes the snapshot.
///
/// # Safety
/// It is the calling thread's.
pub unsafe fn take() {
    // SAFETY: the caller's promise; the state is the calling thread's.
    unsafe {
        let held = tls::get().as_ref().map_or(&[][..], |thread| thread.held());
        let n = held.len().min(MOST);
        (&mut *SNAPSHOT.held.get())[..n].copy_from_slice(&held[..n]);
        *SNAPSHOT.len.get() = n;
        let kinds = &mut *SNAPSHOT.kinds.get();
        state::with_core(|core| {
            for (kind, held) in kinds.iter_mut().zip(&held[..n]) {
                *kind = core.kind_of(Ident::new(held.inst, held.class));
            }
        });
        let own = tls::get().as_ref().map_or(0, |thread| thread.id());
        let mut n = 0;
        let left = &mut *LEFT_BEHIND.locks.get();
        state::with_core(|core| {
            core.held_by_others(own, |thread, held, site| {
                if n < MOST {
                    left[n] = Left { addr: held.addr, site, thread };
                    n += 1;
                }
            });
        });
        *LEFT_BEHIND.len.get() = n;
    }
}

/// In the parent: the snapshot is free again.
pub unsafe extern "C" fn parent() {
    SNAPSHOT.busy.store(0, Release);
}

/// In the child: all that there is is the parent's.
pub unsafe extern "C" fn child() {
    tls::detach();
    tls::set_closed(false);
    meter::forked();
    modules::forget();
    IS_CHILD.store(true, Relaxed);
    state::forked();
    objects::forked();
    SNAPSHOT.busy.store(0, Relaxed);
}

/// A lock that another thread of the parent held at the fork.
#[derive(Clone, Copy)]
pub struct Left {
    /// Its address.
    pub addr: u64,
    /// Where it was taken: a return address.
    pub site: u64,
    /// By which thread, in the parent's ledger.
    pub thread: u32,
}

struct LeftBehind {
    len: UnsafeCell<usize>,
    locks: UnsafeCell<[Left; MOST]>,
}

// SAFETY: written by whoever holds `SNAPSHOT.busy`, read by its child.
unsafe impl Sync for LeftBehind {}

static LEFT_BEHIND: LeftBehind = LeftBehind {
    len: UnsafeCell::new(0),
    locks: UnsafeCell::new([Left { addr: 0, site: 0, thread: 0 }; MOST]),
};

/// In a child: how another thread of the parent took the lock at `addr`, if one held it at the fork.
pub fn left_behind(addr: u64) -> Option<Left> {
    if !IS_CHILD.load(Relaxed) {
        return None;
    }
    // SAFETY: written before the fork.
    let left = unsafe { &(&*LEFT_BEHIND.locks.get())[..*LEFT_BEHIND.len.get()] };
    left.iter().copied().find(|left| left.addr == addr)
}

/// This process was forked from a watched one.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// In the child: what the forking thread held, outermost first, and what kind of lock each is.
pub fn inherited() -> impl Iterator<Item = (&'static Held, u8)> {
    // SAFETY: written before the fork; the child has one thread and forks no grandchild meanwhile.
    let (held, kinds) =
        unsafe { (&(&*SNAPSHOT.held.get())[..*SNAPSHOT.len.get()], &*SNAPSHOT.kinds.get()) };
    held.iter().zip(kinds.iter().copied())
}

/// In a child: the forking thread held the lock at `addr` at the fork.
pub fn is_inherited(addr: u64) -> bool {
    IS_CHILD.load(Relaxed) && inherited().any(|(held, _)| held.addr == addr)
}

/// In a child that is not watched yet: it has unlocked the lock at `addr`, which it holds no more. Most
/// children that unlock what their parent locked for them exec next, and need no ledger.
pub fn unlocked(addr: u64) {
    if state::status() != state::FORKED {
        return;
    }
    // SAFETY: as in `inherited`; nobody else reads it now.
    let held = unsafe { &mut (&mut *SNAPSHOT.held.get())[..*SNAPSHOT.len.get()] };
    if let Some(held) = held.iter_mut().rfind(|held| held.addr == addr) {
        match recursions(held) {
            0 => held.addr = 0,
            _ => held.recursion -= 1,
        }
    }
}

/// In a child that is not watched yet: its thread, if it holds the lock at `addr` from before the fork.
pub fn holder(addr: u64) -> Option<&'static mut ThreadState> {
    let is_held =
        state::status() == state::FORKED && inherited().any(|(held, _)| held.addr == addr);
    is_held.then(super::watch::thread)?
}
