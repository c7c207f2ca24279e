use std::sync::Arc;

use lockwright::rtmutex::{Error, RawRtMutex};
use loom::thread;

use crate::exclusion::{Exclusive, exclusive_models};
use crate::world::{self, Loom};

exclusive_models!(RawRtMutex<Loom>);

/// A deadline takes nothing from the lock: it is free afterwards.
#[test]
fn a_deadline_races_with_unlock() {
    world::check(Some(3), || {
        let lock = Arc::new(RawRtMutex::<Loom>::new_in());
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || lock.locked(|| ()))
        };
        match lock.lock_until(Some(0)) {
            // SAFETY: this thread took `lock` with `lock_until` above and still holds it.
            Ok(()) => unsafe { lock.unlock() },
            Err(error) => assert_eq!(error, Error::TimedOut),
        }
        other.join().unwrap();
        assert!(lock.try_lock());
    });
}

/// If two tasks take two locks in opposite orders, neither waits for ever. Both may get the error:
/// each may find that the other came first.
#[test]
fn abba_ends() {
    world::check(Some(3), || {
        let locks = Arc::new([RawRtMutex::<Loom>::new_in(), RawRtMutex::new_in()]);
        let both = |first: &RawRtMutex<Loom>, second: &RawRtMutex<Loom>| {
            first.lock();
            // SAFETY: held, the second if there was no error.
            unsafe {
                if second.lock_checked().is_ok() {
                    second.unlock();
                }
                first.unlock();
            }
        };
        let other = {
            let locks = Arc::clone(&locks);
            thread::spawn(move || both(&locks[0], &locks[1]))
        };
        both(&locks[1], &locks[0]);
        other.join().unwrap();
        assert!(locks.iter().all(RawRtMutex::try_lock));
    });
}

/// A lock without an owner, whose first waiter has been woken: another is boosted to the front, and
/// must be woken too.
#[test]
fn a_boost_comes_while_the_lock_has_no_owner() {
    let model = || {
        let locks = Arc::new([RawRtMutex::<Loom>::new_in(), RawRtMutex::new_in()]);
        let act = |priority, act: fn(&[RawRtMutex<Loom>; 2])| {
            let locks = Arc::clone(&locks);
            thread::spawn(move || {
                world::set_priority(priority);
                act(&locks);
            })
        };
        world::set_priority(9);
        locks[0].lock();
        let others = [
            act(1, |[contended, own]| own.locked(|| contended.locked(|| ()))),
            act(5, |[contended, _]| contended.locked(|| ())),
        ];
        // SAFETY: this thread took `locks[0]` with `lock` above and still holds it.
        unsafe { locks[0].unlock() };
        locks[1].locked(|| ());
        others.into_iter().for_each(|other| other.join().unwrap());
    };
    world::with_patience(0, || world::check(Some(2), model));
}

/// A task gets the lock that it has waited for, and frees it, while another walks along the chain
/// through it.
#[test]
fn who_gets_a_lock_of_the_chain_may_free_it() {
    let model = || {
        let wanted = &*Box::leak(Box::new(RawRtMutex::<Loom>::new_in()));
        let own = Arc::new(RawRtMutex::<Loom>::new_in());
        wanted.lock();
        let waiter = {
            let own = Arc::clone(&own);
            thread::spawn(move || {
                own.lock();
                wanted.lock();
                // SAFETY: this thread took `wanted` with `lock` above and still holds it.
                unsafe { wanted.unlock() };
                world::free(wanted);
                // SAFETY: this thread took `own` with `lock` above and still holds it.
                unsafe { own.unlock() };
            })
        };
        let walker = {
            let own = Arc::clone(&own);
            thread::spawn(move || {
                world::set_priority(9);
                own.locked(|| ());
            })
        };
        // SAFETY: this thread took `wanted` with `lock` above and still holds it.
        unsafe { wanted.unlock() };
        waiter.join().unwrap();
        walker.join().unwrap();
    };
    world::with_patience(0, || world::check(Some(2), model));
}
