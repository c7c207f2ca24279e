//! The locks that the forking thread held, as its child has them: known by its address and by the
//! identity that the parent gave it.
//!
//! A lock's memory is not touched for that. The child may have unmapped it since, or it may be its
//! own data by now: the block was freed, or the function returned in whose frame the lock was. Only
//! when the program itself names a lock at that address is it looked at: if it carries the parent's
//! stamp, it is the inherited lock; else it is another.
//!
//! A lock in memory that the two share is still the parent's, who will release it: the child has
//! nothing of it.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use lockwright_engines::lockdep::{Core, Ident, MAX_FRAMES, ThreadState, recursions};
use lockwright_ledger::rows::{Class, Held, Node, class_origin, held_flag, lock_kind};

use super::{spinning, unstamped};
use crate::os::{sys, time, tls};
use crate::recorder::state;
use crate::stack::modules;

/// A lock that the forking thread held.
#[derive(Clone, Copy)]
pub struct Inherited {
    /// As the parent's thread held it, with the parent's identity.
    pub held: Held,
    /// One of [`lock_kind`].
    kind: u8,
    /// It lies in memory that the child shares.
    is_shared: bool,
    /// What the child calls it; [`Ident::NONE`] if the child has not got it.
    pub ident: Ident,
    /// Where the parent took it: a stack in the child's ledger.
    pub stack: u32,
}

impl Inherited {
    /// No lock.
    pub const NONE: Self = Self {
        held: Held {
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
        },
        kind: 0,
        is_shared: false,
        ident: Ident::NONE,
        stack: 0,
    };

    /// What the forking thread has in `held`.
    pub const fn new(held: &Held, kind: u8) -> Self {
        Self { held: *held, kind, ..Self::NONE }
    }

    /// What the parent calls it.
    fn parents_ident(&self) -> Ident {
        Ident::new(self.held.inst, self.held.class)
    }

    /// Part of [`find_shared`]'s question.
    pub fn sharing(&mut self) -> (u64, Ident, &mut bool) {
        (self.held.addr, self.parents_ident(), &mut self.is_shared)
    }

    /// The child's thread holds it. A semaphore may be another thread's to post, and that one is
    /// not here.
    fn is_childs(&self) -> bool {
        self.held.is_held()
            && self.held.class != 0
            && self.held.flags & held_flag::SEMAPHORE == 0
            && !self.is_shared
    }
}

/// In the parent: which of the locks, each with its address and identity, lie in memory that a
/// child shares. What carries a stamp is by its attributes for one process only; the kernel is
/// asked about the others.
pub fn find_shared<'a>(locks: impl Iterator<Item = (u64, Ident, &'a mut bool)>) {
    for (addr, ident, is_shared) in locks {
        *is_shared = unstamped::find(addr) == Some(ident) && modules::is_shared(addr);
    }
}

/// The child's ledger begins: has the inherited locks be locks of it, taken where the parent says.
pub fn begin(core: &mut Core, parent: &Core) {
    // SAFETY: the child's first thread, before there is another.
    for lock in unsafe { inherited_mut() } {
        lock.ident = Ident::NONE;
        if !lock.is_childs() {
            continue;
        }
        // User-defined locks are only known by their address.
        let kind = match lock.kind {
            kind @ lock_kind::MUTEX..=lock_kind::SPIN => kind,
            _ => 0,
        };
        lock.ident = core.inherited_lock(kind, lock.held.class).unwrap_or(Ident::NONE);
        spinning::note(core, lock.ident);
        let stack = parent.ledger().get::<Node>(lock.held.node).map_or(0, |node| node.stack);
        let mut frames = [0; MAX_FRAMES];
        let n = parent.read_stack(stack, &mut frames);
        lock.stack = core.stack(&frames[..n]);
    }
}

