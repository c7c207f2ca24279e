//! Locks that no library in front of the C library sees: languages and libraries that make theirs
//! of futexes or atomics. One table: by what they are known, what is hidden, and how to see it all
//! the same.

use crate::run::target::contents::{Contents, Mark};

/// Locks that somebody makes himself.
#[derive(Debug)]
pub struct Hidden {
    /// Its name in JSON.
    pub id: &'static str,
    /// What is hidden: a sentence without its full stop.
    pub what: &'static str,
    /// What to do about it.
    pub help: &'static [&'static str],
    /// It is known, not guessed, that these are locks.
    pub is_certain: bool,
    /// They wait by the C library's `syscall` or semaphores, so that waits for them are seen.
    pub waits: bool,
    /// Whether this module has them.
    is_in: fn(&Contents) -> bool,
}

const ANNOTATE: &str =
    "the program can say of each lock what happens to it: lockwright.h, docs/annotations.md";

impl Hidden {
    /// What is hidden, and what of it is seen all the same: a sentence without its full stop.
    pub fn said(&self) -> String {
        match self.waits {
            true => format!("{}: {WAITS_ONLY}", self.what),
            false => self.what.to_owned(),
        }
    }
}

/// What is seen of locks whose waits alone are.
const WAITS_ONLY: &str = "waits are seen (meter times them, check tells who waits), acquisitions are not, and so no order of locks";

const REPLACE_PARKING_LOT: &str =
    "put lockwright's locks/parking_lot in its place, by [patch.crates-io]: docs/locks.md";
const WRAP_PARKING_LOT: &str =
    "wrap them: lock_api::Mutex<Traced<parking_lot::RawMutex>, T>; see docs/locks.md";
const REPLACE_OR_WRAP_PARKING_LOT: &str = "put lockwright's locks/parking_lot in the place of parking_lot 0.12, or wrap the locks of 0.13: docs/locks.md";

/// parking_lot, of the versions that the remedy is for.
const fn parking_lot(help: &'static [&'static str], is_in: fn(&Contents) -> bool) -> Hidden {
    Hidden {
        id: "parking-lot",
        what: "the locks of Rust's parking_lot are futexes of its own",
        help,
        is_certain: true,
        waits: true,
        is_in,
    }
}

/// Locks of Boost that are made of a pthread mutex, conditions and flags, and have readers.
const BOOST: &str = "boost::shared_mutex is flags and a count behind a mutex that is released at once; boost::mutex and recursive_mutex are seen, and by check timed_mutex and recursive_timed_mutex";
const BOOST_HELP: &[&str] = &["use std::shared_mutex while you check", ANNOTATE];
const BOOST_FILES: &[&str] = &["libboost_thread.so"];

fn has_parking_lot(module: &Contents) -> bool {
    module.has(Mark::ParkingLot) && !module.has(Mark::Tells) && !module.has(Mark::Inlined)
}

/// Whether it is known to have 0.12, and 0.13.
fn versions_of_parking_lot(module: &Contents) -> (bool, bool) {
    (module.has(Mark::ParkingLot12), module.has(Mark::ParkingLot13))
}

