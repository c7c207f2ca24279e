//! Which thread woke which at a futex: the words of memory at which threads wait, and for each word
//! the last waker.
//!
//! A waiter comes to the word's row before it waits ([`Wakes::enter`]). Before a waker wakes, it
//! checks whether there is one ([`Wakes::waited_for`]) and writes its name there
//! ([`Waiter::tell`]), so that the woken thread finds it. If no thread was woken, the waker takes
//! the name back ([`Told::take_back`]). A waiter that returns compares the row with what it was
//! when it came ([`Place::waker`]), and names the last waker since. That is exact where one thread
//! at a time is woken. If several are woken one after the other before any of them runs, all name
//! the last waker.
//!
//! No lock is waited for, and nothing is allocated but a row for a word that is new.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, fence};

use lockwright_ledger::rows::Wake;

use crate::shared_row::{self, SharedRow};

/// Sets of words, by a hash of their address, and words of a set that can be waited at at once: of
/// more than that the wakers are not known.
const SETS: usize = 512;
const WAYS: usize = 8;

/// All words of a process.
pub struct Wakes {
    sets: [[AtomicPtr<Wake>; WAYS]; SETS],
}

/// A waker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waker {
    /// Its kernel thread id.
    pub tid: u32,
    /// Row of its site where waits are measured, else 0.
    pub site: u32,
    /// Row of its stack, or 0.
    pub stack: u32,
    /// CLOCK_MONOTONIC, ns.
    pub when_ns: u64,
}

/// A waiter's place.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    row: SharedRow<Wake>,
    wakes: u64,
}

/// A word that somebody waits at.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    row: SharedRow<Wake>,
    addr: u64,
}

/// A wake that has been written down.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    row: SharedRow<Wake>,
    before: Waker,
    wakes: u64,
}

impl Default for Wakes {
    fn default() -> Self {
        Self::new()
    }
}

impl Wakes {
    /// No words yet.
    pub const fn new() -> Self {
        let none = [const { [const { AtomicPtr::new(core::ptr::null_mut()) }; WAYS] }; SETS];
        Self { sets: none }
    }

    /// Forgets all words: in a forked child, whose parent's the rows are.
    pub fn forget(&self) {
        // What the child does not write to it need not copy.
        let used = self.sets.iter().flatten().filter(|way| !way.load(Relaxed).is_null());
        used.for_each(|way| way.store(core::ptr::null_mut(), Relaxed));
    }

    fn set(&self, addr: u64) -> &[AtomicPtr<Wake>; WAYS] {
        &self.sets[(addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize]
    }

    fn rows(&self, addr: u64) -> impl Iterator<Item = SharedRow<Wake>> {
        // Acquire pairs with the Release in `add`.
        let rows = self.set(addr).iter().map(|way| way.load(Acquire)).filter(|row| !row.is_null());
        // SAFETY: a row of the set, which `add` was promised stays mapped.
        rows.map(|row| unsafe { SharedRow::new(row) })
    }

    /// The calling thread is about to wait at `addr`. `None`: there is no row for it. Then, if there
    /// is [room](Self::has_room), [`Wakes::add`] and once more.
    pub fn enter(&self, addr: u64) -> Option<Place> {
        let comes = |row: SharedRow<Wake>, is_own: bool| {
            let change = |mut last: LastWake<'_>| {
                match is_own {
                    true if row.addr().load(Relaxed) == addr => {}
                    false if row.waiters().load(Relaxed) == 0 => {
                        last.set(&Waker::default());
                        *last.wakes = 0;
                        row.addr().store(addr, Relaxed);
                    }
                    _ => return None,
                }
                row.waiters().fetch_add(1, Relaxed);
                Some(*last.wakes)
            };
            let wakes = row.with(change).flatten()?;
            Some(Place { row, wakes })
        };
        let place = match self.rows(addr).find(|row| row.addr().load(Relaxed) == addr) {
            Some(row) => comes(row, true),
            None if self.has_room(addr) => None,
            None => {
                let is_free = |row: &SharedRow<Wake>| row.waiters().load(Relaxed) == 0;
                self.rows(addr).filter(is_free).find_map(|row| comes(row, false))
            }
        };
        // Either the waiter sees the waker or the waker sees the waiter: the waiter comes, fences
        // and has the kernel compare the word; the waker changes the word, fences and looks for
        // waiters. Pairs with the fence in `waited_for`.
        fence(SeqCst);
        place
    }

    /// A row more can be [added](Self::add) for `addr`.
    pub fn has_room(&self, addr: u64) -> bool {
        self.set(addr).iter().any(|way| way.load(Relaxed).is_null())
    }

    /// Puts a row where it can be used for `addr`; one at a time. Where there is no room it stays
    /// unused.
    ///
    /// # Safety
    /// `row` is a mapped row, zero except its state and its address, that is in no set yet. It
    /// stays mapped.
    pub unsafe fn add(&self, addr: u64, row: *mut Wake) {
        if let Some(way) = self.set(addr).iter().find(|way| way.load(Relaxed).is_null()) {
            // Release pairs with the Acquire in `rows`.
            way.store(row, Release);
        }
    }

