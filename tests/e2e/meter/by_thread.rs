//! What each thread did with a lock.

use super::run::{EXACT, How, meter, repeatedly, within};
use crate::harness::{Scratch, program, under};

const BOTH: How = How { command: "run", ..EXACT };

#[test]
fn the_thread_that_takes_a_lock_most_is_known() {
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program("meter_threads.c"), &[]);
            let lock = run.lock("takes");
            let of_lock: u64 = lock.threads.iter().map(|thread| thread.acquisitions()).sum();
            assert_eq!((of_lock, lock.total.acquisitions), (100, 100), "{lock:#?}");
            let most = lock.threads.iter().max_by_key(|thread| thread.acquisitions()).unwrap();
            // A thread that begins when another has ended goes on where that has counted.
            if lock.threads.len() != 3 {
                return Err(format!("{} threads at once", lock.threads.len()));
            }
            assert_eq!((most.acquisitions(), most.threads, most.tid), (60, 1, 0), "{lock:#?}");
            within(5.0, "held", most.hold_ns(lock), run.truth("held_0"))?;
            within(10.0, "waited", most.wait_ns(), run.truth("waited_0"))
        });
    }
}

#[test]
fn the_page_has_a_table_of_threads() {
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    let run = under("meter", &["--html", page.to_str().unwrap()], program("meter_threads.c")).run();
    let html = std::fs::read_to_string(page).expect("a page");
    let threads = run.report()["locks"][0]["threads"].as_array().unwrap().clone();
    let is_there = html.contains("Threads that take it");
    assert_eq!(is_there, threads.len() > 1, "{threads:#?}");
    let taken: u64 = threads.iter().map(|thread| thread["acquisitions"].as_u64().unwrap()).sum();
    assert_eq!(taken, 100, "{threads:#?}");
}
