//! Threads that wait on condition variables, and the signal that ended each wait.
//!
//! A condition wait returns once its thread has the mutex again, so its end says nothing about when the
//! thread was woken. Therefore a waiter enters the list of its set ([`Conditions::enter`]) before it waits,
//! while it still holds the mutex. A signaller, before it signals, notes the time and its call site at a
//! waiter that has no signal yet ([`Conditions::signal`]), or at all of them. The waiter finds that when it
//! leaves ([`Conditions::leave`]).
//!
//! The C library decides which waiter a signal wakes. So a waiter that was woken but finds no signal takes one
//! that was noted at another waiter of the same condition variable. All waits together are as long as
//! they were; which of two waits ended first may be exchanged.
//!
//! A set's lock orders all that is in its list, so what is read and written with it held is Relaxed. Numbers of waiters are
//! hints: a signaller that has the mutex of a waiter comes after that has entered, by the mutex itself.
//!
//! The signaller also enters the mutex's board for the waiter ([`super::board`]): holders of the mutex
//! are asleep to nobody from then on, and the waiter leaves the board when it has the mutex.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::board::{Boards, Place};

/// Lists of waiters, by a hash of the condition variable's address.
const SETS: usize = 256;

/// Attempts at the lock of a set. Its holders execute some dozen instructions, but can lose the processor
/// between them. A waiter that leaves tries longer: what it leaves behind would have to be removed by another.
const ATTEMPTS: u32 = 2000;
const ATTEMPTS_TO_LEAVE: u32 = 200_000;

/// A signal that a waiter was woken by.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// When.
    pub at: u64,
    /// Row of its site; 0: the thread was cancelled.
    pub site: u32,
    /// Kernel id of the thread that signalled.
    pub tid: u32,
    /// The waiter's place at the board of its mutex from then on.
    pub place: Option<Place>,
}

/// What is waited on, and with which mutex.
#[derive(Clone, Copy, Debug)]
pub struct On {
    /// Address of the condition variable.
    pub cond: u64,
    /// Address of the mutex.
    pub mutex: u64,
    /// Class of the mutex.
    pub class: u32,
    /// The waiting thread, by a number that no other has.
    pub thread: u64,
}

/// A thread's place among the waiters. It lies in the thread's memory for waits, which stays mapped and
/// begins zeroed. Its set's lock guards all fields but `set` and `has_left`.
#[repr(C)]
pub struct CondWaiter {
    /// Number of the set whose list it is in, plus 1; 0: none. Only its thread changes it.
    set: AtomicU32,
    /// Its thread could not remove it. Only its thread changes it.
    has_left: AtomicU32,
    next: *mut CondWaiter,
    previous: *mut CondWaiter,
    on: On,
    signal: Option<Signal>,
}

/// A list of waiters, the last that came first.
struct Set {
    busy: AtomicU32,
    /// How many are in the list: a hint for signallers.
    waiters: AtomicU32,
    first: AtomicPtr<CondWaiter>,
}

/// All condition variables of a process.
pub struct Conditions {
    sets: [Set; SETS],
}

impl Default for Conditions {
    fn default() -> Self {
        Self::new()
    }
}

impl Set {
    /// Runs `f` with the lock held, or not at all after so many attempts.
    fn with<T>(&self, attempts: u32, f: impl FnOnce() -> T) -> Option<T> {
        let mut left = attempts;
        // Acquire pairs with the Release below: the list as the last holder left it.
        while self.busy.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            left = left.checked_sub(1)?;
            core::hint::spin_loop();
        }
        let result = f();
        self.busy.store(0, Release);
        Some(result)
    }

    /// The waiters that `is_it` is true of, the last that came first. The caller has the lock.
    fn those(&self, is_it: impl Fn(&On) -> bool) -> impl Iterator<Item = *mut CondWaiter> {
        let mut next = self.first.load(Relaxed);
        let all = core::iter::from_fn(move || {
            let this = next;
            // SAFETY: waiters in the list lie in memory that stays mapped, and the caller has the lock.
            next = unsafe { this.as_ref() }?.next;
            Some(this)
        });
        // SAFETY: the same.
        all.filter(move |&waiter| unsafe {
            is_it(&(*waiter).on) && (*waiter).has_left.load(Relaxed) == 0
        })
    }

    /// The waiters on `cond`. The caller has the lock.
    fn on(&self, cond: u64) -> impl Iterator<Item = *mut CondWaiter> {
        self.those(move |on| on.cond == cond)
    }

    /// The waiter of a thread. The caller has the lock.
    fn find(&self, thread: u64) -> Option<*mut CondWaiter> {
        self.those(|on| on.thread == thread).next()
    }

    /// Takes a waiter out of the list. The caller has the lock.
    ///
    /// # Safety
    /// The waiter is in this list.
    unsafe fn remove(&self, waiter: *mut CondWaiter) {
        // SAFETY: by contract the waiter is in the list, whose lock the caller has; its neighbours are, too.
        unsafe {
            let (next, previous) = ((*waiter).next, (*waiter).previous);
            match previous.is_null() {
                true => self.first.store(next, Relaxed),
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
            (*waiter).set.store(0, Relaxed);
        }
        self.waiters.fetch_sub(1, Relaxed);
    }
}

