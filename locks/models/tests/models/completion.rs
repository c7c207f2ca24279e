use std::sync::Arc;

use lockwright::completion::RawCompletion;
use loom::thread;

use crate::exclusion::Counter;
use crate::world::{self, Loom};

/// A wait by each of `waiters` and one by us, against `complete`: everybody returns, having seen
/// what was done.
fn all_waits_end(waiters: usize, complete: fn(&RawCompletion<Loom>)) {
    world::check(Some(3), move || {
        let shared = Arc::new((RawCompletion::<Loom>::new_in(), Counter::default()));
        let others: Vec<_> = (0..waiters)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait();
                    shared.1.read()
                })
            })
            .collect();
        shared.1.increment();
        complete(&shared.0);
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), 1));
    });
}

#[test]
fn a_waiter_sees_what_was_done() {
    all_waits_end(1, RawCompletion::complete);
}

#[test]
fn complete_all_ends_all_waits() {
    all_waits_end(2, RawCompletion::complete_all);
}

#[test]
fn each_complete_ends_one_wait() {
    all_waits_end(2, |completion| {
        completion.complete();
        completion.complete();
    });
}

/// The waiter's stack frame, in which the completion lies, ends with its wait.
#[test]
fn a_waiter_may_free_it_at_once() {
    let complete = [RawCompletion::complete, RawCompletion::complete_all];
    for complete in complete as [fn(&'static RawCompletion<Loom>); 2] {
        for deadline in [None, Some(0)] {
            world::check(Some(3), move || {
                let completion = &*Box::leak(Box::new(RawCompletion::<Loom>::new_in()));
                let other = thread::spawn(move || complete(completion));
                if completion.wait_until(deadline) {
                    world::free(completion);
                }
                other.join().unwrap();
            });
        }
    }
}

/// Whether the deadline comes before or after it, nothing is lost and nothing is taken twice.
#[test]
fn a_deadline_races_with_complete() {
    world::check(None, || {
        let completion = Arc::new(RawCompletion::<Loom>::new_in());
        let other = {
            let completion = Arc::clone(&completion);
            thread::spawn(move || completion.complete())
        };
        let had = completion.wait_until(Some(0));
        other.join().unwrap();
        assert_ne!(completion.try_wait(), had);
        assert!(!completion.is_done());
    });
}
