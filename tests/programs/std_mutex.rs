//! Four threads and a mutex of std, which is a futex.

use std::sync::{Arc, Mutex};

fn main() {
    let sum = Arc::new(Mutex::new(0));
    let add = |sum: Arc<Mutex<u32>>| move || (0..1000).for_each(|_| *sum.lock().unwrap() += 1);
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(add(sum.clone()))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{}", sum.lock().unwrap());
}
