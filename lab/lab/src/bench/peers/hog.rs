//! A hog: a thread for each CPU, which has something better to do than to wait for locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use super::super::workers::Padded;
use super::spin::spin;
use crate::cpus;

/// Burns until it is dropped.
pub struct Hog {
    stop: Arc<Padded<AtomicBool>>,
    threads: Vec<JoinHandle<()>>,
}

impl Hog {
    /// A thread for each of the CPUs that this one may run on. Each stays on one, so that none has
    /// less of it than the others.
    pub fn burn() -> Self {
        let stop = Arc::new(Padded(AtomicBool::new(false)));
        let burn = |cpu| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                cpus::pin(cpu);
                // Relaxed: it orders nothing.
                while !stop.0.load(Relaxed) {
                    spin(1000);
                }
            })
        };
        let threads = cpus::allowed().into_iter().map(burn).collect();
        Self { stop, threads }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // Relaxed: it orders nothing.
        self.stop.0.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it only burns");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_one_that_ends() {
        let hog = Hog::burn();
        assert!(!hog.threads.is_empty() && hog.threads.len() == cpus::allowed().len());
    }
}
