//! Jobs of a pool of threads, the crate `threadpool`, that take two locks: `orders` in both orders,
//! never at the same time; `same` always in one.

use std::sync::Barrier;

use lockwright::sync::Mutex;
use threadpool::ThreadPool;

const WORKERS: usize = 4;
const JOBS: usize = 25 * WORKERS;

/// Each worker takes its turn in every round of jobs; the tool does not see std's barrier.
static ROUND: Barrier = Barrier::new(WORKERS);

static LEFT: Mutex<usize> = Mutex::new(0);
static RIGHT: Mutex<usize> = Mutex::new(0);

fn left_first() {
    let mut left = LEFT.lock().unwrap();
    *RIGHT.lock().unwrap() += 1;
    *left += 1;
}

fn right_first() {
    let mut right = RIGHT.lock().unwrap();
    *LEFT.lock().unwrap() += 1;
    *right += 1;
}

fn main() {
    let orders = std::env::args().nth(1).as_deref() == Some("orders");
    let pool = ThreadPool::with_name("worker".into(), WORKERS);
    let other = if orders { right_first } else { left_first };
    for job in [left_first as fn(), other] {
        for _ in 0..JOBS {
            pool.execute(move || {
                ROUND.wait();
                job();
            });
        }
        pool.join();
    }
    assert_eq!((*LEFT.lock().unwrap(), pool.panic_count()), (2 * JOBS, 0));
    println!("the end");
}
