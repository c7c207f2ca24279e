//! The fast path: the calling thread's held locks, its chain key, and the keys it has validated.
//! No lock, no table but the thread's own.
//!
//! A signal handler may run between any two instructions here, on the same state, and leaves it as
//! it found it. Hence the order of stores: an entry is reserved (depth) before it is filled, `addr`
//! comes last and goes first, so that a handler pushes above whatever is in flux.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, compiler_fence};
use core::sync::atomic::{Ordering, fence};

use lockwright_ledger::rows::{Held, Thread, held_flag};

use super::{Acquire, key};

/// Entries of the validated-key cache. Direct mapped; 16 KiB a thread, of which a program touches
/// as many lines as it has chains.
const CACHE: usize = 1024;

/// Held locks that fit before the array is moved to a larger one.
pub(super) const FIRST_HELD: u32 = 64;

#[derive(Clone, Copy)]
#[repr(C)]
struct CacheSlot {
    key: u64,
    node: u32,
    reserved: u32,
}

/// State of one live thread. Lies in ledger space, zeroed when handed out, written by its thread only.
#[repr(C)]
pub struct ThreadState {
    pub(super) row: *mut Thread,
    pub(super) held: *mut Held,
    /// Chain key of a thread that holds nothing: differs per segment.
    pub(super) seed: u64,
    /// Not 0: an entry below the top is gone, keys and nodes from there up are stale.
    pub(super) dirty: u32,
    /// Row id of the thread.
    pub id: u32,
    /// Current segment.
    pub segment: u32,
    /// For the host, which counts the rounds of the thread's destructors here.
    pub exit_rounds: u32,
    cache: [CacheSlot; CACHE],
}

/// Outcome of [`ThreadState::probe`]; goes to [`ThreadState::push`].
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub(super) key: u64,
    pub(super) node: u32,
}

impl Probe {
    /// The chain was validated before by this thread in this segment.
    #[inline(always)]
    pub fn is_hit(&self) -> bool {
        self.node != 0
    }

    /// Context node, 0 on a miss.
    pub fn node(&self) -> u32 {
        self.node
    }
}

impl ThreadState {
    #[inline(always)]
    fn depth_word(&self) -> &AtomicU32 {
        // SAFETY: `row` is this thread's mapped row for as long as the state lives.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.row).depth) }
    }

