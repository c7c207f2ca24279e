//! The fast path: the calling thread's held locks, its chain key, and the keys it has validated.
//! No lock, no table but the thread's own.
//!
//! A signal handler may run between any two instructions here, on the same state, and leaves it as
//! it found it: see [`crate::held`].

use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;

use lockwright_ledger::Header;
use lockwright_ledger::layout::stopped;
use lockwright_ledger::rows::{DebugCounts, GIVEN_UP, Held, Thread};

use super::cache::Cache;
use super::debug_lockdep::{DEBUG_LOCKDEP, count_acquisition};
use super::entry::{self, CLOSER, DEAD, Note, PASSING, PLACED, change_flags, mark, recursions};
use super::row::ThreadRow;
use crate::held::{Entry, HeldStack, addr_of, set_addr, update};
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::key;

/// State of one live thread: its ledger row, which only the thread itself (and its signal handlers)
/// works on. The fast path touches its first cache line, one line of the cache and one or two of
/// the held array.
///
/// Other threads access some of its words meanwhile, by a [`ThreadRow`]; these the thread itself accesses
/// atomically, too, unless it is the only one that writes them, and reads one. The two markers say to the
/// compiler that no reference to the state claims all of it.
#[repr(transparent)]
pub struct ThreadState {
    pub(crate) row: Thread,
    shared: (UnsafeCell<()>, PhantomPinned),
}

/// Outcome of [`ThreadState::probe`]; goes to [`ThreadState::reserve`].
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub(crate) key: u64,
    pub(crate) node: u32,
    pub(crate) hit: bool,
    /// What is acquired is a lock of an awaited hold.
    pub(crate) passes: bool,
}

impl Probe {
    /// The chain was validated before by this thread in this segment.
    #[inline(always)]
    pub fn is_hit(&self) -> bool {
        self.hit
    }

    /// Context node, 0 on a miss.
    pub fn node(&self) -> u32 {
        self.node
    }
}

/// A chain that an acquisition would make, without its call site; see [`ThreadState::chain`].
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Chain(u64);

/// What [`ThreadState::folded`] answers.
#[derive(Clone, Copy, Debug)]
pub struct Folded {
    /// The chain that the acquisition makes.
    own: Chain,
    /// The one that stands for the class.
    all: Chain,
}

impl ThreadState {
    /// Row id of the thread.
    pub fn id(&self) -> u32 {
        self.row.id
    }

    /// Current segment.
    pub fn segment(&self) -> u32 {
        self.row.segment
    }

    /// Segment of its creator when it was created, 0 if that is not known.
    pub fn parent_segment(&self) -> u32 {
        self.row.parent_segment
    }

    /// The row as other threads have it.
    #[inline(always)]
    pub(crate) fn shared(&self) -> ThreadRow {
        // SAFETY: the thread's own row, which stays mapped.
        unsafe { ThreadRow::new((&raw const self.row).cast_mut()) }
    }

    /// The locks it holds.
    #[inline(always)]
    pub(crate) fn stack(&self) -> &HeldStack<Held> {
        HeldStack::of(&self.row.held)
    }

    #[inline(always)]
    pub(crate) fn stack_mut(&mut self) -> &mut HeldStack<Held> {
        HeldStack::of_mut(&mut self.row.held)
    }

    #[inline(always)]
    pub(crate) fn top(&self) -> *mut Held {
        self.stack().top()
    }

