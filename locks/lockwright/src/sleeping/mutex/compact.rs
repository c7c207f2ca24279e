//! The mutex in two words and the queue's tail: for words that are in the program's own objects.
//!
//! ```text
//!   waiters  bits  0-1   the wait lock: 0 free, 1 held, 2 held and somebody may sleep
//!            bits  2-15  the first waiter, as the number of its place; 0 none
//!            bits 16-29  the last waiter
//!            bits 30-31  0
//!   owner    see owner.rs, in a word of the user's choice
//!   osq      the tail alone
//! ```
//!
//! A thread waits in one of its nodes (`qnode.rs`), which says where its record is. So it takes a
//! thread with a number to wait, and one with a small number: the others look at the lock each
//! millisecond.

use core::mem::offset_of;
use core::ops::Deref;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{Layout, Waiter};
use crate::osq::RawOsq;
use crate::owner::Owner;
use crate::platform::{Atomic, Platform, Task, Word};
use crate::qnode::{self, Place};
use crate::sleeper::Sleeper;
use crate::wait_list::{List, Node};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;
/// The bits of the wait lock.
const STATE: u32 = 3;

const FIRST_SHIFT: u32 = 2;
const LAST_SHIFT: u32 = 16;
/// The bits of a place.
const PLACE: u32 = (1 << 14) - 1;
/// Bits of a tail (`qnode.rs`) below the number of its place.
const TAIL_SHIFT: u32 = 16;

/// The wait lock and the ends of the list.
#[repr(transparent)]
struct Waiters<P: Platform> {
    word: P::Word,
}

impl<P: Platform> Waiters<P> {
    fn lock(&self) -> Guard<'_, P> {
        // Relaxed: a guess, which the exchange verifies.
        let mut word = self.word.load(Relaxed);
        let mut taken = HELD;
        let mut rounds = 0;
        loop {
            if word & STATE == FREE {
                // Acquire: pairs with the Release in the guard's `drop`.
                match self.word.compare_exchange(word, word | taken, Acquire, Relaxed) {
                    Ok(_) => return Guard { waiters: self, list: Self::list(word) },
                    Err(seen) => word = seen,
                }
                continue;
            }
            if taken == HELD && word & STATE == HELD && !P::need_resched(rounds) {
                rounds += 1;
                P::relax();
                // Relaxed: as above.
                word = self.word.load(Relaxed);
                continue;
            }
            // A thread that has slept leaves CONTENDED behind, even if no other thread sleeps: it
            // cannot know.
            taken = CONTENDED;
            let contended = (word & !STATE) | CONTENDED;
            // Relaxed: what is under the lock is not read.
            match self.word.compare_exchange(word, contended, Relaxed, Relaxed) {
                Ok(_) => {
                    self.word.wait(contended, None);
                    // Relaxed: as above.
                    word = self.word.load(Relaxed);
                }
                Err(seen) => word = seen,
            }
        }
    }

    /// The list of which a word names the ends. Under the lock.
    fn list(word: u32) -> List<Waiter<P>> {
        let [first, last] = [word >> FIRST_SHIFT, word >> LAST_SHIFT].map(|place| place & PLACE);
        let record = |place: u32| qnode::record::<P, Node<Waiter<P>>>(place << TAIL_SHIFT);
        // SAFETY: they were its ends when the lock was last released. It is used under the lock,
        // and those who are in it are there.
        unsafe { List::from_ends((first != 0).then(|| [record(first), record(last)])) }
    }
}

/// The list, locked; dropped, released.
pub struct Guard<'a, P: Platform> {
    waiters: &'a Waiters<P>,
    list: List<Waiter<P>>,
}

impl<P: Platform> Deref for Guard<'_, P> {
    type Target = List<Waiter<P>>;

    fn deref(&self) -> &List<Waiter<P>> {
        &self.list
    }
}

impl<P: Platform> Drop for Guard<'_, P> {
    fn drop(&mut self) {
        let place = |end: Option<core::ptr::NonNull<Node<Waiter<P>>>>| {
            // SAFETY: it is in the list, hence alive as long as we have the lock.
            end.map_or(0, |node| unsafe { node.as_ref() }.value.tail >> TAIL_SHIFT)
        };
        let (first, last) = (place(self.list.first()), place(self.list.last()));
        let free = (first << FIRST_SHIFT) | (last << LAST_SHIFT);
        let word = &raw const self.waiters.word;
        // SAFETY: held, hence there. Release: pairs with the Acquire in `lock`. From here on the
        // lock may be gone.
        if unsafe { &*word }.swap(free, Release) & STATE == CONTENDED {
            P::Word::wake(word, 1);
        }
    }
}