/// Every sort known, what a program is written in first.
const SORTS: &[Hidden] = &[
    Hidden {
        id: "go",
        what: "the locks of Go's sync are its runtime's own",
        help: &[
            "Go has its own tools: `go build -race`, and the mutex and block profiles of pprof",
        ],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Go),
    },
    parking_lot(&[REPLACE_PARKING_LOT], |module| {
        has_parking_lot(module) && versions_of_parking_lot(module) == (true, false)
    }),
    parking_lot(&[WRAP_PARKING_LOT], |module| {
        has_parking_lot(module) && versions_of_parking_lot(module) == (false, true)
    }),
    // Both, or none in the names of its files.
    parking_lot(&[REPLACE_OR_WRAP_PARKING_LOT], |module| {
        let (twelve, thirteen) = versions_of_parking_lot(module);
        has_parking_lot(module) && twelve == thirteen
    }),
    Hidden {
        id: "rust-std",
        what: "the locks of Rust's std::sync are futexes of its own",
        help: &[
            "use `lockwright::sync` instead of `std::sync`, which takes a change of `use` lines only: docs/locks.md",
        ],
        is_certain: true,
        waits: true,
        is_in: |module| {
            module.has(Mark::Rust)
                && module.has(Mark::Syscall)
                && !module.has(Mark::Tells)
                && !module.has(Mark::Inlined)
        },
    },
    Hidden {
        id: "tokio",
        what: "tokio's locks, channels and semaphores make tasks wait, and no thread",
        help: &["for tasks that wait: tokio-console"],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Tokio),
    },
    Hidden {
        id: "boost",
        what: BOOST,
        help: BOOST_HELP,
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::BoostShared) && !is_library(module, BOOST_FILES),
    },
    Hidden {
        id: "cxx-atomic-wait",
        what: "std::atomic::wait of C++20, and the semaphores, latches and barriers made of it, wait by futex",
        help: &["as a lock, prefer std::mutex and std::condition_variable; or", ANNOTATE],
        is_certain: true,
        waits: true,
        is_in: |module| module.has(Mark::AtomicWait),
    },
    Hidden {
        id: "abseil",
        what: "absl::Mutex is a futex of its own, and is linked in",
        help: &[
            "link Abseil as a shared library, whose locks are seen",
            ANNOTATE,
            "built without NDEBUG, Abseil looks for cycles itself: absl::SetMutexDeadlockDetectionMode",
        ],
        is_certain: true,
        waits: true,
        is_in: |module| module.has(Mark::Abseil) && !is_library(module, &["libabsl_"]),
    },
    Hidden {
        id: "python",
        what: "the locks of Python's threading are CPython's own since 3.13.1, and this is a version later than 3.14, or has no global lock",
        help: &[
            "check the program with Python 3.14, whose locks are seen, and the lines that take them",
            "for the lines of Python that wait: py-spy dump --pid PID",
        ],
        is_certain: true,
        waits: true,
        is_in: |module| module.has(Mark::PythonLocks),
    },
    Hidden {
        id: "java",
        what: "`synchronized` and java.util.concurrent are the JVM's own locks; those inside the JVM and in native code are seen",
        help: &["for deadlocks of Java threads: `jstack PID`, or jcmd PID Thread.print"],
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, &["libjvm.so", "libjli.so"]),
    },
    Hidden {
        id: "ruby",
        what: "Ruby's Mutex, Monitor and Queue are its interpreter's own; locks inside the interpreter and in C code are seen",
        help: &[
            "Ruby itself ends a program whose threads all wait, with `No live threads left. Deadlock?`",
        ],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Ruby),
    },
    Hidden {
        id: "mono",
        what: "`lock` and System.Threading are Mono's own; locks inside Mono and in native code are seen",
        help: &["for deadlocks of Mono's threads: kill -QUIT PID has it print their stacks"],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Mono),
    },
    Hidden {
        id: "erlang",
        what: "the read-write locks of Erlang's emulator (ethr_rwmutex) are futexes of its own",
        help: &[
            "for contention of these locks: Erlang's module lcnt, in an emulator that is built to count locks",
        ],
        is_certain: true,
        waits: true,
        is_in: |module| module.has(Mark::Erlang),
    },
    Hidden {
        id: "ocaml",
        what: "the order of OCaml's mutexes where no thread had to wait, as Mutex.lock tries first and releases the master lock before it waits; where one had to, it is seen",
        help: &[
            "let threads meet at the locks while you check: more threads, or longer critical sections",
        ],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::OCaml),
    },
    Hidden {
        id: "haskell",
        what: "Haskell's MVar and STM make GHC's own threads wait, in its scheduler; locks of its runtime and of C code are seen",
        help: &[
            "GHC itself throws BlockedIndefinitelyOnMVar (or OnSTM) into a thread that nothing can wake",
        ],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Haskell) || is_library(module, &["libHSrts"]),
    },
    Hidden {
        id: "node",
        what: "locks that JavaScript makes of Atomics are its own: Atomics.wait alone is seen, as a condition wait in v8::internal::FutexEmulation; locks of Node.js, V8 and libuv are seen",
        help: &[
            "meter times these waits, and check shows the threads that wait",
            "functions of JavaScript on stacks: node --perf-basic-prof --interpreted-frames-native-stack",
        ],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::Node),
    },
    Hidden {
        id: "qt",
        what: "QMutex, QReadWriteLock and QSemaphore of Qt 6 are futexes and atomics that are compiled into who uses them",
        help: &[ANNOTATE],
        is_certain: true,
        waits: true,
        is_in: |module| is_library(module, &["libQt6Core.so"]),
    },
    Hidden {
        id: "tbb",
        what: "the mutexes of oneTBB are atomics and futexes of its own",
        help: &[
            "use std::mutex instead of tbb::mutex and tbb::spin_mutex while you check, or",
            ANNOTATE,
        ],
        is_certain: true,
        waits: true,
        is_in: |module| is_library(module, &["libtbb.so"]),
    },
    Hidden {
        id: "own-pthread",
        what: "it has pthread_mutex_lock itself, and that is what is called",
        help: &["link it with the C library's"],
        is_certain: true,
        waits: false,
        is_in: |module| {
            let own = module.has(Mark::OwnPthread) || module.has(Mark::PthreadInside);
            // The sanitizers' pass calls on to the next one, which is lockwright's.
            own && !module.has(Mark::Sanitizer)
        },
    },
    Hidden {
        id: "futex",
        what: "it makes system calls of its own and calls none of the functions that take locks: perhaps its locks are futexes",
        help: &[ANNOTATE],
        is_certain: false,
        waits: true,
        is_in: |module| {
            let takes = module.has(Mark::TakesLocks) || module.has(Mark::Tells);
            module.has(Mark::Syscall) && !takes && !module.has(Mark::Rust)
        },
    },
];

