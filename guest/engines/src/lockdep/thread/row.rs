//! A thread's row, as its thread and all others access it.
//!
//! Its thread writes the row without any lock, while others, which have the core's, look at it. Some
//! words others change: a joiner, signals that the program begins to handle, the links of the list of
//! live threads. So what two threads access is accessed atomically, and no reference to the row is made
//! by a thread that it is not of.

use core::mem::offset_of;
use core::sync::atomic::Ordering::{Acquire as AcquireOrder, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};

use lockwright_ledger::rows::{GIVEN_UP, Held, StackWords, Thread, mode, thread_state};

use crate::held::{Entry, HeldStack, word};

/// The row of any thread. It stays mapped; once it is removed, its words are those of another thread.
#[derive(Clone, Copy)]
pub struct ThreadRow(pub(super) *mut Thread);

/// What a thread waits for, as its row has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    /// See [`Thread::wait_seq`]; even if it does not wait.
    pub seq: u32,
    pub addr: u64,
    pub inst: u32,
    pub class: u32,
    pub mode: u16,
    pub node: u32,
}

impl Wait {
    /// The wait has not ended.
    pub const fn is_under_way(&self) -> bool {
        self.seq & 1 == 1
    }
}

macro_rules! words {
    ($($field:ident: $atomic:ident),+ $(,)?) => {$(
        #[inline(always)]
        pub(crate) fn $field(&self) -> &$atomic {
            // SAFETY: the row stays mapped (`of`); what two threads access of it is accessed by these.
            unsafe { $atomic::from_ptr(&raw mut (*self.0).$field) }
        }
    )+};
}

impl ThreadRow {
    /// # Safety
    /// `row` is a mapped row, and stays mapped until the process ends.
    #[inline(always)]
    pub const unsafe fn new(row: *mut Thread) -> Self {
        Self(row)
    }

    words! {
        // Written by the thread, and looked at by others.
        wait_seq: AtomicU32,
        wait_addr: AtomicU64,
        wait_inst: AtomicU32,
        wait_class: AtomicU32,
        wait_mode: AtomicU32,
        wait_node: AtomicU32,
        segment: AtomicU32,
        blocked_signals: AtomicU64,
        // Written by the thread alone while it lives.
        acquisitions: AtomicU64,
        contended: AtomicU64,
        // Written by the thread and by others.
        dirty: AtomicU32,
        open_signals: AtomicU64,
        // Written by others, or with the core's lock held.
        state: AtomicU32,
        tid: AtomicU32,
        joiner: AtomicU32,
        cancelled_by: AtomicU32,
        unloads: AtomicU64,
        awaited: AtomicU32,
        next_live: AtomicU32,
        prev_live: AtomicU32,
        cache: AtomicU64,
    }

    /// The row's number.
    pub fn id(&self) -> u32 {
        // SAFETY: a mapped row, whose number does not change while anybody may ask for it by the core's lock.
        unsafe { (*self.0).id }
    }

    /// Segment of its creator when it was created.
    pub fn parent_segment(&self) -> u32 {
        // SAFETY: a mapped row; set before it was published.
        unsafe { (*self.0).parent_segment }
    }

