//! Locks in objects that their last holder frees: when it has the lock, others may still be in
//! their unlocking.
//!
//! ```text
//!   A: lock, references 2 -> 1, unlock ...........
//!   B:                             lock, references 1 -> 0, unlock, free
//!                                                                   ^ A's unlock may touch it no more
//! ```
//!
//! Signals hold A up now and then. What A does in the few nanoseconds after its release is met
//! seldom: that no lock touches itself there is for its model to show, which has all interleavings.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Barrier};

use lockwright::platform::await_until;
use lockwright::platform::linux::Linux;
use serde::Serialize;

use super::arena::Arena;
use super::data::Data;
use super::ops::Ops;
use super::signals::{Handler, Storm, Targets};
use super::types::Type;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Freed {
    /// Objects that were freed.
    pub objects: u64,
    /// How many of those were touched afterwards.
    pub touched: u64,
    /// Times that a thread was under the lock that must not be.
    pub fail: u64,
}

/// An object's part outside of its lock.
#[derive(Default)]
struct Object {
    data: Data,
    passed: AtomicU64,
}

/// Lets `threads` threads go through `objects` objects, all through the same one at a time.
pub fn freed(torture_type: &Type, threads: usize, objects: usize) -> Freed {
    let arena = Arena::new(objects);
    // SAFETY: `page` returns a whole page of the arena, each for one object, which nothing else
    // uses.
    let place = |index| unsafe { (torture_type.place)(arena.page(index)) };
    let locks: Vec<_> = (0..objects).map(|index| Shared(place(index))).collect();
    let rest: Vec<_> = (0..objects).map(|_| Object::default()).collect();
    let [freed, fail] = [const { AtomicU64::new(0) }; 2];
    let targets = Arc::new(Targets::default());
    let storm = Storm::new(Handler::default(), Arc::clone(&targets));
    let start = Barrier::new(threads);
    let go_through = || {
        let _target = targets.join();
        start.wait();
        for (index, (lock, object)) in locks.iter().zip(&rest).enumerate() {
            // SAFETY: not freed, as we have not been there yet.
            let ops = unsafe { &*lock.0 };
            ops.writelock();
            fail.fetch_add(u64::from(!object.data.write(|| ())), Relaxed);
            let last = object.data.writes() == threads as u64;
            // SAFETY: `writelock` above took the lock for this thread.
            unsafe { ops.writeunlock() };
            if last {
                arena.free(index);
                freed.fetch_add(1, Relaxed);
            }
            // Nobody goes ahead, so that all meet at the next one. Release and Acquire: of no
            // importance.
            object.passed.fetch_add(1, Release);
            await_until::<Linux>(|| object.passed.load(Acquire) == threads as u64);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(go_through);
        }
    });
    storm.end(false);
    Freed { objects: freed.into_inner(), touched: arena.touched(), fail: fail.into_inner() }
}

/// A lock in the arena.
struct Shared(*const dyn Ops);

// SAFETY: `Ops` are for all threads.
unsafe impl Sync for Shared {}
