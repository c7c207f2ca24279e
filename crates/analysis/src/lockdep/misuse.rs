//! Misuse of locks, met while it happened: what was done, by whom, and the other side of it.

use lockwright_ledger::rows::{
    Finding as Row, Node, finding_kind, freed, lock_kind, mode, unsafe_call,
};

use super::draft::Draft;
use super::graph::Level;
use super::signallers::{self, Signallers};
use super::teller::{Cast, Teller};
use super::words;
use crate::action::{Access, Action};
use crate::finding::Name;
use crate::finding::{
    Finding, Frame, Grade, HeldLock, Kind, LockInfo, LockOrigin, Step, ThreadInfo,
};
use crate::model::{LockRef, is_read};

/// The misuses of one process.
pub fn find(teller: &Teller<'_, '_>) -> Vec<Draft> {
    let rows = teller.model.ledger.rows::<Row>().map(|(_, row)| row);
    let rows = rows.filter(|row| !is_handed_on(row));
    rows.filter_map(|row| Some(Case::new(teller, row)?.draft())).collect()
}

/// All the read holds that threads left behind when they ended were released by others, which is told of those.
fn is_handed_on(row: &Row) -> bool {
    row.kind == finding_kind::EXIT_HELD && is_read(row.mode) && row.detail > row.repeats
}

/// One row, with what its story needs.
struct Case<'t, 'm, 'a> {
    teller: &'t Teller<'m, 'a>,
    row: Row,
    kind: Kind,
    /// The lock first, then those that it is about, too.
    cast: Cast,
    thread: ThreadInfo,
    /// The other side, if there is one.
    other: Option<Other>,
    /// Who signals what is waited on with a lock kept.
    signallers: Signallers,
}

/// The other thread, and where it did its part.
struct Other {
    thread: ThreadInfo,
    stack: Vec<Frame>,
}

/// What a report calls a row's kind. `None`: the row is no misuse, or of a later version.
fn kind_of(row: &Row) -> Option<Kind> {
    Some(match row.kind {
        finding_kind::BAD_UNLOCK => Kind::BadUnlockBalance,
        finding_kind::HELD_FREED => Kind::HeldLockFreed,
        finding_kind::HELD_DESTROYED => Kind::HeldLockDestroyed,
        finding_kind::HELD_INITIALISED => Kind::HeldLockInitialised,
        finding_kind::USE_AFTER_DESTROY => Kind::UseAfterDestroy,
        finding_kind::EXIT_HELD => Kind::ExitWithLockHeld,
        finding_kind::FORK_HELD => Kind::ForkWithLockHeld,
        finding_kind::WAIT_HELD => Kind::WaitWithLockHeld,
        finding_kind::COND_MISMATCH => Kind::CondvarMutexMismatch,
        finding_kind::UNLOCK_INCONSISTENT => Kind::UnlockInconsistent,
        finding_kind::UNSAFE_CALL => Kind::InconsistentState,
        finding_kind::NOT_HELD => Kind::LockNotHeld,
        finding_kind::UNPINNED => Kind::Unpinned,
        finding_kind::WAIT_CONTEXT => Kind::InvalidWaitContext,
        _ => return None,
    })
}