impl Conditions {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self {
            sets: [const {
                Set {
                    busy: AtomicU32::new(0),
                    waiters: AtomicU32::new(0),
                    first: AtomicPtr::new(ptr::null_mut()),
                }
            }; SETS],
        }
    }

    /// Forgets all waiters: in a forked child, whose parent's they are.
    pub fn forget(&self) {
        // What the child does not write to it need not copy.
        for set in &self.sets {
            if set.waiters.load(Relaxed) != 0 || set.busy.load(Relaxed) != 0 {
                set.first.store(ptr::null_mut(), Relaxed);
                set.waiters.store(0, Relaxed);
                set.busy.store(0, Relaxed);
            }
        }
    }

    fn number(cond: u64) -> usize {
        (cond.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }

    /// The calling thread, whose place `waiter` is, is about to wait. False: nobody will know.
    ///
    /// # Safety
    /// `waiter` is the calling thread's own, zeroed or used by threads only that had the same memory before.
    pub unsafe fn enter(&self, waiter: *mut CondWaiter, on: On, boards: &Boards) -> bool {
        // SAFETY: by contract the waiter is the calling thread's own; it is in no list, or has been left there.
        unsafe {
            let is_free = (*waiter).set.load(Relaxed) == 0
                || (*waiter).has_left.load(Relaxed) != 0 && self.clear(waiter, ATTEMPTS, boards);
            if !is_free {
                return false;
            }
        }
        let number = Self::number(on.cond);
        let set = &self.sets[number];
        let entered = set.with(ATTEMPTS, || {
            let first = set.first.load(Relaxed);
            // SAFETY: the waiter is in no list, and this is the calling thread's own; the first is in the list, whose lock is held.
            unsafe {
                (*waiter).set.store(number as u32 + 1, Relaxed);
                (*waiter).has_left.store(0, Relaxed);
                ((*waiter).next, (*waiter).previous) = (first, ptr::null_mut());
                ((*waiter).on, (*waiter).signal) = (on, None);
                if !first.is_null() {
                    (*first).previous = waiter;
                }
            }
            set.first.store(waiter, Relaxed);
            set.waiters.fetch_add(1, Relaxed);
        });
        entered.is_some()
    }

    /// Removes a waiter, and leaves the board that it was entered at.
    ///
    /// # Safety
    /// The calling thread's own, which is in a list.
    unsafe fn clear(&self, waiter: *mut CondWaiter, attempts: u32, boards: &Boards) -> bool {
        // SAFETY: by contract the calling thread's own, in a list.
        match unsafe { self.remove(waiter, attempts) } {
            Some(signal) => {
                signal.and_then(|signal| signal.place).iter().for_each(|it| boards.quit(it));
                true
            }
            None => false,
        }
    }

    /// Removes a waiter; its signal. `None`: it could not be.
    ///
    /// # Safety
    /// The calling thread's own, which is in a list.
    unsafe fn remove(&self, waiter: *mut CondWaiter, attempts: u32) -> Option<Option<Signal>> {
        // SAFETY: by contract the calling thread's own, in a list; the fields that the lock guards are used with it held.
        unsafe {
            let set = &self.sets[(*waiter).set.load(Relaxed).checked_sub(1)? as usize % SETS];
            set.with(attempts, || {
                set.remove(waiter);
                (*waiter).signal.take()
            })
        }
    }

    /// The wait is over; `was_woken`: by a signal. That signal, as far as it is known.
    ///
    /// # Safety
    /// The calling thread's own, for which [`Conditions::enter`] answered true.
    pub unsafe fn leave(
        &self,
        waiter: *mut CondWaiter,
        was_woken: bool,
        boards: &Boards,
    ) -> Option<Signal> {
        // SAFETY: by contract the calling thread's own, in a list; the fields that the lock guards are used with it held.
        unsafe {
            let number = (*waiter).set.load(Relaxed).checked_sub(1)?;
            let set = &self.sets[number as usize % SETS];
            let left = set.with(ATTEMPTS_TO_LEAVE, || {
                set.remove(waiter);
                let (on, signal) = ((*waiter).on, (*waiter).signal.take());
                match (was_woken, signal) {
                    (true, None) => {
                        let mut others = set.on(on.cond);
                        let other = others.find(|&other| (*other).signal.is_some())?;
                        (*other).signal.take()
                    }
                    // The C library wakes another waiter in its place. A cancellation is its own.
                    (false, Some(signal)) if signal.site != 0 => {
                        let mut others = set.on(on.cond);
                        let is_next = |other: &*mut CondWaiter| {
                            (**other).signal.is_none() && (**other).on.mutex == on.mutex
                        };
                        match others.find(is_next) {
                            Some(other) => (*other).signal = Some(signal),
                            None => signal.place.iter().for_each(|place| boards.quit(place)),
                        }
                        None
                    }
                    (_, signal) => signal,
                }
            });
            left.unwrap_or_else(|| {
                (*waiter).has_left.store(1, Relaxed);
                None
            })
        }
    }

    /// A wait on `cond` that has no signal yet.
    pub fn waited_for(&self, cond: u64) -> Option<On> {
        let set = &self.sets[Self::number(cond)];
        if set.waiters.load(Relaxed) == 0 {
            return None;
        }
        set.with(ATTEMPTS, || {
            // SAFETY: waiters in the list, whose lock is held.
            unsafe { set.on(cond).find(|&it| (*it).signal.is_none()).map(|it| (*it).on) }
        })?
    }

    /// `cond` is about to be signalled: `to_all`, or to one. `place` is one at the board of the mutex at
    /// address `mutex`. How many threads that wakes.
    pub fn signal(
        &self,
        cond: u64,
        to_all: bool,
        signal: Signal,
        mutex: u64,
        boards: &Boards,
    ) -> u32 {
        let set = &self.sets[Self::number(cond)];
        let mut woken = 0;
        set.with(ATTEMPTS, || {
            for waiter in set.on(cond) {
                // SAFETY: waiters in the list, whose lock is held. No reference is made: their threads look at `set` without the lock.
                unsafe {
                    if (*waiter).signal.is_some() {
                        continue;
                    }
                    let place = signal.place.filter(|_| (*waiter).on.mutex == mutex);
                    place.iter().for_each(|place| boards.join(place));
                    (*waiter).signal = Some(Signal { place, ..signal });
                }
                woken += 1;
                if !to_all {
                    break;
                }
            }
        });
        woken
    }

    /// The wait of a thread that is about to be cancelled; `None` if it waits on no condition variable, or has been woken.
    pub fn wait_of(&self, thread: u64) -> Option<On> {
        self.sets.iter().filter(|set| set.waiters.load(Relaxed) != 0).find_map(|set| {
            set.with(ATTEMPTS, || {
                let waiter = set.find(thread)?;
                // SAFETY: in the list, whose lock is held.
                unsafe { (*waiter).signal.is_none().then(|| (*waiter).on) }
            })?
        })
    }

    /// As [`Conditions::signal`], to the one wait that [`Conditions::wait_of`] returned, whose thread is cancelled.
    pub fn cancel(&self, on: &On, signal: Signal, boards: &Boards) {
        let set = &self.sets[Self::number(on.cond)];
        set.with(ATTEMPTS, || {
            // SAFETY: in the list, whose lock is held.
            unsafe {
                let is_asleep = |waiter: &*mut CondWaiter| (**waiter).signal.is_none();
                if let Some(waiter) = set.find(on.thread).filter(is_asleep) {
                    signal.place.iter().for_each(|place| boards.join(place));
                    (*waiter).signal = Some(signal);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;

    const COND: u64 = 0x1000;
    const MUTEX: u64 = 0x2000;

    struct Street {
        conditions: Box<Conditions>,
        boards: Box<Boards>,
        waiters: Vec<*mut CondWaiter>,
    }

    impl Street {
        /// So many threads wait on one condition variable.
        fn of(threads: u64) -> Self {
            let mut street = Self {
                conditions: Box::new(Conditions::new()),
                boards: Box::new(Boards::new()),
                waiters: Vec::new(),
            };
            for thread in 0..threads {
                // SAFETY: integers, null pointers and an option whose tag is never read before `enter` has written it.
                let waiter = Box::leak(Box::new(unsafe { core::mem::zeroed::<CondWaiter>() }));
                street.waiters.push(waiter);
                street.enter(thread);
            }
            street
        }

        fn enter(&self, thread: u64) {
            let on = On { cond: COND, mutex: MUTEX, class: 1, thread: thread + 1 };
            // SAFETY: the test is every thread, and the memory is never freed.
            assert!(unsafe {
                self.conditions.enter(self.waiters[thread as usize], on, &self.boards)
            });
        }

        /// When the thread was woken, as far as it knows.
        fn leave(&self, thread: usize, was_woken: bool) -> Option<u64> {
            // SAFETY: as in `enter`.
            let left =
                unsafe { self.conditions.leave(self.waiters[thread], was_woken, &self.boards) };
            left.map(|signal| signal.at)
        }

        fn signal(&self, at: u64, to_all: bool) -> u32 {
            let signal = Signal { at, site: 7, tid: 1, place: None };
            self.conditions.signal(COND, to_all, signal, MUTEX, &self.boards)
        }
    }

    #[test]
    fn a_waiter_knows_when_it_was_woken() {
        let street = Street::of(2);
        assert!(street.conditions.waited_for(COND + 8).is_none(), "nobody waits there");
        assert_eq!(street.signal(10, false), 1);
        assert_eq!(street.signal(20, false), 1);
        assert_eq!(street.signal(30, false), 0, "both have been woken");
        assert!(street.conditions.waited_for(COND).is_none());
        let mut woken = [street.leave(0, true), street.leave(1, true)];
        woken.sort_unstable();
        assert_eq!(woken, [Some(10), Some(20)]);
        street.enter(0);
        assert_eq!(street.leave(0, true), None, "an old signal is not this wait's");
    }

    #[test]
    fn a_broadcast_wakes_all() {
        let street = Street::of(3);
        assert_eq!(street.signal(10, true), 3);
        assert!((0..3).all(|thread| street.leave(thread, true) == Some(10)));
    }

    #[test]
    fn the_c_library_wakes_another_than_was_noted() {
        for woken in 0..3 {
            let street = Street::of(3);
            assert_eq!(street.signal(10, false), 1);
            assert_eq!(street.leave(woken, true), Some(10));
            assert_eq!(street.signal(20, true), 2, "the others wait still");
        }
    }

    #[test]
    fn a_wait_that_runs_out_leaves_its_signal_to_another() {
        let street = Street::of(2);
        street.signal(10, false);
        let noted = (0..2).find(|&thread| {
            let waiter = street.waiters[thread];
            // SAFETY: as in `enter`.
            unsafe { (*waiter).signal.is_some() }
        });
        let noted = noted.expect("one");
        assert_eq!(street.leave(noted, false), None);
        assert_eq!(street.leave(1 - noted, true), Some(10));
    }

    #[test]
    fn a_thread_that_is_cancelled_knows_when() {
        let street = Street::of(2);
        let on = street.conditions.wait_of(2).expect("it waits");
        street.conditions.cancel(
            &on,
            Signal { at: 10, site: 0, tid: 1, place: None },
            &street.boards,
        );
        assert!(street.conditions.wait_of(2).is_none(), "it is cancelled");
        assert_eq!(street.leave(1, false), Some(10));
        assert_eq!(street.leave(0, false), None);
    }
}
