//! The locks that a program can be run on, in words. The swap library has the same list, in code
//! (`swap/src/table.rs`); a test holds them to each other.

use std::fmt::Write;

use lockwright_console::error::{Error, Result, exit};

/// A lock that mutexes, and spinlocks where it is one, run on.
#[derive(Debug)]
pub struct Lock {
    /// The name.
    pub name: &'static str,
    /// How many bytes of a mutex it takes.
    pub bytes: u32,
    /// What spinlocks run on: itself, as a rule.
    pub spinlocks: &'static str,
    /// Which waiter goes first.
    pub fairness: &'static str,
    /// How threads wait.
    pub waits: &'static str,
    /// What it is in the kernel.
    pub counterpart: &'static str,
}

/// All of them.
pub const LOCKS: &[Lock] = &[
    Lock {
        name: "hybrid",
        bytes: 4,
        spinlocks: "pvqspinlock",
        fairness: "any thread that finds it free; after 0.5 ms the longest waiter",
        waits: "one spins, the others sleep",
        counterpart: "none; the rule of pvqspinlock, for sleepers",
    },
    Lock {
        name: "mutex",
        bytes: 10,
        spinlocks: "qspinlock",
        fairness: "any thread that finds it free; then a waiter that was woken in vain",
        waits: "spins in a queue, then sleeps",
        counterpart: "mutex (4.10 and later)",
    },
    Lock {
        name: "qspinlock",
        bytes: 4,
        spinlocks: "qspinlock",
        fairness: "first come, first served",
        waits: "spins",
        counterpart: "qspinlock (4.2 and later)",
    },
    Lock {
        name: "pvqspinlock",
        bytes: 4,
        spinlocks: "pvqspinlock",
        fairness: "a queue; others go ahead while its head does not run",
        waits: "spins, then sleeps",
        counterpart: "qspinlock_paravirt (4.15 and later)",
    },
    Lock {
        name: "pvqspinlock_single_steal",
        bytes: 4,
        spinlocks: "pvqspinlock_single_steal",
        fairness: "a queue; others try once to go ahead",
        waits: "spins, then sleeps",
        counterpart: "qspinlock_paravirt (4.5 to 4.14)",
    },
    Lock {
        name: "pvqspinlock_unfair",
        bytes: 4,
        spinlocks: "pvqspinlock_unfair",
        fairness: "none",
        waits: "spins",
        counterpart: "virt_spin_lock",
    },
    Lock {
        name: "ticket",
        bytes: 4,
        spinlocks: "qspinlock",
        fairness: "first come, first served",
        waits: "spins",
        counterpart: "the ticket spinlock (2.6.25 to 4.1)",
    },
    Lock {
        name: "tas",
        bytes: 4,
        spinlocks: "tas",
        fairness: "none",
        waits: "spins",
        counterpart: "the spinlock before 2.6.25",
    },
];

/// The lock of that name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static Lock> {
    LOCKS.iter().find(|lock| lock.name == name).ok_or_else(|| {
        let names: Vec<&str> = LOCKS.iter().map(|lock| lock.name).collect();
        Error::with_code(exit::USAGE, format!("there is no lock `{name}`"))
            .note(format!("there are: {}", names.join(", ")))
            .help("`lockwright swap --lock list` says what they are")
    })
}

/// The table that `--lock list` shows.
pub fn list() -> String {
    let head = ["NAME", "BYTES", "SPINLOCKS RUN ON", "WHO IS NEXT", "WAITS", "IN THE KERNEL"];
    let row = |lock: &Lock| {
        let Lock { name, spinlocks, fairness, waits, counterpart, bytes } = *lock;
        let bytes = bytes.to_string();
        [name, &bytes, spinlocks, fairness, waits, counterpart].map(str::to_owned)
    };
    let rows: Vec<[String; 6]> =
        std::iter::once(head.map(str::to_owned)).chain(LOCKS.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:<width$}  ", width = width(column));
        }
        text += line.trim_end();
        text.push('\n');
    }
    text += "\nMutexes run on the lock of that name. Reader-writer locks run on one of their own with any of\n\
             them, as an exclusive lock would keep readers from each other; condition variables are a queue\n\
             in any case, and take any mutex.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's list: names, what mutexes run on, and what spinlocks do.
    fn library_list() -> Vec<[String; 3]> {
        // A link in a checkout, a copy in the package: the build script builds the library of it.
        let source = include_str!("../../../preload/guest/swap/src/table.rs");
        let (_, table) = source.rsplit_once("\nchoices! {\n").expect("the table");
        let rows = table.lines().take_while(|line| *line != "}");
        rows.map(|row| {
            // Hybrid "hybrid": RawHybridMutex<Guest<Plain>>, RawTas<Guest<Marked>>, true;
            let (name, locks) = row.split_once("\": ").expect("a name and locks");
            let (locks, _) = locks.rsplit_once(", ").expect("whether it has numbers");
            let (mutex, spin) = locks.split_once(", Raw").expect("two locks");
            let name = name.rsplit('"').next().expect("a name");
            [
                name.to_owned(),
                mutex.replace("Plain", "_"),
                format!("Raw{spin}").replace("Marked", "_"),
            ]
        })
        .collect()
    }

    #[test]
    fn the_library_has_the_same_list() {
        let names: Vec<_> = library_list().into_iter().map(|[name, ..]| name).collect();
        assert_eq!(names, LOCKS.iter().map(|lock| lock.name).collect::<Vec<_>>());
    }

    #[test]
    fn spinlocks_run_on_what_the_list_says() {
        let list = library_list();
        for lock in LOCKS {
            let row = |name| list.iter().find(|[known, ..]| known == name).expect("a row");
            assert_eq!(row(lock.name)[2], row(lock.spinlocks)[1], "{}", lock.name);
        }
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        let list = list();
        for lock in LOCKS {
            assert!(list.lines().any(|line| line.starts_with(lock.name)), "{list}");
        }
    }
}
