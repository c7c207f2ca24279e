//! A run of a lock program: what each thread did, and in which order it happened to be.

use std::fmt::Write as _;

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mutex,
    Recursive,
    /// A reader-writer lock that prefers readers.
    Readers,
    /// One that prefers writers: a writer that waits holds readers up.
    Writers,
    Spin,
    /// A mutex whose owner may end with it.
    Robust,
    /// A control of `pthread_once`.
    Once,
    /// A semaphore that begins at so many, more than one.
    Counting(usize),
}

/// A lock: its name in stories says its class.
#[derive(Clone, Debug)]
pub struct Lock {
    pub name: String,
    pub kind: Kind,
}

impl Lock {
    /// Name of its class.
    pub fn class(&self) -> &str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

/// How a lock is acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is waited for as long as it takes.
    Wait,
    /// With a deadline.
    Timed,
    /// By a trylock that succeeds.
    Try,
    /// It is waited for, and its last owner has ended with it (EOWNERDEAD).
    OwnerDied,
}

/// One step of a thread. `id` ties an end to its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Acquire {
        lock: usize,
        how: How,
        read: bool,
        id: usize,
    },
    Release {
        lock: usize,
        id: usize,
    },
    /// A condition wait gives its mutex up ...
    WaitBegin {
        lock: usize,
        id: usize,
    },
    /// ... and takes it again.
    WaitEnd {
        lock: usize,
        id: usize,
    },
    /// Waits on the condition variable of an event until the event has happened once for it: gives
    /// the mutex up, unless that is so already ...
    SleepBegin {
        lock: usize,
        event: usize,
        id: usize,
        /// In the run it was not so, and the thread did wait.
        slept: bool,
    },
    /// ... and takes it again.
    SleepEnd {
        lock: usize,
        event: usize,
        id: usize,
        slept: bool,
    },
    /// Has the event happen, and signals its condition variable.
    Signal(usize),
    Create(usize),
    Join(usize),
    /// Calls `pthread_once` for a control, and runs its routine: no other thread does in this run ...
    OnceBegin {
        lock: usize,
        id: usize,
    },
    /// ... until here.
    OnceEnd {
        lock: usize,
        id: usize,
    },
    /// Calls `pthread_once` for the control, whose routine another has run.
    OnceCall {
        lock: usize,
        id: usize,
    },
    /// Reaches a barrier, which is met once ...
    Arrive(usize),
    /// ... and passes it, once all have reached it.
    Pass(usize),
    /// Posts a semaphore.
    Post(usize),
    /// Begins to wait for a semaphore ...
    AwaitBegin(usize),
    /// ... and is granted it.
    Await(usize),
}

/// What threads wait for that is no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// By its condition variable.
    Condition(usize),
    Semaphore(usize),
}

impl Op {
    /// It orders threads and is no lock's.
    pub fn is_order(self) -> bool {
        !matches!(
            self,
            Self::Acquire { .. }
                | Self::Release { .. }
                | Self::WaitBegin { .. }
                | Self::WaitEnd { .. }
                | Self::SleepBegin { .. }
                | Self::SleepEnd { .. }
                | Self::AwaitBegin(_)
        )
    }

    /// The event that this waits for.
    pub fn awaits(self) -> Option<Event> {
        match self {
            Self::SleepEnd { event, .. } => Some(Event::Condition(event)),
            Self::Await(semaphore) => Some(Event::Semaphore(semaphore)),
            _ => None,
        }
    }

    /// The event that this has happen once.
    pub fn provides(self) -> Option<Event> {
        match self {
            Self::Signal(event) => Some(Event::Condition(event)),
            Self::Post(semaphore) => Some(Event::Semaphore(semaphore)),
            _ => None,
        }
    }

    /// A thread cannot be given anything to do before this.
    pub fn is_second_half(self) -> bool {
        matches!(
            self,
            Self::WaitEnd { .. } | Self::SleepEnd { .. } | Self::Pass(_) | Self::Await(_)
        )
    }
}

/// An operation at its call site.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub op: Op,
    /// Number of the call site, where several operations share one.
    pub site: Option<usize>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    pub locks: Vec<Lock>,
    /// By thread: its steps.
    pub threads: Vec<Vec<Step>>,
    /// The threads in the order in which they took their steps.
    pub order: Vec<usize>,
}

