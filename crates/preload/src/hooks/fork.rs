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

use super::inherited::{self, Inherited};
use crate::real::{self, Handler};
use crate::{meter, objects, state, sys, tls};

/// What the forking thread holds, for its child. More than this many are not carried over.
const MOST: usize = 64;

struct Snapshot {
    /// 1 while a fork is under way: several threads may fork at once.
    busy: AtomicU32,
    /// How many locks there are in [`LOCKS`] and in [`LEFT_BEHIND`].
    lens: UnsafeCell<[usize; 2]>,
}

// SAFETY: written by whoever holds `busy`, read by its child.
unsafe impl Sync for Snapshot {}

#[unsafe(link_section = "lockwright_forked")]
static SNAPSHOT: Snapshot = Snapshot { busy: AtomicU32::new(0), lens: UnsafeCell::new([0; 2]) };

struct Locks(UnsafeCell<[Inherited; MOST]>);

// SAFETY: as `Snapshot`.
unsafe impl Sync for Locks {}

/// The first of them are in the snapshot.
static LOCKS: Locks = Locks(UnsafeCell::new([Inherited::NONE; MOST]));

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
        tls::set_leaves(false);
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

/// Takes the snapshot. Where nothing is held it is given back at once: `parent` would have to do that after the fork,
/// when the kernel copies the page for it, as the child has it, too.
///
/// # Safety
/// It is the calling thread's.
pub unsafe fn take() {
    // A forked child that has used no lock yet: what its parent held is its own child's, too.
    if state::status() == state::FORKED {
        tls::set_leaves(true);
        return;
    }
    // SAFETY: the caller's promise; the state is the calling thread's.
    let (locks, left, thread) =
        unsafe { (&mut *LOCKS.0.get(), &mut *LEFT_BEHIND.0.get(), tls::get().as_ref()) };
    let held = thread.map_or(&[][..], ThreadState::held);
    let (mut len, mut left_len) = (0, 0);
    state::with_core(|core| {
        for (lock, held) in locks.iter_mut().zip(held) {
            let kind = core.kind_of(Ident::new(held.inst, held.class));
            *lock = Inherited::new(held, kind);
            len += 1;
        }
        core.held_by_others(thread.map_or(0, ThreadState::id), |thread, held, site| {
            if left_len < MOST {
                let ident = Ident::new(held.inst, held.class);
                left[left_len] = Left { addr: held.addr, ident, site, thread, is_shared: false };
                left_len += 1;
            }
        });
    });
    let (locks, left) = (&mut locks[..len], &mut left[..left_len]);
    let own = locks.iter_mut().map(Inherited::sharing);
    inherited::find_shared(own.chain(left.iter_mut().map(Left::sharing)));
    // SAFETY: the caller's promise.
    unsafe { *SNAPSHOT.lens.get() = [len, left_len] };
    match len + left_len {
        0 => SNAPSHOT.busy.store(0, Release),
        _ => tls::set_leaves(true),
    }
}

/// In the parent: the snapshot is free again.
pub unsafe extern "C" fn parent() {
    if tls::leaves() {
        tls::set_leaves(false);
        SNAPSHOT.busy.store(0, Release);
    }
}

/// In the child: all that there is is the parent's.
pub unsafe extern "C" fn child() {
    match tls::leaves() {
        true => tls::set_leaves(false),
        // What is there is of an earlier fork, or of one by another thread at the same time.
        false => {
            // SAFETY: the child's copy; it has one thread.
            unsafe { *SNAPSHOT.lens.get() = [0; 2] };
        }
    }
    tls::detach();
    tls::set_closed(false);
    meter::forked();
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
    /// Which lock it is to the parent.
    ident: Ident,
    /// Where it was taken: a return address.
    pub site: u64,
    /// By which thread, in the parent's ledger.
    pub thread: u32,
    /// It lies in memory that the child shares: the parent may release it yet.
    is_shared: bool,
}

impl Left {
    /// Part of [`inherited::find_shared`]'s question.
    fn sharing(&mut self) -> (u64, Ident, &mut bool) {
        (self.addr, self.ident, &mut self.is_shared)
    }
}

struct LeftBehind(UnsafeCell<[Left; MOST]>);

// SAFETY: written by whoever holds `SNAPSHOT.busy`, read by its child.
unsafe impl Sync for LeftBehind {}

static LEFT_BEHIND: LeftBehind = LeftBehind(UnsafeCell::new(
    [Left { addr: 0, ident: Ident::NONE, site: 0, thread: 0, is_shared: false }; MOST],
));

/// In a child: how another thread of the parent took the lock at `addr`, if one held it at the fork.
pub fn left_behind(addr: u64) -> Option<Left> {
    if !IS_CHILD.load(Relaxed) {
        return None;
    }
    // SAFETY: written before the fork.
    let left = unsafe { &(&*LEFT_BEHIND.0.get())[..(*SNAPSHOT.lens.get())[1]] };
    left.iter().copied().find(|left| left.addr == addr && !left.is_shared)
}

/// This process was forked from a watched one.
#[unsafe(link_section = "lockwright_forked")]
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// In the child: what the forking thread held, outermost first.
pub fn inherited() -> &'static [Inherited] {
    // SAFETY: written before the fork. What the child changes it changes while it has one thread.
    unsafe { &(&*LOCKS.0.get())[..(*SNAPSHOT.lens.get())[0]] }
}

/// As [`inherited`], to be changed.
///
/// # Safety
/// In a child that has one thread, which has no other reference to them.
pub unsafe fn inherited_mut() -> &'static mut [Inherited] {
    // SAFETY: the caller's promise.
    unsafe { &mut (&mut *LOCKS.0.get())[..(*SNAPSHOT.lens.get())[0]] }
}

/// In a child: the lock at `addr` as the forking thread held it, if the child has got it from there.
pub fn inherited_at(addr: u64) -> Option<&'static Inherited> {
    if !IS_CHILD.load(Relaxed) {
        return None;
    }
    inherited().iter().find(|lock| lock.held.addr == addr && lock.ident != Ident::NONE)
}

/// In a child: the forking thread held the lock at `addr` at the fork, and the child got it.
pub fn is_inherited(addr: u64) -> bool {
    inherited_at(addr).is_some()
}

/// In a child that is not watched yet: it has unlocked the lock at `addr`, which it holds no more. Most
/// children that unlock what their parent locked for them exec next, and need no ledger.
pub fn unlocked(addr: u64) {
    if state::status() != state::FORKED {
        return;
    }
    // SAFETY: a child without a ledger has one thread.
    if let Some(lock) = unsafe { inherited_mut() }.iter_mut().rfind(|lock| lock.held.addr == addr) {
        match recursions(&lock.held) {
            0 => lock.held.addr = 0,
            _ => lock.held.recursion -= 1,
        }
    }
}

/// In a child that is not watched yet: its thread, if it holds the lock at `addr` from before the fork.
pub fn holder(addr: u64) -> Option<&'static mut ThreadState> {
    let is_held =
        state::status() == state::FORKED && inherited().iter().any(|lock| lock.held.addr == addr);
    is_held.then(super::watch::thread)?
}