/// What the child calls the lock at `addr` that its parent called `parents`, if it inherited it.
pub fn known(addr: u64, parents: Ident) -> Option<Ident> {
    inherited_at(addr).filter(|lock| lock.parents_ident() == parents).map(|lock| lock.ident)
}

/// The program has met the lock `ident` at `addr`: an inherited one that was there is gone, if that
/// is another.
pub fn met(core: &mut Core, addr: u64, ident: Ident) {
    let Some(gone) = inherited_at(addr).filter(|lock| lock.ident != ident) else { return };
    if core.holder_in(addr, addr + 1).is_some_and(|holder| holder.ident == gone.ident) {
        // SAFETY: the calling thread's state, or null.
        let own = unsafe { tls::get().as_mut() };
        if !own.is_some_and(|thread| thread.release(addr)) {
            core.released_by_other(addr, gone.ident);
        }
    }
}

// --- the snapshot that a fork takes

/// What the forking thread holds, for its child. More than this many are not carried over.
const MOST: usize = 64;

struct Snapshot {
    /// 1 while a fork is under way: several threads may fork at once.
    busy: AtomicU32,
    /// How many locks there are in [`LOCKS`] and in [`LEFT_BEHIND`].
    lens: UnsafeCell<[usize; 2]>,
}

// SAFETY: the holder of `busy` writes it, and its child reads it.
unsafe impl Sync for Snapshot {}

#[unsafe(link_section = "lockwright_forked")]
static SNAPSHOT: Snapshot = Snapshot { busy: AtomicU32::new(0), lens: UnsafeCell::new([0; 2]) };

struct Locks(UnsafeCell<[Inherited; MOST]>);

// SAFETY: the holder of the snapshot's `busy` writes them, and its child reads them.
unsafe impl Sync for Locks {}

/// The first of them are in the snapshot.
static LOCKS: Locks = Locks(UnsafeCell::new([Inherited::NONE; MOST]));

/// When this process, or a parent of it without a ledger, last forked or was forked, CLOCK_MONOTONIC; 0 if that never was.
#[unsafe(link_section = "lockwright_forked")]
static FORKED_NS: AtomicU64 = AtomicU64::new(0);

/// A fork is about to be, or has been. The child finds here when it was: before all that its parent does afterwards.
fn note_time() {
    FORKED_NS.store(time::now_ns(), Relaxed);
}

/// When this process, which has no ledger yet, was forked from a watched one, if it was.
pub fn forked_ns() -> Option<u64> {
    let at = FORKED_NS.load(Relaxed);
    (at != 0).then_some(at)
}

/// Makes the snapshot the calling thread's. A fork lasts microseconds.
pub fn reserve() -> bool {
    // Acquire pairs with the Release in `release`.
    let is_taken = SNAPSHOT.busy.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
    if !is_taken {
        sys::futex_wait(&SNAPSHOT.busy, 1, 1_000_000);
    }
    is_taken
}

