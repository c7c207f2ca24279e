//! The completion with real threads.

use std::thread;

use lockwright::completion::RawCompletion;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

/// The kernel's usual place for one is the waiter's stack.
#[test]
fn a_completion_lives_on_its_waiters_stack() {
    let (send, receive) = std::sync::mpsc::channel::<&'static RawCompletion<Linux>>();
    let worker = thread::spawn(move || receive.iter().for_each(RawCompletion::complete));
    for _ in 0..5_000 {
        let completion = Box::into_raw(Box::new(RawCompletion::new()));
        // SAFETY: freed after the worker is done with it, as the completion promises.
        let done: &'static RawCompletion<Linux> = unsafe { &*completion };
        send.send(done).unwrap();
        done.wait();
        // SAFETY: made above, and used by nobody any more.
        drop(unsafe { Box::from_raw(completion) });
    }
    drop(send);
    worker.join().unwrap();
}

#[test]
fn each_complete_is_for_one_wait_and_complete_all_for_all() {
    let completion = RawCompletion::new();
    assert!(!completion.is_done() && !completion.try_wait());
    completion.complete();
    completion.complete();
    assert!(completion.try_wait() && completion.is_done());
    completion.wait();
    assert!(!completion.is_done() && !completion.wait_until(Some(Linux::now() + 1_000_000)));
    thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| completion.wait())));
        completion.complete_all();
    });
    completion.wait();
    assert!(completion.is_done());
    completion.reinit();
    assert!(!completion.is_done());
}