impl<'t, 'm, 'a> Case<'t, 'm, 'a> {
    fn new(teller: &'t Teller<'m, 'a>, row: Row) -> Option<Self> {
        let kind = kind_of(&row)?;
        let model = teller.model;
        let mut refs = vec![LockRef { class: row.class, inst: row.inst, row: 0 }];
        refs.extend(company(teller, &row, kind));
        let mut cast = teller.cast(Level::Instance, refs);
        match kind {
            Kind::InconsistentState => set(&mut cast, 0, internals(unsafe_name(row.addr))),
            // The address is the condition variable's.
            Kind::CondvarMutexMismatch => {
                if cast.infos.len() == 1 {
                    let refs = vec![LockRef { class: row.class, inst: row.inst, row: 0 }; 2];
                    cast = teller.cast(Level::Instance, refs);
                    set(&mut cast, 1, at_address(teller, row.detail));
                }
            }
            _ => cast.infos[0].addr = cast.infos[0].addr.or((row.addr != 0).then_some(row.addr)),
        }
        let known = row.other_thread != 0 || row.other_stack != 0;
        let other = known.then(|| {
            let thread = match kind {
                Kind::ForkWithLockHeld => {
                    teller.sources.parents_thread(model.ledger, row.other_thread)
                }
                Kind::Unpinned => model.thread(row.thread),
                _ => model.thread(row.other_thread),
            };
            Other { thread, stack: model.stack(row.other_stack) }
        });
        let signallers = match kind {
            Kind::WaitWithLockHeld => signallers::of(model, &row, &company(teller, &row, kind)),
            _ => Signallers::Unknown,
        };
        Some(Self { teller, kind, cast, thread: model.thread(row.thread), other, signallers, row })
    }

    fn draft(self) -> Draft {
        let model = self.teller.model;
        let key = format!(
            "misuse\n{:?}\n{}\n{}\n{}\n{}",
            self.kind,
            self.cast.infos[0].class.text,
            match self.kind {
                Kind::InconsistentState => self.row.detail,
                _ => 0,
            },
            model.place(match self.kind {
                // Where threads end says nothing, nor does where a lost lock was noticed.
                Kind::ExitWithLockHeld => 0,
                Kind::HeldLockFreed if self.is_frame() => 0,
                // One destruction too early has many uses after it.
                Kind::UseAfterDestroy if self.row.other_stack != 0 => 0,
                // A handler that does too much does it in many places.
                Kind::InconsistentState => 0,
                _ => self.row.stack,
            }),
            model.place(self.row.other_stack),
        );
        let finding = Finding {
            kind: self.kind,
            grade: self.grade(),
            title: self.title(),
            evidence: self.evidence(),
            help: self.help(),
            steps: self.steps(),
            pid: model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
            also: self.row.repeats,
            locks: self.cast.infos,
        };
        // No instances and no classes: it says nothing of orders, so it stands for no cycle.
        Draft { finding, key, insts: Vec::new(), classes: Vec::new() }
    }

    /// All of this did happen. What is only possible is that it does harm.
    fn grade(&self) -> Grade {
        match self.kind {
            // Often meant so, and sound if whoever signals does not need what is kept.
            Kind::WaitWithLockHeld => match self.signallers {
                Signallers::Independent(_) => Grade::Ordered,
                _ => Grade::Possible,
            },
            // The C library counts readers, and does not know them: it works.
            Kind::BadUnlockBalance if self.is_read_handed_on() => Grade::Untidy,
            Kind::InconsistentState if !self.may_interrupt() => Grade::Guarded,
            _ => Grade::Likely,
        }
    }

    /// What the handler calls was in use outside with its signal open. Programs may block their signals but where they
    /// wait, and then do in handlers what they like.
    fn may_interrupt(&self) -> bool {
        let open = self.teller.model.ledger.header().unsafe_open;
        let open = open.get(self.row.addr as usize).copied().unwrap_or(u64::MAX);
        (self.row.detail as u32).checked_sub(1).is_none_or(|bit| open >> (bit & 63) & 1 != 0)
    }

    /// A read lock is released that another thread took.
    fn is_read_handed_on(&self) -> bool {
        self.kind == Kind::BadUnlockBalance && is_read(self.row.mode) && self.row.detail == 0
    }

    /// A condition wait is what unlocks the mutex, or should.
    fn is_by_wait(&self) -> bool {
        self.row.mode & mode::COND_WAIT != 0
    }

    /// What a thread waits with can back out of the wait.
    fn is_timed(&self) -> bool {
        self.row.mode & mode::TIMED != 0
    }

    /// The memory of a held lock was part of a frame.
    fn is_frame(&self) -> bool {
        self.kind == Kind::HeldLockFreed && self.row.detail == freed::FRAME
    }

