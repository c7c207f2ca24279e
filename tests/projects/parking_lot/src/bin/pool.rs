//! A pool of connections, of the crate r2d2: its queue is a Mutex with a Condvar, and it has a pool
//! of threads that make the connections, of the crate scheduled-thread-pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use parking_lot::Mutex;

/// Makes connections, which are numbers.
struct Numbers(AtomicU32);

impl r2d2::ManageConnection for Numbers {
    type Connection = u32;
    type Error = std::io::Error;

    fn connect(&self) -> Result<u32, Self::Error> {
        Ok(self.0.fetch_add(1, Relaxed))
    }

    fn is_valid(&self, _: &mut u32) -> Result<(), Self::Error> {
        Ok(())
    }

    fn has_broken(&self, _: &mut u32) -> bool {
        false
    }
}

fn main() {
    let pool = r2d2::Pool::builder().max_size(2).build(Numbers(AtomicU32::new(0))).expect("a pool");
    let used = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (pool, used) = (pool.clone(), Arc::clone(&used));
            thread::spawn(move || {
                for _ in 0..50 {
                    let connection = pool.get().expect("a connection");
                    assert!(*connection < 2);
                    *used.lock() += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    println!("{} uses", *used.lock());
}
