//! The CPUs that threads may run on.

use std::thread;

/// Those of the calling thread; none if there are more than a set of the C library's can name.
pub fn allowed() -> Vec<usize> {
    // SAFETY: zeros are an empty set, which the call fills.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(0, size, &raw mut set) == 0).then_some(set)
    };
    let Some(set) = set else { return Vec::new() };
    let known = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: a CPU below the size of a set.
    known.filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// How many they are. Not fewer where a quota allows less time: for a short while all of them may
/// run.
pub fn count() -> usize {
    match allowed().len() {
        // More than a set has: all that there are.
        0 => thread::available_parallelism().map_or(1, usize::from),
        some => some,
    }
}

/// The set of these CPUs, each of which is one of [`allowed`].
pub fn set_of(cpus: impl IntoIterator<Item = usize>) -> libc::cpu_set_t {
    // SAFETY: zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        assert!(cpu < libc::CPU_SETSIZE as usize, "a CPU of a set");
        // SAFETY: it is one bit of a set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    set
}

/// Keeps the calling thread on a CPU. If it is gone meanwhile the thread runs elsewhere.
pub fn pin(cpu: usize) {
    let set = set_of([cpu]);
    // SAFETY: reads a set of this size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_pinned() {
        let cpus = allowed();
        assert_eq!(count(), cpus.len().max(1));
        for cpu in cpus {
            let pinned = thread::spawn(move || {
                pin(cpu);
                allowed()
            });
            assert_eq!(pinned.join().unwrap(), [cpu]);
        }
    }
}