    /// How the lock was taken that the finding is about.
    fn access(&self) -> Access {
        Access::of(self.teller.model.classes.kind(self.row.class), self.row.mode)
    }

    /// How it is held, as a part of a sentence.
    fn held_how(&self) -> &'static str {
        match self.access() {
            Access::Read => "held for reading",
            Access::Write => "held for writing",
            Access::Exclusive => "held",
        }
    }

    /// The lock in a sentence.
    fn name(&self) -> String {
        self.cast.names[0].quoted()
    }

    /// The further locks in a sentence.
    fn company(&self) -> String {
        words::locks(&self.cast.names[1..])
    }

    fn who(&self) -> String {
        words::thread(&self.thread)
    }

    /// Another thread than the one that met it.
    fn another(&self) -> Option<String> {
        let other = self.other.as_ref()?;
        let same = other.thread == self.thread && self.kind != Kind::ForkWithLockHeld;
        (!same && self.row.other_thread != 0).then(|| words::thread(&other.thread))
    }

    fn title(&self) -> String {
        let name = self.name();
        match self.kind {
            Kind::BadUnlockBalance if self.is_read_handed_on() => {
                format!("a read lock of {name} is released by another thread than took it")
            }
            Kind::BadUnlockBalance if self.another().is_some() || self.refusal().is_some() => {
                match self.is_by_wait() {
                    true => {
                        format!("a condition wait gives up {name}, which its thread does not hold")
                    }
                    false => format!("{name} is unlocked by a thread that does not hold it"),
                }
            }
            Kind::BadUnlockBalance if self.is_by_wait() => {
                format!("a condition wait gives up {name}, which nobody holds")
            }
            Kind::BadUnlockBalance => format!("{name} is unlocked while nobody holds it"),
            Kind::HeldLockFreed if self.is_frame() => {
                format!("{name} is still held when the function returns whose local variable it is")
            }
            Kind::HeldLockFreed => format!("the memory of {name} is freed while it is held"),
            Kind::HeldLockDestroyed => format!("{name} is destroyed while it is held"),
            Kind::HeldLockInitialised => format!("{name} is initialised again while it is held"),
            Kind::UseAfterDestroy => format!("{name} is used after it was destroyed"),
            Kind::ExitWithLockHeld => {
                format!("{name} is still {} by a thread that ends", self.held_how())
            }
            Kind::ForkWithLockHeld => {
                format!("{name} is used in a forked child, where nobody will ever unlock it")
            }
            Kind::WaitWithLockHeld => format!(
                "{} {} kept locked during a condition wait",
                self.company(),
                if self.cast.names.len() > 2 { "are" } else { "is" },
            ),
            Kind::CondvarMutexMismatch => format!(
                "{} is waited on with two mutexes: {} and {name}",
                self.condvar().unwrap_or_else(|| "one condition variable".into()),
                self.company(),
            ),
            Kind::UnlockInconsistent => {
                format!("{name} is unlocked without having been made consistent")
            }
            Kind::InconsistentState => {
                let signal = crate::signal::name(self.row.detail as u32);
                match self.may_interrupt() {
                    true => {
                        format!("{name} is called in a handler of {signal}, which may interrupt it")
                    }
                    false => format!("{name} is called in a handler of {signal}"),
                }
            }
            Kind::LockNotHeld if self.row.detail == 1 => {
                format!("{name} is held where the program asserts that it is not")
            }
            Kind::LockNotHeld => format!("{name} is not held where the program asserts that it is"),
            Kind::Unpinned => format!("{name} is unlocked while it is pinned"),
            Kind::InvalidWaitContext => {
                format!("{name}, for which one sleeps, is taken inside {}", self.company())
            }
            _ => name,
        }
    }

    /// How the lock itself answered a wrong unlock.
    fn refusal(&self) -> Option<String> {
        match self.row.detail {
            0 => None,
            EPERM => Some("the call failed with EPERM and changed nothing".into()),
            other => Some(format!("the call failed with error {other}")),
        }
    }

    /// There is a robust variant of such a lock.
    fn can_be_robust(&self) -> bool {
        let kind = self.teller.model.classes.kind(self.row.class);
        matches!(kind, lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK)
    }

    fn condvar(&self) -> Option<String> {
        let name = self.teller.model.variable_at(self.row.addr)?;
        Some(Name::symbol(name).quoted())
    }

    fn evidence(&self) -> Vec<String> {
        let (who, name) = (self.who(), self.name());
        let holds = || match self.another() {
            Some(other) => format!("{other} held it at that moment"),
            None => format!("{who} held it itself at that moment"),
        };
        match self.kind {
            Kind::BadUnlockBalance if self.is_read_handed_on() => vec![
                match self.another() {
                    Some(other) => format!("{other} read-acquired it and had not released it"),
                    None => format!("{who} read-acquired it itself, in other hands since"),
                },
                "POSIX leaves open what that does; the C library counts readers, whoever they are"
                    .into(),
            ],
            Kind::BadUnlockBalance => match (self.another(), self.refusal()) {
                (Some(other), refusal) => vec![
                    format!("{other} took it and had not unlocked it"),
                    refusal.unwrap_or(match self.is_by_wait() {
                        true => "what a wait with another thread's mutex does is undefined".into(),
                        false => "what an unlock by another thread does is undefined".into(),
                    }),
                ],
                (None, Some(refusal)) if self.other.is_some() => vec![
                    format!("{who} took it, but the mutex names another thread as its owner"),
                    format!("{refusal}: a forked child's thread has an id of its own"),
                ],
                (None, Some(refusal)) => vec![format!("{who} did not hold it"), refusal],
                (None, None) => vec![
                    format!("{who} did not hold it, and it was not locked"),
                    match self.is_by_wait() {
                        true => "what a wait with an unlocked mutex does is undefined".into(),
                        false => "what an unlock of an unlocked lock does is undefined".into(),
                    },
                ],
            },
            Kind::HeldLockFreed if self.is_frame() => vec![
                format!("{who} took it and did not unlock it before the function returned"),
                "its memory is used for other things now, so nobody can unlock it any more".into(),
            ],
            Kind::HeldLockFreed => {
                vec![holds(), "its unlock will write to memory that may be another's".into()]
            }
            Kind::HeldLockDestroyed => {
                vec![holds(), "what the destruction of a held lock does is undefined".into()]
            }
            Kind::HeldLockInitialised => vec![
                holds(),
                "the next thread enters beside the holder, whose unlock then frees what it does \
                 not hold"
                    .into(),
            ],
            Kind::UseAfterDestroy => vec![
                match &self.other {
                    Some(by) if self.row.other_thread != 0 => format!(
                        "{} destroyed it, and nothing initialised it again in between",
                        words::thread(&by.thread)
                    ),
                    _ => "nothing initialised it again in between".into(),
                },
                "what the use of a destroyed lock does is undefined".into(),
            ],
            Kind::ExitWithLockHeld => vec![
                format!("{who} ended without unlocking it"),
                match is_read(self.row.mode) {
                    _ if self.row.detail > self.row.repeats => {
                        "another thread unlocked it later, without holding it".into()
                    }
                    true => "whoever wants to write it next waits for ever".into(),
                    false => "whoever takes it next waits for ever".into(),
                },
            ],
            Kind::ForkWithLockHeld => vec![
                match self.another() {
                    Some(other) => format!("{other} of the parent held it at the fork"),
                    None => "another thread of the parent held it at the fork".into(),
                },
                "in the child only the forking thread goes on".into(),
            ],
            Kind::WaitWithLockHeld => {
                vec![format!("the wait gives up {name} alone"), self.who_signals()]
            }
            Kind::CondvarMutexMismatch => vec![
                match self.another() {
                    Some(other) => {
                        format!(
                            "{other} waited with {} when {who} came with {name}",
                            self.company()
                        )
                    }
                    None => format!("{who} came while others waited with {}", self.company()),
                },
                "what waits with different mutexes at a time do is undefined".into(),
            ],
            Kind::UnlockInconsistent => vec![
                format!("its last owner had died, so {who} was given it with EOWNERDEAD"),
                "whoever takes it next fails with ENOTRECOVERABLE".into(),
            ],
            Kind::InconsistentState => {
                let signal = crate::signal::name(self.row.detail as u32);
                vec![
                    format!("{who} ran the handler"),
                    match self.may_interrupt() {
                        true => format!(
                            "it is not async-signal-safe, and in use outside of handlers with {signal} open, too"
                        ),
                        false => format!(
                            "it is not async-signal-safe, but this run did not use it outside of handlers with {signal} \
                             open"
                        ),
                    },
                ]
            }
            Kind::LockNotHeld if self.row.detail == 1 => vec![format!("{who} holds it here")],
            Kind::LockNotHeld => vec![format!("{who} does not hold it here")],
            Kind::Unpinned => vec![format!("{who} pinned it and has not unpinned it")],
            Kind::InvalidWaitContext => vec![
                format!("{who} may sleep for {name} with {} locked", self.company()),
                "whoever wants that spins until it wakes".into(),
            ],
            _ => Vec::new(),
        }
    }

    /// Of a wait with a lock kept: what that does to those who signal.
    fn who_signals(&self) -> String {
        let kept = self.company();
        let it = match self.is_timed() {
            true => "cannot before the wait times out",
            false => "never will",
        };
        let thread = |id: u32| words::thread(&self.teller.model.thread(id));
        match &self.signallers {
            Signallers::Unknown => format!("a thread that needs {kept} in order to signal {it}"),
            &Signallers::Needs(id) => format!(
                "{} has signalled, and took {kept} in this run: if it needs that in order to signal, it {it}",
                thread(id)
            ),
            Signallers::Independent(ids) => {
                let who: Vec<String> =
                    ids.iter().copied().take(MOST_SIGNALLERS).map(thread).collect();
                let more = match ids.len() - who.len() {
                    0 => "",
                    _ => " (and more)",
                };
                format!("{}{more} signalled, without ever taking {kept}", words::list(&who))
            }
        }
    }

    fn help(&self) -> Vec<String> {
        let name = self.name();
        let help: &[&str] = match self.kind {
            Kind::BadUnlockBalance if self.is_read_handed_on() => &[
                "harmless with this C library; to be portable, release it in the thread that took it",
            ],
            Kind::BadUnlockBalance if self.is_by_wait() => &[
                "lock the mutex in the same thread before the wait, and check there what is waited for",
            ],
            Kind::HeldLockFreed if self.is_frame() => {
                &["unlock it on every way out of the function"]
            }
            Kind::ExitWithLockHeld if !self.can_be_robust() => {
                &["unlock on every way out of the thread, cancellation included \
                 (pthread_cleanup_push)"]
            }
            Kind::WaitWithLockHeld if matches!(self.signallers, Signallers::Independent(_)) => {
                return vec![format!(
                    "harmless while no thread needs {} on its way to the signal",
                    self.company()
                )];
            }
            Kind::BadUnlockBalance if self.another().is_some() => {
                &["unlock in the thread that locked; to hand something over use a semaphore, or a \
                 flag with a condition variable"]
            }
            Kind::BadUnlockBalance => {
                &["look for a path that has unlocked already, or that never locked"]
            }
            Kind::HeldLockFreed => {
                &["unlock before the memory goes, and let its last user free it"]
            }
            Kind::HeldLockDestroyed => {
                &["unlock before destroying, when no other thread can reach the lock any more"]
            }
            Kind::HeldLockInitialised => {
                &["initialise once, before other threads can reach the lock: with pthread_once or \
                 PTHREAD_MUTEX_INITIALIZER"]
            }
            Kind::UseAfterDestroy => {
                &["destroy it after its last use, or initialise it again before the next"]
            }
            Kind::ExitWithLockHeld => &[
                "unlock on every way out of the thread, cancellation included \
                 (pthread_cleanup_push)",
                "or make it a robust mutex, whose next owner learns of it (EOWNERDEAD)",
            ],
            Kind::ForkWithLockHeld => &[
                "take it around the fork with pthread_atfork",
                "or call only async-signal-safe functions in the child until it calls exec",
            ],
            Kind::WaitWithLockHeld => {
                return vec![format!(
                    "check that no thread needs {} on its way to the signal, or release it before \
                     the wait",
                    self.company()
                )];
            }
            Kind::CondvarMutexMismatch => {
                &["wait with the one mutex that guards what is waited for"]
            }
            Kind::UnlockInconsistent => {
                &["repair what it guards, then call pthread_mutex_consistent before unlocking"]
            }
            Kind::InconsistentState => {
                let signal = crate::signal::name(self.row.detail as u32);
                return vec![
                    "let the handler set a flag or write to a pipe, and do the work outside".into(),
                    format!("or block {signal} around the uses outside"),
                ];
            }
            Kind::LockNotHeld if self.row.detail == 1 => {
                &["release it on the way here, or correct the assertion"]
            }
            Kind::LockNotHeld => &["take it on the way here, or correct the assertion"],
            Kind::Unpinned => &["unpin first: whoever pinned it relies on the lock staying held"],
            Kind::InvalidWaitContext => {
                return vec![format!(
                    "take {name} before {}, or make that a lock that sleeps, too",
                    self.company()
                )];
            }
            _ => &[],
        };
        help.iter().map(|&line| line.into()).collect()
    }

    /// The offending operation, then the other side.
    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![self.offence()];
        let Some(other) = &self.other else { return steps };
        // A lock that the thread itself took is among what it holds, with its place.
        let told = |held: &HeldLock| held.lock == Some(0);
        let is_taking = !matches!(self.kind, Kind::Unpinned | Kind::UseAfterDestroy);
        if is_taking && steps[0].held.iter().any(told) && other.thread == self.thread {
            return steps;
        }
        let (lock, action) = match self.kind {
            Kind::ExitWithLockHeld => return steps,
            Kind::HeldLockFreed if self.is_frame() => return steps,
            Kind::CondvarMutexMismatch => (1, Action::WaitsOnCondition),
            Kind::Unpinned => (0, Action::Pinned),
            Kind::UseAfterDestroy => (0, Action::Destroyed),
            Kind::InconsistentState => (0, Action::CallsOutside),
            Kind::ForkWithLockHeld => (0, Action::TookInParent),
            _ => (0, Action::Took(self.access())),
        };
        steps.push(Step {
            thread: other.thread.clone(),
            lock,
            action,
            held: Vec::new(),
            stack: other.stack.clone(),
        });
        steps
    }

    fn offence(&self) -> Step {
        let (row, model) = (&self.row, self.teller.model);
        let action = match self.kind {
            Kind::BadUnlockBalance if self.is_read_handed_on() => Action::ReleasesRead,
            Kind::BadUnlockBalance if self.is_by_wait() => Action::WaitsOnCondition,
            Kind::HeldLockFreed if self.is_frame() => Action::NeverUnlocks(self.access()),
            Kind::BadUnlockBalance | Kind::UnlockInconsistent | Kind::Unpinned => Action::Unlocks,
            Kind::HeldLockFreed => Action::Frees,
            Kind::HeldLockDestroyed => Action::Destroys,
            Kind::HeldLockInitialised => Action::Initialises,
            Kind::UseAfterDestroy => Action::UsesDestroyed,
            Kind::ExitWithLockHeld => Action::NeverUnlocks(self.access()),
            Kind::ForkWithLockHeld => Action::UsesInChild,
            Kind::WaitWithLockHeld | Kind::CondvarMutexMismatch => Action::WaitsOnCondition,
            Kind::InconsistentState => Action::CallsInHandler,
            Kind::LockNotHeld if row.detail == 1 => Action::AssertsNotHeld,
            Kind::LockNotHeld => Action::AssertsHeld,
            _ => Action::acquires(model.classes.kind(row.class), row.mode),
        };
        let mut held = self.teller.held(&self.cast, row.node);
        let mut stack = row.stack;
        match self.kind {
            // A wait gives its mutex up.
            Kind::WaitWithLockHeld | Kind::CondvarMutexMismatch => {
                held.retain(|held| held.lock != Some(0));
            }
            // What leads here is where it was taken, with what was held already.
            Kind::ExitWithLockHeld | Kind::HeldLockFreed
                if self.kind == Kind::ExitWithLockHeld || self.is_frame() =>
            {
                if let Some(at) = held.iter().position(|held| held.lock == Some(0)) {
                    held.truncate(at);
                }
                stack = row.other_stack;
            }
            _ => {}
        }
        Step { thread: self.thread.clone(), lock: 0, action, held, stack: model.stack(stack) }
    }
}