/// The parts of a mutex in few bytes, in this order, `O` being the word of the owner, `T` that of the
/// queue; and between them what the user keeps there, which may change at any time. Zeros are a free
/// mutex, where zeros are words of 0.
#[repr(C)]
pub struct Compact<
    P: Platform,
    O = <P as Platform>::Long,
    T = <P as Platform>::Word,
    A = (),
    B = (),
> {
    waiters: Waiters<P>,
    before_owner: A,
    owner: Owner<P, O>,
    before_tail: B,
    osq: RawOsq<P, T>,
}

impl<P: Platform, O, T, A, B> Compact<P, O, T, A, B> {
    /// Where the word of the wait lock, the owner and the tail are.
    pub const OFFSETS: [usize; 3] =
        [offset_of!(Self, waiters), offset_of!(Self, owner), offset_of!(Self, osq)];
}

impl<P, O, T, A, B> Layout<P> for Compact<P, O, T, A, B>
where
    P: Platform,
    O: Atomic<usize>,
    T: Atomic<u32>,
    A: Default + Send + Sync + 'static,
    B: Default + Send + Sync + 'static,
{
    type Owner = O;
    type Tail = T;
    type Place = Place<P>;
    type Waiters<'a> = Guard<'a, P>;

    fn free() -> Self {
        Self {
            waiters: Waiters { word: P::Word::new(0) },
            before_owner: A::default(),
            owner: Owner::from_word(O::new(0)),
            before_tail: B::default(),
            osq: RawOsq::new_in(),
        }
    }

    #[inline]
    fn owner(&self) -> &Owner<P, O> {
        &self.owner
    }

    #[inline]
    fn osq(&self) -> &RawOsq<P, T> {
        &self.osq
    }

    fn lock_waiters(&self) -> Guard<'_, P> {
        self.waiters.lock()
    }

    fn claim() -> Option<Place<P>> {
        Place::claim().filter(|place| place.tail >> TAIL_SHIFT <= PLACE)
    }

    /// Not where a wait was interrupted, maybe that in a queue: a thread has one node in those.
    fn may_spin(place: &Place<P>) -> bool {
        !place.is_nested()
    }

    fn record(place: &Place<P>, task: Task) -> Node<Waiter<P>> {
        Node::new(Waiter { task, sleeper: Sleeper::new(), tail: place.tail })
    }

    fn note(place: &Place<P>, record: &Node<Waiter<P>>) {
        place.set_record(record);
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicUsize};
    use std::thread;
    use std::time::Duration;
    use std::vec::Vec;

    use super::*;
    use crate::mutex::RawMutex;
    use crate::platform::linux::Linux;

    type Mutex = RawMutex<Linux, Compact<Linux>>;

    /// Runs it in a thread that waits in all the places that it has: in the handler of a signal, in
    /// that of another, and so on.
    fn without_a_place<T: Send>(run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let places: Vec<_> = core::iter::from_fn(Place::<Linux>::claim).collect();
                let result = run();
                // The last first, as handlers end.
                places.into_iter().rev().for_each(drop);
                result
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn who_has_no_place_to_wait_in_waits_all_the_same() {
        let mutex = Mutex::new_in();
        mutex.lock();
        assert!(!without_a_place(|| mutex.lock_until(Some(Linux::now() + 2_500_000))));
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                without_a_place(|| {
                    mutex.lock();
                    // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                    unsafe { mutex.unlock() };
                });
            });
            thread::sleep(Duration::from_millis(3));
            // SAFETY: this thread took `mutex` with `lock` above and still holds it.
            unsafe { mutex.unlock() };
            waiter.join().unwrap();
        });
        assert!(!mutex.is_locked());
    }

    #[test]
    fn what_lies_between_its_parts_stays() {
        type Parts = Compact<Linux, AtomicUsize, AtomicU32, AtomicU32, AtomicU32>;
        let mutex = RawMutex::<Linux, Parts>::new_in();
        mutex.parts.before_owner.store(7, Relaxed);
        mutex.parts.before_tail.store(8, Relaxed);
        let sections = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        mutex.lock();
                        // Relaxed: under the lock.
                        sections.store(sections.load(Relaxed) + 1, Relaxed);
                        // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                        unsafe { mutex.unlock() };
                    }
                });
            }
        });
        assert_eq!(sections.load(Relaxed), 4000);
        let kept = [&mutex.parts.before_owner, &mutex.parts.before_tail];
        assert_eq!(kept.map(|cell| cell.load(Relaxed)), [7, 8]);
    }
}
