//! Acquisitions that come in steps: between them the thread's stack of held locks has an entry that
//! is not held yet. A wait lies with the waits that are kept ([`super::pending`]).

use core::ptr;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::compiler_fence;

use lockwright_ledger::rows::meter::Metered;

use super::cell::CellRef;
use super::contention::Contention;
use super::pending::{CONTENTIONS, Waits};
use super::thread::{MeterThread, RESERVED, change_flags, set_since};
use crate::held::set_addr;
use crate::trial::Trial;

impl MeterThread {
    /// An acquisition of the lock at `addr` begins, which several can have if it is `shared`. There
    /// is room.
    pub fn reserve(&mut self, addr: u64, cell: CellRef, trial: Option<Trial>, shared: bool) {
        // An entry without an address is looked at by nobody, until it has one. Its time is not
        // needed yet.
        self.acquired(0, cell, addr);
        if let Some(trial) = trial {
            self.put_on_trial(trial);
        }
        match shared {
            true => self.share(RESERVED),
            // SAFETY: `acquired` just made the top entry in this thread's own array.
            false => unsafe { change_flags(self.top(), RESERVED, 0) },
        }
    }

    /// Position of the innermost entry reserved for the lock at `addr`.
    fn reserved(&self, addr: u64) -> Option<u32> {
        let is_it = |held: &Metered| held.flags & RESERVED != 0 && held.since == addr;
        self.held().rposition(|held| is_it(&held)).map(|i| i as u32 + 1)
    }

    /// The cell of the acquisition of `addr` that is under way.
    pub fn reserved_cell(&self, addr: u64) -> Option<CellRef> {
        self.reserved(addr).and_then(|i| MeterThread::cell_of(&self.stack().get(i)))
    }

    /// The acquisition of `addr` that is under way came to its end: the lock is held since `since`
    /// (0: not timed).
    pub(super) fn fill_reserved(&mut self, addr: u64, since: u64) -> Option<*mut Metered> {
        let entry = self.stack().entry(self.reserved(addr)?);
        // SAFETY: `reserved` gives a valid position, which is this thread's.
        unsafe {
            set_since(entry, since);
            change_flags(entry, 0, RESERVED);
            compiler_fence(SeqCst);
            set_addr(entry, addr);
        }
        Some(entry)
    }

    /// The acquisition of `addr` that is under way came to nothing.
    pub fn abandon_reserved(&mut self, addr: u64) {
        if let Some(i) = self.reserved(addr) {
            self.remove_at(i);
        }
    }

    fn contention(&self, i: usize) -> *mut Contention {
        // SAFETY: callers stay below CONTENTIONS, and the memory is there.
        unsafe {
            (&raw mut (*(self.row.waits as *mut Waits)).contentions).cast::<Contention>().add(i)
        }
    }

    /// The place of the contention for `addr`; of 0, a free one.
    fn place_of(&self, addr: u64) -> Option<*mut Contention> {
        if !self.has_pending_memory() {
            return None;
        }
        let mut places = (0..CONTENTIONS).map(|i| self.contention(i));
        // SAFETY: memory that begins zeroed; of a free place nothing but the address is read.
        places.find(|&at| unsafe { (&raw const (*at).addr).read() } == addr)
    }

    /// A wait can be kept from its beginning to its end: there is memory, and a place for one more.
    pub fn can_contend(&self) -> bool {
        self.place_of(0).is_some()
    }

    /// The thread waits for the lock at `addr` during an acquisition.
    pub fn is_contending(&self, addr: u64) -> bool {
        addr != 0 && self.place_of(addr).is_some()
    }

    /// A wait has begun. There is a place ([`MeterThread::can_contend`]).
    pub fn contend(&mut self, wait: Contention) {
        if let Some(at) = self.place_of(0) {
            // SAFETY: a place of this thread's.
            unsafe { ptr::write(at, wait) };
        }
    }

    /// The wait for the lock at `addr` is over.
    pub fn contended(&mut self, addr: u64) -> Option<Contention> {
        let at = self.place_of(addr).filter(|_| addr != 0)?;
        // SAFETY: a place of this thread's that is in use, so has been written.
        unsafe {
            let wait = ptr::read(at);
            (*at).addr = 0;
            Some(wait)
        }
    }
}
