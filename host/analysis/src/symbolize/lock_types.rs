//! Which types are locks to the reader of a report, by how they are called.

/// How names of types end that are locks, or what else is looked for: in lower case, without
/// underscores and the `_t` of C.
const LOCKS: &[&str] = &[
    "mutex",
    "rwlock",
    "spinlock",
    "latch",
    "criticalsection",
    "semaphore",
    "condvar",
    "conditionvariable",
    "conditionvariableany",
    "barrier",
];

/// As [`LOCKS`], and all of the name.
const WHOLE_LOCKS: &[&str] = &["cond", "lock", "mtx", "cnd", "sem", "pthreadonce", "onceflag"];

/// Endings that many other words have, as `second` does: here with the beginning of the last word.
const LAST_WORDS: &[&str] = &["_cond", "Cond"];

/// How the names of our own locks for C begin.
const OURS: &str = "lw_";

/// Whether a type is a lock to the reader: what it is made of is not.
pub fn is_lock(name: &str) -> bool {
    if name.starts_with(OURS) {
        return true;
    }
    let name = name.split('<').next().unwrap_or_default();
    let name = name.strip_suffix("_t").unwrap_or(name);
    if LAST_WORDS.iter().any(|word| name.ends_with(word)) {
        return true;
    }
    let name: String = name.chars().filter(|&c| c != '_').map(|c| c.to_ascii_lowercase()).collect();
    LOCKS.iter().any(|lock| name.ends_with(lock))
        || WHOLE_LOCKS.contains(&name.as_str())
        || name.starts_with("atomic")
}

#[cfg(test)]
mod tests {
    use super::is_lock;

    #[test]
    fn locks_are_known_by_the_ends_of_their_types_names() {
        for name in ["pthread_mutex_t", "pthread_cond_t", "Mutex<u32>", "QCond", "lw_mcs"] {
            assert!(is_lock(name), "{name}");
        }
        for name in ["second", "account", "Server", "lock_guard<std::mutex>"] {
            assert!(!is_lock(name), "{name}");
        }
    }
}