impl Run {
    /// The run as a story.
    pub fn story(&self) -> String {
        let mut text = String::new();
        let mut declared: Vec<&str> = Vec::new();
        for lock in &self.locks {
            let word = match lock.kind {
                Kind::Mutex => continue,
                Kind::Recursive => "recursive",
                Kind::Readers => "rwlock",
                Kind::Writers => "writers",
                Kind::Spin => "spin",
                Kind::Robust => "robust",
                Kind::Once => "once",
                Kind::Counting(seats) => &format!("seats {seats}"),
            };
            if !declared.contains(&lock.class()) {
                declared.push(lock.class());
                let _ = writeln!(text, "{word} {}", lock.class());
            }
        }
        let ops = || self.threads.iter().flatten().map(|step| step.op);
        for barrier in ops().filter_map(|op| if let Op::Arrive(k) = op { Some(k) } else { None }) {
            let name = format!("K{barrier}");
            if !text.contains(&format!("{name}\n")) {
                let size = ops().filter(|&op| op == Op::Arrive(barrier)).count();
                let _ = writeln!(text, "barrier {size} {name}");
            }
        }
        for semaphore in ops().filter_map(|op| if let Op::Post(s) = op { Some(s) } else { None }) {
            let declaration = format!("semaphore 0 S{semaphore}\n");
            if !text.contains(&declaration) {
                text.push_str(&declaration);
            }
        }
        let mut at = vec![0; self.threads.len()];
        let mut last = None;
        for &thread in &self.order {
            if last != Some(thread) {
                let newline = if last.is_some() { "\n" } else { "" };
                let _ = write!(text, "{newline}{}:", thread_name(thread));
                last = Some(thread);
            }
            let step = self.threads[thread][at[thread]];
            at[thread] += 1;
            let letters = self.letters(step.op);
            if !letters.is_empty() {
                text.push(' ');
                text.push_str(&letters);
                if let Some(site) = step.site {
                    let _ = write!(text, "@{site}");
                }
            }
            if at[thread] == self.threads[thread].len() && self.dies(thread) {
                text.push_str(" EX");
            }
        }
        text.push('\n');
        text
    }

    /// The thread ends with a lock held.
    pub fn dies(&self, thread: usize) -> bool {
        let steps = &self.threads[thread];
        let is_released = |id: usize| {
            steps.iter().any(|step| matches!(step.op, Op::Release { id: other, .. } if other == id))
        };
        steps.iter().any(|step| matches!(step.op, Op::Acquire { id, .. } if !is_released(id)))
    }

    fn letters(&self, op: Op) -> String {
        let name = |lock: usize| &self.locks[lock].name;
        match op {
            Op::Acquire { lock, how, read, .. } => {
                let shared = matches!(self.locks[lock].kind, Kind::Readers | Kind::Writers);
                let letter = match (how, read) {
                    (How::Wait, true) => "R",
                    (How::Wait, false) if shared => "W",
                    (How::Wait, false) => "L",
                    (How::Timed, true) => "DR",
                    (How::Timed, false) => "D",
                    (How::OwnerDied, _) => "LD",
                    (How::Try, true) => "TR",
                    (How::Try, false) => "T",
                };
                format!("{letter}({})", name(lock))
            }
            Op::Release { lock, .. } => format!("U({})", name(lock)),
            Op::WaitBegin { lock, .. } => format!("CB({})", name(lock)),
            Op::WaitEnd { lock, .. } => format!("CE({})", name(lock)),
            Op::SleepBegin { slept: false, .. } | Op::SleepEnd { slept: false, .. } => {
                String::new()
            }
            Op::SleepBegin { lock, event, .. } => format!("CW({},c{event})", name(lock)),
            Op::SleepEnd { lock, .. } => format!("CE({})", name(lock)),
            Op::Signal(event) => format!("CS(c{event})"),
            Op::Create(thread) => format!("F({})", thread_name(thread)),
            Op::Join(thread) => format!("J({})", thread_name(thread)),
            Op::OnceBegin { lock, .. } => format!("OB({})", name(lock)),
            Op::OnceEnd { lock, .. } => format!("OE({})", name(lock)),
            Op::OnceCall { lock, .. } => format!("OC({})", name(lock)),
            Op::Arrive(barrier) => format!("BA(K{barrier})"),
            Op::Pass(barrier) => format!("BP(K{barrier})"),
            Op::Post(semaphore) => format!("PO(S{semaphore})"),
            Op::AwaitBegin(semaphore) => format!("PB(S{semaphore})"),
            Op::Await(semaphore) => format!("PW(S{semaphore})"),
        }
    }
}

/// Name of a thread in stories.
pub fn thread_name(thread: usize) -> String {
    format!("T{thread}")
}
