//! A hog: a thread for each CPU, which has something better to do than to wait for locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use super::super::workers::Padded;
use super::spin::spin;

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
                pin(cpu);
                // Relaxed: it orders nothing.
                while !stop.0.load(Relaxed) {
                    spin(1000);
                }
            })
        };
        let threads = allowed().into_iter().map(burn).collect();
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

/// CPUs that the calling thread may run on; none that cannot be named in a set of the C library's.
fn allowed() -> Vec<usize> {
    // SAFETY: zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes a set of this size.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: bits within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Keeps the calling thread on a CPU. If it is gone meanwhile the thread runs elsewhere.
fn pin(cpu: usize) {
    // SAFETY: zeros are an empty set, in which the CPU is one bit.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: reads a set of this size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_one_that_ends() {
        let hog = Hog::burn();
        assert!(!hog.threads.is_empty() && hog.threads.len() == allowed().len());
    }
}