/// The rest of libraries whose calls are interposed (`guest/preload/src/interpose/libraries`): it
/// explains no empty report.
const RESTS: &[Hidden] = &[
    Hidden {
        id: "glib",
        what: "what GLib locks within itself is not seen; GMutex, GRecMutex, GRWLock, GCond, GOnce and bit locks are, where others use them",
        help: &[ANNOTATE],
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, &["libglib-2.0.so"]),
    },
    Hidden {
        id: "openmp",
        what: "barriers, ordered sections and Fortran's locks of OpenMP are not seen; its other locks and its critical sections are",
        help: &[ANNOTATE],
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, &["libgomp.so", "libomp.so", "libiomp5.so"]),
    },
    Hidden {
        id: "abseil",
        what: "Abseil's own spinlocks are not seen; absl::Mutex and absl::CondVar are",
        help: &[ANNOTATE],
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, &["libabsl_synchronization.so"]),
    },
    Hidden {
        id: "qt",
        what: "QBasicMutex and QSemaphore of Qt 5 are not seen, nor what QtCore locks within itself; QMutex and QReadWriteLock are, where others use them",
        help: &[ANNOTATE],
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, &["libQt5Core.so"]),
    },
    Hidden {
        id: "boost",
        what: BOOST,
        help: BOOST_HELP,
        is_certain: true,
        waits: false,
        is_in: |module| is_library(module, BOOST_FILES),
    },
    // It hides no locks, but their Python callers. It leaves out the versions that
    // `lockwright_cpython` knows, and those whose locks are not seen either.
    Hidden {
        id: "python-lines",
        what: "which lines of Python take the locks, as this CPython is none of 3.11 to 3.14, or has no global lock; the interpreter's own functions are named in their place",
        help: &["check the program with Python 3.11 to 3.14"],
        is_certain: true,
        waits: false,
        is_in: |module| module.has(Mark::PythonLines),
    },
];

fn is_library(module: &Contents, names: &[&str]) -> bool {
    names.iter().any(|name| module.name().starts_with(name))
}

/// What goes by this name.
pub fn named(id: &str) -> Option<&'static Hidden> {
    SORTS.iter().chain(RESTS).find(|sort| sort.id == id)
}

/// What a module hides: all that is known by name, else what it looks like.
pub fn sorts_in(module: &Contents) -> Vec<&'static Hidden> {
    let rests = RESTS.iter().filter(|sort| (sort.is_in)(module));
    most_in(module).into_iter().chain(rests).collect()
}

/// As [`sorts_in`], of what most of the locks of its sort are in.
pub fn most_in(module: &Contents) -> Vec<&'static Hidden> {
    let mut sorts: Vec<_> = SORTS.iter().filter(|sort| (sort.is_in)(module)).collect();
    if sorts.len() > 1 {
        sorts.retain(|sort| sort.id != "futex");
    }
    sorts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_is_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
        let page = std::fs::read_to_string(page).unwrap();
        for sort in SORTS.iter().chain(RESTS) {
            assert!(page.contains(&format!("| `{}` |", sort.id)), "{} is not in the page", sort.id);
        }
    }
}