    /// Entries above "nothing held", those in flux or given up included.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.stack().depth()
    }

    /// Nothing is held and nothing is being acquired.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.stack().is_idle()
    }

    /// Somebody may wait for this thread: it holds a lock, or another thread joins it. The entry of
    /// an acquisition under way (`reserved`: 1) is not held.
    pub fn is_obstacle(&self, reserved: u32) -> bool {
        // Relaxed: a joiner that comes later looks itself.
        self.depth() > reserved || self.shared().joiner().load(Relaxed) != 0
    }

    /// Entry `i`, from 1 for the outermost; 0 is "nothing held".
    #[inline(always)]
    pub(crate) fn entry(&self, i: u32) -> *mut Held {
        self.stack().entry(i)
    }

    /// Copies of the held locks, outermost first, with entries in flux or given up (`addr == 0`) among them.
    pub fn held(&self) -> impl DoubleEndedIterator<Item = Held> + ExactSizeIterator {
        self.stack().entries()
    }

    /// A copy of the held lock at position `i`, from 1 up to the depth.
    pub fn held_at(&self, i: u32) -> Held {
        self.stack().get(i)
    }

    /// A copy of the entry of `addr`, if it is held.
    pub fn held_of(&self, addr: u64) -> Option<Held> {
        self.find(addr).map(|i| self.held_at(i))
    }

    /// Looks up the chain that acquiring `ident` now would make.
    pub fn probe(&mut self, ident: Ident, mode: u16, site: u64) -> Probe {
        self.close_gaps();
        self.probe_clean(ident, mode, site)
    }

    /// Brings the held array up to date, if locks were released in another order than taken.
    pub(crate) fn close_gaps(&mut self) {
        self.closes_gaps();
    }

    /// As [`ThreadState::probe`] does, closes the gaps in the array of held locks. Says whether there were any.
    #[inline]
    pub fn closes_gaps(&mut self) -> bool {
        let is_dirty = self.is_dirty();
        if is_dirty {
            self.repair();
        }
        is_dirty
    }

    /// [`ThreadState::probe`] and [`ThreadState::reserve`] in one, if nothing but a look-up is
    /// needed: the chain is known, no gap is to be closed, and there is room. The fast path of
    /// acquisition.
    #[inline(always)]
    #[must_use]
    pub fn reserve_known(&mut self, ident: Ident, mode: u16, site: u64) -> bool {
        let Some(chain) = self.chain(ident, mode) else { return false };
        let probe = self.known(chain, site);
        if let Some(probe) = probe {
            self.reserve_in(chain, ident, mode, site, probe);
        }
        probe.is_some()
    }

    /// The first step of [`ThreadState::reserve_known`], to be followed by [`ThreadState::known`]
    /// for as many call sites as there are to try. `None` if there is no room, or a gap is to be
    /// closed.
    #[inline(always)]
    pub fn chain(&self, ident: Ident, mode: u16) -> Option<Chain> {
        self.shared().has_room().then(|| self.chain_clean(ident, mode))
    }

    /// What is known of the chain at `site`, whose highest eight bits do not matter.
    #[inline(always)]
    pub fn known(&self, chain: Chain, site: u64) -> Option<Probe> {
        let probe = self.probe_in(chain, site);
        probe.hit.then_some(probe)
    }

    /// As [`ThreadState::chain`], of all locks of the class of `ident` that have no row of their own
    /// ([`RecordedLocks`]). To be followed by [`ThreadState::known_folded`].
    ///
    /// [`RecordedLocks`]: crate::lockdep::RecordedLocks
    #[inline]
    pub fn folded(&self, ident: Ident, mode: u16) -> Option<Folded> {
        // What happens in a handler is about single locks. So is what is awaited, and such a lock is noted as recorded.
        if self.is_idle() || self.row.in_signal != 0 {
            return None;
        }
        let own = self.chain(ident, mode)?;
        Some(Folded { own, all: self.chain_of_all(ident, mode) })
    }

    /// As [`ThreadState::known`]. What is known is of the lock's own chain. To be followed by
    /// [`ThreadState::reserve_folded`].
    #[inline(always)]
    pub fn known_folded(&self, folded: &Folded, site: u64) -> Option<Probe> {
        let probe = self.known(folded.all, site)?;
        Some(Probe { key: key::at_site(folded.own.0, site), ..probe })
    }

    /// As [`ThreadState::reserve_in`]. From now on the lock's own chain is known, too.
    #[inline]
    pub fn reserve_folded(
        &mut self,
        folded: Folded,
        ident: Ident,
        mode: u16,
        site: u64,
        probe: Probe,
    ) {
        self.remember(probe.key, probe.node);
        self.reserve_in(folded.own, ident, mode, site, probe);
    }

    /// The key begins as that of all locks of a class with nothing held does, but there is something held.
    #[inline]
    fn chain_of_all(&self, ident: Ident, mode: u16) -> Chain {
        // SAFETY: the top is an entry or "nothing held".
        let parent = unsafe { (*self.top()).key };
        Chain(key::of_lock(parent, ident, mode, true))
    }

    /// All locks of the class that have no row of their own are in context `node` if they are acquired as `lock` is.
    pub(crate) fn remember_folded(&mut self, lock: &Acquire, node: u32) {
        let chain = self.chain_of_all(lock.ident, lock.mode);
        self.remember(key::at_site(chain.0, lock.site), node);
    }

    /// The last step: reserves the entry.
    #[inline(always)]
    pub fn reserve_in(&mut self, _: Chain, ident: Ident, mode: u16, site: u64, probe: Probe) {
        // There is room: the chain is proof.
        self.fill_next(ident, mode, site, probe);
    }

    #[inline(always)]
    fn chain_clean(&self, ident: Ident, mode: u16) -> Chain {
        // SAFETY: the top is an entry or "nothing held".
        let parent = unsafe { (*self.top()).key };
        Chain(key::of_lock(parent, ident, mode, self.is_idle()))
    }

    #[inline(always)]
    fn probe_in(&self, chain: Chain, site: u64) -> Probe {
        let key = key::at_site(chain.0, site);
        // SAFETY: the thread's own, which only it and its handlers touch.
        let (node, hit) = unsafe { &*(self.row.cache as *const Cache) }.look_up(key);
        Probe { key, node, hit, passes: false }
    }

    #[inline(always)]
    fn probe_clean(&self, ident: Ident, mode: u16, site: u64) -> Probe {
        self.probe_in(self.chain_clean(ident, mode), site)
    }

    pub(crate) fn remember(&mut self, key: u64, node: u32) {
        // SAFETY: the cache belongs to this thread, and only the thread and its signal handlers
        // touch it.
        unsafe { &mut *(self.row.cache as *mut Cache) }.remember(key, node);
    }

    pub(crate) fn forget(&mut self, key: u64) {
        // SAFETY: as in `remember`, the cache belongs to this thread, which is the one that runs.
        unsafe { &mut *(self.row.cache as *mut Cache) }.forget(key);
    }

    /// Reserves the entry of a lock about to be acquired. Returns false if the array is full: make
    /// room with [`crate::lockdep::Core::grow_held`], then probe and reserve again.
    #[inline(always)]
    #[must_use]
    pub fn reserve(&mut self, ident: Ident, mode: u16, site: u64, probe: Probe) -> bool {
        if !self.stack().has_room() {
            return false;
        }
        self.fill_next(ident, mode, site, probe);
        if probe.passes {
            self.mark_passing();
        }
        true
    }

    #[inline(always)]
    fn fill_next(&mut self, ident: Ident, mode: u16, site: u64, probe: Probe) {
        let at = self.stack_mut().push();
        let note = Note { key: key::nested(probe.key, ident), site, ident, node: probe.node, mode };
        // SAFETY: our entry; only this thread (and its handlers, above us) fills the array.
        unsafe { entry::fill(at, note) };
    }

    /// Counts an acquisition of the lock of `entry`.
    #[inline(always)]
    pub(crate) fn count(&mut self, entry: *const Held) {
        self.row.acquisitions += 1;
        if DEBUG_LOCKDEP {
            // SAFETY: callers give an entry of the thread's.
            let class = unsafe { (*entry).class };
            if let Some(counts) = self.counts() {
                // SAFETY: the counters of this thread, which runs in this process.
                unsafe { count_acquisition(counts, class) };
            }
        }
    }

    /// Counts what the thread did, one of [`event`].
    #[inline(always)]
    pub fn did(&mut self, event: usize) {
        self.row.events[event] += 1;
    }

    /// The lock of the reserved entry is held now.
    #[inline(always)]
    pub fn acquired(&mut self, addr: u64) {
        self.count(self.top());
        if DEBUG_LOCKDEP {
            self.check_chain();
        }
        compiler_fence(SeqCst);
        // SAFETY: `reserve` made the top entry of this thread's own array, for this acquisition.
        unsafe { set_addr(self.top(), addr) };
    }

    /// The lock of the reserved entry is held since before a fork: no acquisition of this process.
    pub fn inherited(&mut self, addr: u64) {
        // SAFETY: `reserve` made the top entry of this thread's own array, for this lock.
        unsafe { set_addr(self.top(), addr) };
    }

    /// The lock of the reserved entry could not be taken.
    #[inline(always)]
    pub fn abandon(&mut self) {
        // SAFETY: the reserved entry. It may have been marked; see `entry::fill`.
        unsafe { (*self.top()).recursion = 0 };
        self.stack_mut().take_back();
    }

    /// The innermost held lock is `addr`.
    #[inline(always)]
    pub fn is_innermost(&self, addr: u64) -> bool {
        self.stack().is_innermost(addr)
    }

    /// Takes the innermost held lock off if it is `addr`: the fast path of release. Returns false
    /// if it is another; then call [`ThreadState::release`].
    #[inline(always)]
    pub fn release_innermost(&mut self, addr: u64) -> bool {
        self.is_innermost(addr) && self.release_top()
    }

    /// Takes the innermost held lock off, which is known to be the one released
    /// ([`ThreadState::is_innermost`]). Returns false if it takes a closer look.
    #[inline(always)]
    pub fn release_top(&mut self) -> bool {
        let top = self.top();
        // SAFETY: the top is an entry.
        unsafe {
            if (*top).recursion != 0 {
                if (*top).recursion & CLOSER != 0 {
                    return false;
                }
                (*top).recursion -= 1;
                return true;
            }
            self.stack_mut().pop();
        }
        true
    }

    /// Position of the innermost entry for `addr`. Among thousands, an entry near the last gap is
    /// preferred to one further in.
    pub fn find(&self, addr: u64) -> Option<u32> {
        self.stack().find(addr)
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
            if recursions(&self.held_at(i)) != 0 {
                (*at).recursion -= 1;
                return true;
            }
            (*at).recursion = 0;
        }
        self.stack_mut().remove(i);
        // Only now: a handler that comes between must find the gap that it is to close.
        self.set_dirty();
        true
    }

    /// Closes gaps and recomputes the keys above them.
    ///
    /// In a handler the gaps stay: what it has interrupted may be about to store into an entry, or to take it off, where it was.
    /// At the handler's end the keys are stale once more.
    #[cold]
    fn repair(&mut self) {
        let in_handler = self.in_signal() != 0;
        // Somebody may have changed what the first key is made of.
        self.rekey();
        // SAFETY: every array of held locks begins with entry 0, which stands for "nothing held".
        let mut parent = unsafe { (*self.entry(0)).key };
        let mut is_first = true;
        self.stack_mut().retain(|held| {
            if held.is_dead() || held.addr == GIVEN_UP {
                // Nothing is held within it.
                held.flags &= !PLACED;
                return in_handler;
            }
            let ident = Ident::new(held.inst, held.class);
            let chain = key::of_lock(parent, ident, held.mode, is_first);
            parent = key::nested(key::at_site(chain, held.site), ident);
            is_first = false;
            if held.key != parent {
                held.key = parent;
                // The node stays as the source of the stack, but is not this context's any more.
                held.flags &= !PLACED;
            }
            true
        });
        // Relaxed: as in `ThreadRow::set_dirty`.
        self.shared().dirty().store(0, Relaxed);
        self.stack_mut().reopen();
    }

    /// Keys are stale. Without room for an entry the fast path fails, so that it need not look.
    pub(crate) fn set_dirty(&mut self) {
        self.shared().set_dirty();
    }

    /// Keys of held locks are stale.
    pub(crate) fn is_dirty(&self) -> bool {
        // Relaxed: as in `ThreadRow::set_dirty`.
        self.shared().dirty().load(Relaxed) != 0
    }

    /// Restarts all keys: the thread is in another segment.
    pub(crate) fn set_segment(&mut self, segment: u32) {
        self.row.segment = segment;
        self.row.told_before = self.told();
        self.rekey();
    }

    /// Recomputes the key of "nothing held" from all that a validated chain is valid for: the
    /// segment, the open signals, the handler that runs, and the code that is there. A segment is one of its ledger: a
    /// forked child's thread, whose cache may have been its parent's, begins at another time.
    pub(crate) fn rekey(&mut self) {
        // SAFETY: every array of held locks begins with entry 0, which stands for "nothing held".
        unsafe { (*self.entry(0)).key = self.first_key() };
        if !self.is_idle() {
            self.set_dirty();
        }
    }

    /// The key of "nothing held" as it should be.
    pub(crate) fn first_key(&self) -> u64 {
        let context = [
            u64::from(self.row.segment) << 32 | u64::from(self.row.in_signal),
            self.open_signals(),
            self.row.start_ns,
            // Relaxed: as in `Core::code_is_gone`.
            self.shared().unloads().load(Relaxed),
        ];
        key::hash(&context)
    }

    /// Drops entries that another thread gave up by unlocking for us. True if there were any.
    pub(crate) fn compact(&mut self) -> bool {
        let depth = self.depth();
        for i in 1..depth {
            // SAFETY: entries up to depth exist. The top one may be in flux: it is left alone.
            if unsafe { addr_of(self.entry(i)) } == 0 {
                // SAFETY: `i` runs from 1 to the depth, so the entry lies in this thread's array.
                unsafe { change_flags(self.entry(i), DEAD, 0) };
                self.set_dirty();
            }
        }
        if self.is_dirty() {
            self.repair();
        }
        self.depth() < depth
    }

    /// A recursive mutex that is held already is taken once more: counted, no new dependency.
    /// Returns false if it is not held.
    pub fn recurse(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        // SAFETY: `find` gave a valid position.
        unsafe { (*self.entry(i)).recursion += 1 };
        self.count(self.entry(i));
        true
    }

    /// As [`ThreadState::recurse`], of what is no lock of the program's: not counted.
    pub fn recurse_uncounted(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        // SAFETY: `find` gave a valid position.
        unsafe { (*self.entry(i)).recursion += 1 };
        true
    }

    /// Kernel thread id.
    pub fn tid(&self) -> u32 {
        self.row.tid
    }

    /// The acquisition that was reserved and not acquired yet, and its context.
    pub fn reserved(&self, addr: u64) -> (Acquire, u32) {
        // SAFETY: the top is an entry.
        let held = unsafe { Held::load(self.top()) };
        let ident = Ident::new(held.inst, held.class);
        (Acquire { addr, ident, mode: held.mode, site: held.site }, held.node)
    }

    /// The signals that are open in this thread.
    pub fn open_signals(&self) -> u64 {
        // Relaxed: as in `Core::signals_changed`.
        self.shared().open_signals().load(Relaxed)
    }

    /// Times that the thread told others of something by no release of a lock.
    pub(crate) fn told(&self) -> u64 {
        self.row.shared.wrapping_add(self.row.signals)
    }

    /// The reserved entry is of a lock that is awaited.
    #[cold]
    pub(crate) fn mark_passing(&mut self) {
        // SAFETY: the top is the reserved entry.
        unsafe { update(self.top(), |held| mark(held, PASSING)) };
    }

    /// The thread's counters, in a build with [`DEBUG_LOCKDEP`].
    pub(crate) fn counts(&mut self) -> Option<&mut DebugCounts> {
        // SAFETY: null, or the thread's own row, which stays mapped.
        unsafe { (self.row.debug_counts as *mut DebugCounts).as_mut() }
    }

    /// Checks the held locks, and stops recording if they are not what the chain key is of.
    pub(crate) fn check_chain(&mut self) {
        let agrees = self.chain_agrees();
        let tid = self.row.tid;
        let (Some(agrees), Some(counts)) = (agrees, self.counts()) else { return };
        counts.chain_checks += 1;
        if agrees {
            return;
        }
        counts.bad_chains += 1;
        // SAFETY: the ledger's header, all atomics, which stays mapped.
        if let Some(header) = unsafe { (counts.header as *const Header).as_ref() }
            && header.stopped.load(Relaxed) == stopped::NO
        {
            header.stopped_by.store(tid, Relaxed);
            header.stop(stopped::INCONSISTENT);
        }
        // The next acquisition goes the slow way, where the host sees that.
        self.set_dirty();
    }

    /// Whether the locks held, and the one being acquired, have the chain keys that follow from
    /// them, and lie in the thread's array. `None` where that cannot be said: keys are known to be
    /// stale, or an acquisition or a release further out is under way.
    pub fn chain_agrees(&self) -> Option<bool> {
        let words = &self.row.held;
        let bytes = u64::from(words.capacity) * size_of::<Held>() as u64;
        let depth = words.top.wrapping_sub(words.base);
        if depth >= bytes || !depth.is_multiple_of(size_of::<Held>() as u64) {
            return Some(false);
        }
        if self.is_dirty() {
            return None;
        }
        let mut key = self.first_key();
        let outer = self.held().len().saturating_sub(1);
        if self.held().take(outer).any(|held| held.addr <= GIVEN_UP) {
            return None;
        }
        // SAFETY: every array of held locks begins with entry 0, which stands for "nothing held".
        let mut agrees = unsafe { (*self.entry(0)).key } == key;
        for (i, held) in self.held().enumerate() {
            let ident = Ident::new(held.inst, held.class);
            let chain = key::of_lock(key, ident, held.mode, i == 0);
            key = key::nested(key::at_site(chain, held.site), ident);
            agrees &= held.key == key;
        }
        Some(agrees)
    }
}

impl ThreadRow {
    /// The state of the thread that it is the row of.
    pub fn as_state(self) -> *mut ThreadState {
        self.0.cast()
    }
}