    /// What a thread did that has ended: acquisitions, contended ones, and events.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> + use<> {
        let [acquisitions, contended] = [self.acquisitions(), self.contended()];
        let first = [acquisitions.load(Relaxed), contended.load(Relaxed)];
        let events = self.0;
        // SAFETY: a mapped row, whose thread was the only one to write these, and has been joined or settled under
        // the core's lock, which the caller has.
        let events = unsafe { (*events).events };
        first.into_iter().chain(events)
    }

    /// The thread has not ended. Acquire pairs with the Release of the state in [`Writer::push`], of a thread
    /// without the core's lock.
    ///
    /// [`Writer::push`]: lockwright_ledger::Writer::push
    pub fn is_live(&self) -> bool {
        self.state().load(AcquireOrder) == thread_state::LIVE
    }

    /// There is room for one more held lock in the thread's own stack.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        const LIMIT: usize = offset_of!(Thread, held) + offset_of!(StackWords, limit);
        // SAFETY: the calling thread's row, which alone writes `top`; another may change the limit.
        unsafe { crate::arch::is_below::<LIMIT>((*self.0).held.top, self.0.cast_const()) }
    }

    /// What the thread waits for, or waited for last.
    pub(crate) fn wait(&self) -> Wait {
        Wait {
            // Acquire pairs with the Release in `wait_begin`: the words of that wait, or a later one's.
            seq: self.wait_seq().load(AcquireOrder),
            addr: self.wait_addr().load(Relaxed),
            inst: self.wait_inst().load(Relaxed),
            class: self.wait_class().load(Relaxed),
            mode: self.wait_mode().load(Relaxed) as u16,
            node: self.wait_node().load(Relaxed),
        }
    }

    /// The thread is in the wait `seq` still, and was while the caller looked at its words and at what it
    /// holds.
    pub(crate) fn is_still_in(&self, seq: u32) -> bool {
        // Pairs with the fence in `wait_end`: of a thread that had gone on, whose later stores the caller
        // has seen, it sees that the wait is over.
        fence(AcquireOrder);
        self.wait_seq().load(Relaxed) == seq
    }

    /// What the thread holds: exact while it waits, else a hint.
    pub(crate) fn held(&self) -> impl Iterator<Item = (*mut Held, Held)> + use<> {
        // SAFETY: a mapped row. Arrays are given back with the core's lock held, as is this called.
        let entries = unsafe { HeldStack::<Held>::of_any(&raw const (*self.0).held) };
        // SAFETY: `of_any` yields entries of the row's array only, and the array stays mapped.
        entries.map(|entry| (entry.cast_mut(), unsafe { Held::look(entry) }))
    }

    /// The thread holds the lock at `addr` no more, as another has released it: its entry then, if it held it.
    pub(crate) fn give_up(&self, addr: u64) -> Option<Held> {
        for (entry, held) in self.held().filter(|(_, held)| held.addr == addr) {
            // SAFETY: an entry of a thread's array begins with its address. Relaxed: the thread compares the
            // address before it takes the lock off, and by the dirty keys drops the entry.
            let word = unsafe { word(entry.cast()) };
            if word.compare_exchange(addr, GIVEN_UP, Relaxed, Relaxed).is_ok() {
                // What it takes next is not taken with this lock held, so it has to close the gap first.
                self.set_dirty();
                return Some(held);
            }
        }
        None
    }

    /// Keys of held locks are stale: the thread closes gaps and computes them again before it takes another.
    /// Without room for an entry the fast path fails, so that it need not look.
    pub(crate) fn set_dirty(&self) {
        // Relaxed: the thread only reads these words, and at worst overwrites them, which delays this.
        self.dirty().store(1, Relaxed);
        // SAFETY: `self` is a mapped row, and the words of its stack are accessed atomically here.
        unsafe { HeldStack::<Held>::shut(&raw mut (*self.0).held) };
    }

    /// Whether the thread waits for a lock; `None` if it has ended.
    pub fn is_waiting(&self) -> Option<bool> {
        // Pairs with the Releases in `wait_begin` and `wait_end`.
        let seq = self.wait_seq().load(AcquireOrder);
        self.is_live().then_some(seq & 1 == 1)
    }

    /// Kernel thread id.
    pub fn kernel_id(&self) -> u32 {
        // Relaxed: a row that has become another thread's has another id, or is not live.
        self.tid().load(Relaxed)
    }

    /// Signals that would be open in the thread if `signals` were handled too.
    pub fn open_with(&self, signals: u64) -> u64 {
        // Relaxed: its thread changes the words at any time, and then compares them itself.
        self.open_signals().load(Relaxed) | signals & !self.blocked_signals().load(Relaxed)
    }

    /// Replaces the first 15 bytes of the thread's name, and as in the kernel no more.
    pub(crate) fn set_name(&self, name: &[u8]) {
        let n = name.iter().position(|&b| b == 0).unwrap_or(name.len()).min(15);
        let mut padded = [0; 16];
        padded[..n].copy_from_slice(&name[..n]);
        // SAFETY: a mapped row; threads write the name with the core's lock held, and none reads it.
        unsafe { (*self.0).name = padded };
    }

    /// Waits for the end of a thread are none that it can back out of.
    pub(crate) fn is_final(wait: &Wait) -> bool {
        const BACKS_OUT: u16 = mode::TIMED | mode::COND_WAIT | mode::SEM_WAIT | mode::FUTEX_WAIT;
        wait.is_under_way() && wait.mode & BACKS_OUT == 0
    }
}