/// The error of an unlock by a thread that is not the owner.
const EPERM: u64 = 1;

/// Threads named of those that signal.
const MOST_SIGNALLERS: usize = 3;

/// The locks that a finding is about besides its own.
fn company(teller: &Teller<'_, '_>, row: &Row, kind: Kind) -> Vec<LockRef> {
    let reference = |node: &Node| LockRef { class: node.class, inst: node.inst, row: node.lock };
    let held = || teller.path(row.node).map(|(_, node)| node);
    match kind {
        Kind::WaitWithLockHeld => {
            let mut kept: Vec<LockRef> =
                held().filter(|node| node.inst != row.inst).map(|node| reference(&node)).collect();
            kept.reverse();
            kept
        }
        Kind::InvalidWaitContext => {
            let spins = |node: &Node| u64::from(node.inst) == row.detail;
            let spinning = held().find(spins).or_else(|| held().next());
            spinning.iter().map(reference).collect()
        }
        Kind::CondvarMutexMismatch => other_mutex(teller, row).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The mutex of the waits under way: among what was held at the other wait.
fn other_mutex(teller: &Teller<'_, '_>, row: &Row) -> Option<LockRef> {
    let trie = &teller.model.trie;
    let waits = (1..trie.len()).filter(|&id| {
        trie.node(id).is_some_and(|n| n.mode & mode::COND_WAIT != 0 && n.stack == row.other_stack)
    });
    waits.filter(|_| row.other_stack != 0).find_map(|id| {
        teller.path(id).find_map(|(_, node)| {
            let addr = teller.model.address(node.lock, node.inst);
            (addr == Some(row.detail)).then_some(LockRef {
                class: node.class,
                inst: node.inst,
                row: node.lock,
            })
        })
    })
}

/// A mutex of which only the address is known.
fn at_address(teller: &Teller<'_, '_>, addr: u64) -> (Name, LockInfo) {
    let symbol = teller.model.variable_at(addr);
    let is_symbol = symbol.is_some();
    let text = symbol.unwrap_or_else(|| format!("mutex at {addr:#x}"));
    let name = Name { text, is_symbol };
    let info = LockInfo {
        name: name.clone(),
        class: name.clone(),
        kind: "mutex".into(),
        addr: Some(addr),
        created: Vec::new(),
        origin: LockOrigin::Static,
    };
    (name, info)
}

/// What a function keeps to itself that is not async-signal-safe.
fn internals(name: &'static str) -> (Name, LockInfo) {
    let info = LockInfo {
        name: Name::symbol(name),
        class: Name::symbol(name),
        kind: "internal state of the C library".into(),
        addr: None,
        created: Vec::new(),
        origin: LockOrigin::Static,
    };
    (Name::symbol(name), info)
}

fn unsafe_name(call: u64) -> &'static str {
    match call {
        unsafe_call::MALLOC => "malloc/free",
        unsafe_call::STDIO => "stdio",
        _ => "a function that is not async-signal-safe",
    }
}

fn set(cast: &mut Cast, i: usize, (named, info): (Name, LockInfo)) {
    (cast.names[i], cast.infos[i]) = (named, info);
}