    /// Locks held, given-up entries of the middle included.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth_word().load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn entry(&self, i: u32) -> *mut Held {
        // SAFETY: callers stay below the capacity, which `push` checks.
        unsafe { self.held.add(i as usize) }
    }

    /// The held locks, outermost first, with entries in flux or given up (`addr == 0`) among them.
    pub fn held(&self) -> &[Held] {
        // SAFETY: the first `depth` entries are initialised (the array began zeroed).
        unsafe { core::slice::from_raw_parts(self.held, self.depth() as usize) }
    }

    /// Looks up the chain that acquiring `lock` now would make.
    #[inline(always)]
    pub fn probe(&mut self, lock: &Acquire) -> Probe {
        if self.dirty != 0 {
            self.repair();
        }
        let depth = self.depth();
        let (parent, what) = if depth == 0 {
            // A lock taken with nothing held depends on nothing: its class is enough, so that
            // walking over a million instances stays one cached chain.
            (self.seed, lock.ident.class)
        } else {
            // SAFETY: depth > 0, the entry exists.
            (unsafe { (*self.entry(depth - 1)).key }, lock.ident.inst)
        };
        let key = key::extend(parent, u64::from(what) << 16 | u64::from(lock.mode), lock.site);
        let slot = &self.cache[(key >> 54) as usize];
        Probe { key, node: if slot.key == key { slot.node } else { 0 } }
    }

    pub(super) fn remember(&mut self, key: u64, node: u32) {
        self.cache[(key >> 54) as usize] = CacheSlot { key, node, reserved: 0 };
    }

    /// Enters the lock as held, after it has been acquired. Returns false if the array is full: make
    /// room with [`super::Core::grow_held`] and call again.
    #[inline(always)]
    #[must_use]
    pub fn push(&mut self, lock: &Acquire, probe: Probe) -> bool {
        let depth = self.depth();
        // SAFETY: own row.
        unsafe {
            if depth == (*self.row).capacity {
                return false;
            }
            (*self.row).acquisitions += 1;
        }
        self.depth_word().store(depth + 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        let at = self.entry(depth);
        // SAFETY: below capacity; only this thread (and its handlers, above us) writes the array.
        unsafe {
            (*at).key = key::nested(probe.key, lock.ident.inst);
            (*at).site = lock.site;
            (*at).inst = lock.ident.inst;
            (*at).class = lock.ident.class;
            (*at).node = probe.node;
            (*at).mode = lock.mode;
            (*at).flags = 0;
            (*at).recursion = 0;
            compiler_fence(Ordering::SeqCst);
            // Relaxed: a thread that walks owners reads this only after it has seen us wait, which
            // we publish with SeqCst.
            AtomicU64::from_ptr(&raw mut (*at).addr).store(lock.addr, Relaxed);
        }
        true
    }

    /// Takes the innermost held lock off if it is `addr`: the fast path of release. Returns false if
    /// it is another; then call [`ThreadState::release`].
    #[inline(always)]
    pub fn release_innermost(&mut self, addr: u64) -> bool {
        let depth = self.depth();
        if depth == 0 {
            return false;
        }
        let at = self.entry(depth - 1);
        // SAFETY: depth > 0, so the entry exists; own array.
        unsafe {
            if (*at).addr != addr {
                return false;
            }
            if (*at).recursion != 0 {
                (*at).recursion -= 1;
                return true;
            }
            AtomicU64::from_ptr(&raw mut (*at).addr).store(0, Relaxed);
        }
        compiler_fence(Ordering::SeqCst);
        self.depth_word().store(depth - 1, Relaxed);
        if self.dirty != 0 {
            self.drop_dead_top();
        }
        true
    }

    /// Position of the innermost entry for `addr`.
    pub fn find(&self, addr: u64) -> Option<u32> {
        self.held().iter().rposition(|held| held.addr == addr).map(|i| i as u32)
    }

    /// Takes `addr` off wherever it is. Returns false if it is not held.
    #[cold]
    pub fn release(&mut self, addr: u64) -> bool {
        if self.release_innermost(addr) {
            return true;
        }
        let Some(i) = self.find(addr) else { return false };
        let at = self.entry(i);
        // SAFETY: `find` gave a valid position.
        unsafe {
            if (*at).recursion != 0 {
                (*at).recursion -= 1;
                return true;
            }
            // The gap is closed at the next acquisition, so that releasing many locks in the order
            // they were taken stays linear.
            AtomicU64::from_ptr(&raw mut (*at).addr).store(0, Relaxed);
            (*at).flags |= DEAD;
        }
        self.dirty = 1;
        self.drop_dead_top();
        true
    }

    #[cold]
    fn drop_dead_top(&mut self) {
        let mut depth = self.depth();
        // SAFETY: entries below depth exist.
        while depth > 0 && unsafe { (*self.entry(depth - 1)).flags & DEAD != 0 } {
            depth -= 1;
        }
        self.depth_word().store(depth, Relaxed);
    }

    /// Closes gaps and recomputes the keys above them.
    #[cold]
    fn repair(&mut self) {
        let depth = self.depth();
        let mut kept = 0;
        let mut parent = self.seed;
        for i in 0..depth {
            // SAFETY: i and kept are below depth.
            let mut held = unsafe { self.entry(i).read() };
            if held.flags & DEAD != 0 {
                continue;
            }
            let what = if kept == 0 { held.class } else { held.inst };
            let look_up =
                key::extend(parent, u64::from(what) << 16 | u64::from(held.mode), held.site);
            parent = key::nested(look_up, held.inst);
            if held.key != parent {
                held.key = parent;
                // The node stays as the source of the stack, but is not this context's any more.
                held.flags &= !PLACED;
            }
            // SAFETY: as above.
            unsafe { self.entry(kept).write(held) };
            kept += 1;
        }
        for i in kept..depth {
            // SAFETY: as above; what is above the top has no address.
            unsafe { self.entry(i).write(Held::default()) };
        }
        self.depth_word().store(kept, Relaxed);
        self.dirty = 0;
    }

    /// Drops entries that another thread gave up by unlocking for us. True if there were any.
    pub(super) fn compact(&mut self) -> bool {
        let depth = self.depth();
        for i in 0..depth {
            // SAFETY: entries below depth exist.
            let held = unsafe { &mut *self.entry(i) };
            if held.addr == 0 && i + 1 < depth {
                held.flags |= DEAD;
                self.dirty = 1;
            }
        }
        if self.dirty != 0 {
            self.repair();
        }
        self.depth() < depth
    }

    /// A recursive mutex that is held already is taken once more: counted, no new dependency.
    /// Returns false if it is not held.
    pub fn recurse(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        // SAFETY: `find` gave a valid position; own row.
        unsafe {
            (*self.entry(i)).recursion += 1;
            (*self.row).acquisitions += 1;
        }
        true
    }

    /// A condition wait gives `addr` up until [`ThreadState::cond_reacquired`]. Returns the recursion
    /// count, or `None` if it is not held.
    pub fn cond_release(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        // SAFETY: `find` gave a valid position.
        unsafe { (*self.entry(i)).flags |= held_flag::IN_COND_WAIT };
        true
    }

    /// The wait is over and the mutex is held again. If other locks were taken after it, it now is
    /// the innermost: returns false, and the caller takes it off and enters it anew.
    pub fn cond_reacquired(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        // SAFETY: `find` gave a valid position; own row.
        unsafe {
            (*self.entry(i)).flags &= !held_flag::IN_COND_WAIT;
            (*self.row).acquisitions += 1;
        }
        i + 1 == self.depth()
    }

    /// The thread's ledger row.
    pub fn row_ptr(&self) -> *mut Thread {
        self.row
    }

    /// Whether the thread of this row waits for a lock; `None` if it has ended.
    ///
    /// # Safety
    /// `row` is a mapped thread row.
    pub unsafe fn is_waiting(row: *mut Thread) -> Option<bool> {
        // SAFETY: the caller's promise; both words are accessed atomically or by their thread only.
        unsafe {
            let live = (*row).state == lockwright_ledger::rows::thread_state::LIVE;
            // Acquire pairs with the Releases in `wait_begin` and `wait_end`.
            let seq = AtomicU32::from_ptr(&raw mut (*row).wait_seq).load(Ordering::Acquire);
            live.then_some(seq & 1 == 1)
        }
    }

    /// Publishes that the thread is about to wait; it can be seen by [`super::Core::find_deadlock`]
    /// of other threads from here on.
    pub fn wait_begin(&mut self, lock: &Acquire, node: u32) {
        // SAFETY: own row.
        let row = unsafe { &mut *self.row };
        row.contended += u64::from(lock.mode & lockwright_ledger::rows::mode::JOIN == 0);
        row.wait_addr = lock.addr;
        row.wait_inst = lock.ident.inst;
        row.wait_class = lock.ident.class;
        row.wait_mode = u32::from(lock.mode);
        row.wait_node = node;
        // SAFETY: own row.
        let seq = unsafe { AtomicU32::from_ptr(&raw mut (*self.row).wait_seq) };
        seq.store(seq.load(Relaxed) | 1, Ordering::Release);
        // Of two threads that close a circle at once, the later sees the other's wait: store own
        // wait, fence, read the others'. Pairs with the same fence in the other thread.
        fence(Ordering::SeqCst);
    }

    /// The wait is over.
    pub fn wait_end(&mut self) {
        // SAFETY: own row.
        let seq = unsafe { AtomicU32::from_ptr(&raw mut (*self.row).wait_seq) };
        seq.store((seq.load(Relaxed) | 1).wrapping_add(1), Ordering::Release);
    }
}

/// [`Held::flags`]: given up in the middle of the stack, to be removed. Private to the engine.
pub(super) const DEAD: u16 = 1 << 15;
/// [`Held::flags`]: `node` is the instance's own context below its parent. Private to the engine.
pub(super) const PLACED: u16 = 1 << 14;
