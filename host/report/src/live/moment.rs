//! The data of a moment. Times are nanoseconds.

use serde::{Deserialize, Serialize};

/// A program at a moment. Fields that JSON lacks are empty, as in recordings of an older lockwright.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Moment {
    /// When, ns since the epoch.
    pub unix_ns: u64,
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Since the moment before, which rates are of; 0 for the first.
    pub interval_ns: u64,
    /// The processes, in order of start.
    pub processes: Vec<Process>,
    /// Acquisitions and waits are counted. Without lockmeter they are not.
    pub is_measured: bool,
    /// Waits are counted, even where acquisitions are not.
    pub counts_waits: bool,
    /// Orders of locks are checked.
    pub is_checked: bool,
    /// Locks; the one that was waited for longest first.
    pub locks: Vec<Lock>,
    /// Live threads, by process.
    pub threads: Vec<Thread>,
    /// What is wrong, the most serious first.
    pub findings: Vec<Finding>,
    /// What could be better.
    pub advice: Vec<Advice>,
    /// What is missing, and why.
    pub notes: Vec<String>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its command line, in short.
    pub command: String,
    /// It has not ended.
    pub runs: bool,
    /// Since its start, up to its end.
    pub elapsed_ns: u64,
    /// Locks it had so far.
    pub locks: u64,
}

/// A lock: all locks of a class, taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// What it is known by from moment to moment.
    pub id: String,
    /// Its name, or a description.
    pub name: String,
    /// mutex, rwlock, and so on.
    pub kind: String,
    /// Locks in the class.
    pub locks: u64,
    /// What was counted so far.
    pub totals: Totals,
    /// The same in the last interval; `None` at the first moment.
    pub rates: Option<Rates>,
    /// Where it is taken, the place that waited longest first.
    pub sites: Vec<Site>,
    /// Whose holds its waits were for, the longest first.
    pub blame: Vec<Blame>,
    /// Where waits for it were ended, the most time first; `how` is `released`, by its holder, or `woken`.
    pub wakers: Vec<Site>,
}

/// What was counted, up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// How long waits lasted, those under way included.
    pub wait_ns: f64,
    /// The longest of those that have ended.
    pub longest_wait_ns: f64,
    /// How long it was held; 0 where holds are not timed.
    pub hold_ns: f64,
}

/// What was counted in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rates {
    /// Acquisitions a second.
    pub acquisitions: f64,
    /// Those that had to wait, a second.
    pub contended: f64,
    /// Threads that waited, on average.
    pub waiting: f64,
    /// Holders, on average: of one lock that has no readers, the part of the time that it was held.
    pub held: f64,
}

/// A place that takes a lock in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// `read`, `write`, `re-locked after a condition wait`; empty for a lock that has one way.
    pub how: String,
    /// Where.
    pub place: Place,
    /// What was counted there.
    pub totals: Totals,
    /// The same in the last interval.
    pub rates: Option<Rates>,
}

/// A place in the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The function, and its line or module: `put (queue.c:12)`.
    pub text: String,
    /// The source line, if its file is there.
    pub source: String,
    /// Callers, the nearest first.
    pub callers: Vec<String>,
}

/// Waits at one site for holds by another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Blame {
    /// Who waited: index into [`Lock::sites`].
    pub waiter: usize,
    /// Who held: index into [`Lock::sites`]; `None`: not known, or nobody while the waiter was being woken.
    pub holder: Option<usize>,
    /// Waits that the holder had a part in.
    pub count: u64,
    /// Its part of them.
    pub ns: f64,
}

/// A live thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Its name, empty if it has none.
    pub name: String,
    /// What it does, unless it waits for something that is watched: `runs`, `sleeps in poll`. Empty where that is not known.
    pub state: String,
    /// Acquisitions so far.
    pub acquisitions: u64,
    /// How long it waited for locks so far.
    pub wait_ns: f64,
    /// Acquisitions a second in the last interval.
    pub acquisition_rate: Option<f64>,
    /// Locks that it holds, outermost first.
    pub held: Vec<Held>,
    /// What it waits for.
    pub wait: Option<Wait>,
    /// It is in a deadlock.
    pub is_deadlocked: bool,
}

/// A lock that a thread holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Held {
    /// Its class, as [`Lock::id`]; empty if that is not known.
    pub lock: String,
    /// Its name.
    pub name: String,
    /// Its address, 0 if that is not known.
    pub addr: u64,
    /// Where it was taken.
    pub place: Place,
    /// For how long.
    pub for_ns: Option<f64>,
}

/// What a thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wait {
    /// In words, after the thread: "waits for `a`", "waits for a condition", "is in `read`".
    pub what: String,
    /// The lock, as [`Lock::id`]; empty if it is none.
    pub lock: String,
    /// It is for a lock, or for the end of a thread: another thread can be named for it.
    pub is_for_thread: bool,
    /// For how long.
    pub for_ns: Option<f64>,
    /// It ends by itself.
    pub is_timed: bool,
    /// Where.
    pub place: Place,
    /// The kernel ids of the threads that have what it waits for.
    pub holders: Vec<u32>,
}

/// Something that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Process it was found in; 0: several.
    pub pid: u32,
    /// Its kind: `circular-dependency`.
    pub kind: String,
    /// How sure it is.
    pub grade: String,
    /// It counts as an error.
    pub is_error: bool,
    /// One line.
    pub title: String,
    /// As the report shows it, line by line.
    pub text: Vec<String>,
}

/// What could be better.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Advice {
    /// The rule, as in docs/advice.md.
    pub rule: String,
    /// The lock, as [`Lock::id`].
    pub lock: String,
    /// In a sentence.
    pub text: String,
    /// How sure it is.
    pub confidence: String,
}

impl Moment {
    /// The lock of this id.
    pub fn lock(&self, id: &str) -> Option<&Lock> {
        self.locks.iter().find(|lock| !id.is_empty() && lock.id == id)
    }

    /// The thread of this kernel id.
    pub fn thread(&self, tid: u32) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.tid == tid)
    }

    /// The threads that wait for a lock of this id.
    pub fn waiters<'m>(&'m self, id: &'m str) -> impl Iterator<Item = &'m Thread> {
        self.threads.iter().filter(move |thread| {
            !id.is_empty() && thread.wait.as_ref().is_some_and(|wait| wait.lock == id)
        })
    }

    /// The threads that hold a lock of this id.
    pub fn holders<'m>(&'m self, id: &'m str) -> impl Iterator<Item = &'m Thread> {
        self.threads
            .iter()
            .filter(move |thread| !id.is_empty() && thread.held.iter().any(|held| held.lock == id))
    }

    /// Some process has not ended.
    pub fn runs(&self) -> bool {
        self.processes.iter().any(|process| process.runs)
    }
}

impl Thread {
    /// `thread 42 (worker)`.
    pub fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("thread {}", self.tid),
            name => format!("thread {} ({name})", self.tid),
        }
    }
}