/// Takes the snapshot. Where nothing is held it is given back at once: [`release`] would have to do
/// that after the fork, when the kernel copies the page for it, as the child has it, too.
///
/// # Safety
/// It is the calling thread's.
pub unsafe fn take() {
    note_time();
    // A forked child that has used no lock yet: what its parent held is its own child's, too.
    if state::status() == state::FORKED {
        tls::set_leaves(true);
        return;
    }
    // SAFETY: the caller promises that the snapshot is this thread's; the state is the thread's
    // own, and only read.
    let (locks, left, thread) =
        unsafe { (&mut *LOCKS.0.get(), &mut *LEFT_BEHIND.0.get(), tls::get().as_ref()) };
    let held = thread.into_iter().flat_map(ThreadState::held);
    let (mut len, mut left_len) = (0, 0);
    state::with_core(|core| {
        for (lock, held) in locks.iter_mut().zip(held) {
            let kind = core.kind_of(Ident::new(held.inst, held.class));
            *lock = Inherited::new(&held, kind);
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
    find_shared(own.chain(left.iter_mut().map(Left::sharing)));
    // SAFETY: the caller promises that the snapshot is this thread's, so nobody else reads or
    // writes the lengths.
    unsafe { *SNAPSHOT.lens.get() = [len, left_len] };
    match len + left_len {
        0 => SNAPSHOT.busy.store(0, Release),
        _ => tls::set_leaves(true),
    }
}

/// In the parent, after the fork: the snapshot is free again.
pub fn release() {
    if tls::leaves() {
        tls::set_leaves(false);
        SNAPSHOT.busy.store(0, Release);
    }
}

/// In the child: the snapshot is its parent's.
pub fn forked() {
    match tls::leaves() {
        true => tls::set_leaves(false),
        // What is there is of an earlier fork, or of one by another thread at the same time.
        // SAFETY: the child's copy; it has one thread.
        false => unsafe { *SNAPSHOT.lens.get() = [0; 2] },
    }
    SNAPSHOT.busy.store(0, Relaxed);
    IS_CHILD.store(true, Relaxed);
}

/// In a child, before [`forked`]: there is no snapshot for it.
pub fn forget() {
    note_time();
    tls::set_leaves(false);
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
    /// Part of [`find_shared`]'s question.
    fn sharing(&mut self) -> (u64, Ident, &mut bool) {
        (self.addr, self.ident, &mut self.is_shared)
    }
}

struct LeftBehind(UnsafeCell<[Left; MOST]>);

// SAFETY: the holder of `SNAPSHOT.busy` writes it, and its child reads it.
unsafe impl Sync for LeftBehind {}

static LEFT_BEHIND: LeftBehind = LeftBehind(UnsafeCell::new(
    [Left { addr: 0, ident: Ident::NONE, site: 0, thread: 0, is_shared: false }; MOST],
));

/// In a child: how another thread of the parent took the lock `ident` at `addr`, if one held it at
/// the fork. A lock that the child has initialised there since is another: CPython does so in a
/// handler of forks.
pub fn left_behind(addr: u64, ident: Ident) -> Option<Left> {
    if !IS_CHILD.load(Relaxed) {
        return None;
    }
    // SAFETY: the forking thread wrote both before the fork, and in the child nobody writes them.
    let left = unsafe { &(&*LEFT_BEHIND.0.get())[..(*SNAPSHOT.lens.get())[1]] };
    let left = left.iter().find(|left| left.addr == addr && !left.is_shared)?;
    let class = state::with_core(|core| core.ledger().get::<Class>(ident.class()).copied())??;
    let is_parents = class.origin == class_origin::INHERITED && class.parent == left.ident.class();
    is_parents.then_some(*left)
}

/// This process was forked from a watched one.
#[unsafe(link_section = "lockwright_forked")]
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// In the child: what the forking thread held, outermost first.
pub fn inherited() -> &'static [Inherited] {
    // SAFETY: written before the fork. What the child changes it changes while it has one thread.
    unsafe { &(&*LOCKS.0.get())[..(*SNAPSHOT.lens.get())[0]] }
}

/// In the child: what its thread is to hold of it.
pub fn to_hold() -> impl Iterator<Item = &'static Inherited> {
    inherited().iter().filter(|lock| lock.ident != Ident::NONE)
}

/// As [`inherited`], to be changed.
///
/// # Safety
/// In a child that has one thread, which has no other reference to them.
pub unsafe fn inherited_mut() -> &'static mut [Inherited] {
    // SAFETY: the caller promises one thread and no other reference to the locks.
    unsafe { &mut (&mut *LOCKS.0.get())[..(*SNAPSHOT.lens.get())[0]] }
}

/// In a child: the lock at `addr` as the forking thread held it, if the child has got it from
/// there.
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

/// In a child that is not watched yet: it has unlocked the lock at `addr`, which it holds no more.
/// Most children that unlock what their parent locked for them exec next, and need no ledger.
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