    /// The word at `addr`, if somebody waits there: to be asked before waking.
    pub fn waited_for(&self, addr: u64) -> Option<Waiter> {
        // Pairs with the fence in `enter`.
        fence(SeqCst);
        self.rows(addr).find(|row| row.is_waited_at(addr)).map(|row| Waiter { row, addr })
    }
}

impl Waiter {
    /// Where it waits.
    pub fn addr(&self) -> u64 {
        self.addr
    }

    /// The calling thread is about to wake somebody here. `None` where that is not written down.
    pub fn tell(self, by: &Waker) -> Option<Told> {
        let tell = |mut last: LastWake<'_>| {
            if !self.row.is_waited_at(self.addr) {
                return None;
            }
            let before = last.get();
            last.set(by);
            *last.wakes += 1;
            Some(Told { row: self.row, before, wakes: *last.wakes })
        };
        self.row.with(tell).flatten()
    }
}

impl Told {
    /// Nobody was woken.
    pub fn take_back(self) {
        self.row.with(|mut last| {
            // Somebody else's wake since then stands.
            if *last.wakes == self.wakes {
                last.set(&self.before);
                *last.wakes -= 1;
            }
        });
    }
}

impl Place {
    /// The call has returned: who ended the wait, as far as that is known.
    pub fn waker(&self) -> Option<Waker> {
        self.row.with(|last| (*last.wakes != self.wakes).then(|| last.get())).flatten()
    }

    /// The wait is over.
    pub fn leave(self) {
        self.row.leave();
    }
}

/// The fields of a row that its lock guards: the last waker, and how many there were.
pub(crate) struct LastWake<'a> {
    tid: &'a mut u32,
    site: &'a mut u32,
    stack: &'a mut u32,
    when_ns: &'a mut u64,
    wakes: &'a mut u64,
}

impl LastWake<'_> {
    fn get(&self) -> Waker {
        Waker { tid: *self.tid, site: *self.site, stack: *self.stack, when_ns: *self.when_ns }
    }

    fn set(&mut self, by: &Waker) {
        (*self.tid, *self.site, *self.stack) = (by.tid, by.site, by.stack);
        *self.when_ns = by.when_ns;
    }
}

shared_row::row!(Wake, LastWake { tid, site, stack, when_ns, wakes });

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const A: u64 = 0x1000;
    const B: u64 = 0x2000;

    fn wakes_with(addrs: &[u64]) -> Box<Wakes> {
        let wakes = Box::new(Wakes::new());
        for &addr in addrs {
            let row = Box::leak(Box::new(Wake { state: 1, addr, ..Wake::default() }));
            // SAFETY: a fresh row, which is never freed.
            unsafe { wakes.add(addr, row) };
        }
        wakes
    }

    fn by(tid: u32) -> Waker {
        Waker { tid, site: tid + 100, stack: tid + 200, when_ns: 7 }
    }

    #[test]
    fn a_waiter_knows_who_woke_it() {
        let wakes = wakes_with(&[A, B]);
        assert!(wakes.waited_for(A).is_none(), "nobody waits");
        let place = wakes.enter(A).unwrap();
        assert!(wakes.waited_for(B).is_none(), "nobody waits there");
        wakes.waited_for(A).unwrap().tell(&by(1)).unwrap();
        assert_eq!(place.waker(), Some(by(1)));
        place.leave();
        assert!(wakes.waited_for(A).is_none(), "it has left");
        assert_eq!(wakes.enter(A).unwrap().waker(), None, "an old wake is not this wait's");
    }

    #[test]
    fn a_wake_of_nobody_is_taken_back() {
        let wakes = wakes_with(&[A]);
        let place = wakes.enter(A).unwrap();
        let first = wakes.waited_for(A).unwrap().tell(&by(1)).unwrap();
        let second = wakes.waited_for(A).unwrap().tell(&by(2)).unwrap();
        second.take_back();
        assert_eq!(place.waker(), Some(by(1)));
        first.take_back();
        assert_eq!(place.waker(), None);
    }

    #[test]
    fn a_row_is_used_again_when_nobody_waits() {
        let (wakes, mut at) = (wakes_with(&[]), Vec::new());
        let same_set = |addr: &u64| std::ptr::eq(wakes.set(*addr), wakes.set(A));
        let mut addrs = (A..).step_by(8).filter(same_set);
        for addr in addrs.by_ref().take(WAYS) {
            assert!(wakes.enter(addr).is_none() && wakes.has_room(addr));
            let row = Box::leak(Box::new(Wake { addr, ..Wake::default() }));
            // SAFETY: a fresh row, which is never freed.
            unsafe { wakes.add(addr, row) };
            at.push((addr, wakes.enter(addr).unwrap()));
        }
        let more = addrs.next().unwrap();
        assert!(wakes.enter(more).is_none() && !wakes.has_room(more), "all are waited at");
        let (old, place) = at.pop().unwrap();
        place.leave();
        let place = wakes.enter(more).unwrap();
        assert!(wakes.waited_for(old).is_none());
        wakes.waited_for(more).unwrap().tell(&by(3)).unwrap();
        assert_eq!(place.waker(), Some(by(3)));
    }
}
