//! Who woke whom at a futex: the words of memory at which threads wait, and for each who woke one
//! of them last.
//!
//! A waiter comes to the word's row before it waits ([`Wakes::enter`]). Who is about to wake looks
//! whether there is one ([`Wakes::waited_for`]), and writes itself down before it does
//! ([`Waiter::tell`]), so that whoever is woken finds it; if nobody was woken it takes that back
//! ([`Told::take_back`]). A waiter that returns compares with what was there when it came
//! ([`Place::waker`]): that its wait was ended by the last waker since is exact where one thread at
//! a time is woken, and where several are woken one after the other and none of them has run yet,
//! all are said to be the last one's.
//!
//! No lock is waited for, and nothing is allocated but a row for a word that is new.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};

use lockwright_ledger::rows::Wake;

/// Sets of words, by a hash of their address, and words of a set that can be waited at at once: of
/// more than that the wakers are not known.
const SETS: usize = 512;
const WAYS: usize = 8;

/// Attempts at a row's lock before the waker goes unrecorded. Its holders do a dozen instructions,
/// but can lose the processor between them.
const ATTEMPTS: u32 = 2000;

/// All words of a process.
pub struct Wakes {
    sets: [[AtomicPtr<Wake>; WAYS]; SETS],
}

/// Who wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    row: *mut Wake,
    wakes: u64,
}

/// A word that somebody waits at.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    row: *mut Wake,
    addr: u64,
}

/// A wake that has been written down.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    row: *mut Wake,
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

    fn rows(&self, addr: u64) -> impl Iterator<Item = *mut Wake> {
        // Acquire pairs with the Release in `add`.
        self.set(addr).iter().map(|way| way.load(Acquire)).filter(|row| !row.is_null())
    }

    /// The calling thread is about to wait at `addr`. `None`: there is no row for it. Then, if there
    /// is [room](Self::has_room), [`Wakes::add`] and once more.
    pub fn enter(&self, addr: u64) -> Option<Place> {
        let comes = |row: *mut Wake, is_own: bool| {
            let change = |row: &mut Wake| {
                match is_own {
                    true if row.addr == addr => {}
                    false if row.waiters == 0 => {
                        let Wake { state, busy, .. } = *row;
                        *row = Wake { state, busy, addr, ..Wake::default() };
                    }
                    _ => return None,
                }
                row.waiters += 1;
                Some(row.wakes)
            };
            // SAFETY: a row of the set.
            let wakes = unsafe { with(row, change) }.flatten()?;
            Some(Place { row, wakes })
        };
        // SAFETY: rows stay mapped.
        let own = self.rows(addr).find(|&row| unsafe { addr_of(row) }.load(Relaxed) == addr);
        let place = match own {
            Some(row) => comes(row, true),
            None if self.has_room(addr) => None,
            None => {
                // SAFETY: as above.
                let is_free = |row: &*mut Wake| unsafe { waiters_of(*row) }.load(Relaxed) == 0;
                self.rows(addr).filter(is_free).find_map(|row| comes(row, false))
            }
        };
        // Of a waiter and a waker, one sees the other: the waiter comes, fences and has the kernel
        // compare the word; the waker changes the word, fences and looks for waiters. Pairs with the
        // fence in `waited_for`.
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
    /// `row` is a mapped row, zero but for its state and its address, that is in no set yet.
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
        // SAFETY: rows stay mapped; the words are only accessed atomically here.
        let is_it = |row: &*mut Wake| unsafe {
            addr_of(*row).load(Relaxed) == addr && waiters_of(*row).load(Relaxed) != 0
        };
        self.rows(addr).find(is_it).map(|row| Waiter { row, addr })
    }
}

impl Waiter {
    /// The calling thread is about to wake somebody here. `None` where that is not written down.
    pub fn tell(self, by: &Waker) -> Option<Told> {
        let tell = |row: &mut Wake| {
            if row.addr != self.addr || row.waiters == 0 {
                return None;
            }
            let before = waker(row);
            set_waker(row, by);
            row.wakes += 1;
            Some(Told { row: self.row, before, wakes: row.wakes })
        };
        // SAFETY: a row of a set.
        unsafe { with(self.row, tell) }.flatten()
    }
}

impl Told {
    /// Nobody was woken.
    pub fn take_back(self) {
        let take_back = |row: &mut Wake| {
            // Somebody else's wake since then stands.
            if row.wakes == self.wakes {
                set_waker(row, &self.before);
                row.wakes -= 1;
            }
        };
        // SAFETY: a row of a set.
        unsafe { with(self.row, take_back) };
    }
}

impl Place {
    /// The call has returned: who ended the wait, as far as that is known.
    pub fn waker(&self) -> Option<Waker> {
        let last = |row: &mut Wake| (row.wakes != self.wakes).then(|| waker(row));
        // SAFETY: a row of a set.
        unsafe { with(self.row, last) }.flatten()
    }

    /// The wait is over.
    pub fn leave(self) {
        let leave = |row: &mut Wake| row.waiters = row.waiters.saturating_sub(1);
        // SAFETY: a row of a set.
        unsafe {
            if with(self.row, leave).is_none() {
                // Without its lock, as the count must not stay up for ever.
                waiters_of(self.row).fetch_sub(1, Relaxed);
            }
        }
    }
}

fn waker(row: &Wake) -> Waker {
    Waker { tid: row.tid, site: row.site, stack: row.stack, when_ns: row.when_ns }
}

fn set_waker(row: &mut Wake, by: &Waker) {
    (row.tid, row.site, row.stack, row.when_ns) = (by.tid, by.site, by.stack, by.when_ns);
}

unsafe fn addr_of(row: *mut Wake) -> &'static AtomicU64 {
    // SAFETY: rows stay mapped; the word is only accessed atomically without the row's lock.
    unsafe { AtomicU64::from_ptr(&raw mut (*row).addr) }
}

unsafe fn waiters_of(row: *mut Wake) -> &'static AtomicU32 {
    // SAFETY: as above.
    unsafe { AtomicU32::from_ptr(&raw mut (*row).waiters) }
}

/// Runs `f` with the row to itself, or not at all.
///
/// # Safety
/// A mapped row.
unsafe fn with<R>(row: *mut Wake, f: impl FnOnce(&mut Wake) -> R) -> Option<R> {
    // SAFETY: the caller's promise; the word is only accessed atomically.
    let busy = unsafe { AtomicU32::from_ptr(&raw mut (*row).busy) };
    let mut attempts = 0;
    // Acquire pairs with the Release below: the row as the last one left it.
    while busy.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        attempts += 1;
        if attempts > ATTEMPTS {
            return None;
        }
        core::hint::spin_loop();
    }
    // SAFETY: exclusive by `busy`; `waiters` and `addr` are looked at by others as atomics only.
    let result = f(unsafe { &mut *row });
    busy.store(0, Release);
    Some(result)
}

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
