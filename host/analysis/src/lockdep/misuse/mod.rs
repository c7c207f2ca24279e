//! Misuse of locks, seen while it happened: what was done, by which thread, and the other side of
//! it.

pub(crate) mod atomic_sleep;
pub(crate) mod callbacks;
mod futex_waits;
pub(crate) mod left_held;
mod signal_rounds;
mod signallers;
mod waits_through;

use std::cell::OnceCell;
use std::collections::HashSet;

use lockwright_ledger::rows::meter::BLOCKING_CALLS;
use lockwright_ledger::rows::{
    Finding as Row, LeftHeld, Node, finding_kind, freed, lock_kind, mode, unsafe_call,
};

use self::futex_waits::FutexWait;
use self::left_held::{Leak, LeftHolds};
use self::signal_rounds::kept;
use self::signallers::{Need, Signallers};
use self::waits_through::{Through, Ways};
use crate::finding::action::{Access, Action};
use crate::finding::lock_kind::{LockKind, Subject};
use crate::finding::misuse::{
    BadUnlockBalance, CondvarMutexMismatch, EndedBy, ExitWithLockHeld, ForkWithLockHeld, Gap,
    HeldLockDestroyed, HeldLockFreed, HeldLockInitialised, InvalidWaitContext, LeakedLock,
    LockNotHeld, Misuse, Signalled, SleepWithSpinlockHeld, UnlockInconsistent, Unpinned,
    UnsafeCall, UseAfterDestroy, WaitWithLockHeld,
};
use crate::finding::{
    Details, Finding, Frame, Grade, HeldLock, Kind, LockInfo, LockOrigin, Name, Step, ThreadInfo,
};
use crate::model::{LockRef, Model, is_read};
use crate::symbolize::futexes;
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Level};
use crate::view::process_view::{InvolvedLocks, ProcessView};

/// The misuses of one process.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let left = LeftHolds::of(view.model);
    let rows = view.model.ledger.rows::<Row>();
    let rows = rows.filter(|(_, row)| !is_handed_on(row));
    let is_meant = |id, row: &Row| row.kind == finding_kind::LEFT_HELD && left.leak(id).is_none();
    let rows = rows.filter(|(id, row)| !is_meant(*id, row));
    let destroyed = destroyed_holds(view.model);
    let is_told =
        |row: &Row| row.kind == finding_kind::HELD_FREED && destroyed.contains(&hold(row));
    let rows = rows.filter(|(_, row)| !is_told(row));
    let ways = OnceCell::new();
    rows.filter_map(|(id, row)| {
        let ways = || ways.get_or_init(|| Ways::new(view.model));
        let futex = futex_waits::of(view, id, &row);
        let row = futex.map_or(row, |futex| futex.row);
        let signallers = match row.kind {
            finding_kind::WAIT_HELD => signallers::of(view, ways(), id, &row),
            finding_kind::FUTEX_HELD if futex.is_some() => signallers::of(view, ways(), id, &row),
            finding_kind::FUTEX_HELD => return None,
            _ => Signallers::Unknown,
        };
        Some(Case::new(view, row, left.leak(id), signallers, futex)?.candidate())
    })
    .collect()
}

/// The rows of waits at futexes that are among the misuses.
pub(crate) fn waits_at_futexes(view: &ProcessView<'_, '_>) -> HashSet<u32> {
    let ways = OnceCell::new();
    let rows = view.model.ledger.rows::<Row>();
    let futexes = rows.filter_map(|(id, row)| Some((id, futex_waits::of(view, id, &row)?)));
    let is_needed = |(id, futex): &(u32, FutexWait)| {
        let ways = ways.get_or_init(|| Ways::new(view.model));
        signallers::of(view, ways, *id, &futex.row).are_needed()
    };
    futexes.filter(is_needed).map(|(id, _)| id).collect()
}

/// The lock that a row is about, and the thread and the place that took it.
type Hold = (u32, u32, u32, u32);

fn hold(row: &Row) -> Hold {
    (row.class, row.inst, row.other_thread, row.other_stack)
}

/// The holds in which their lock was destroyed. That its memory is freed later is no other fault.
fn destroyed_holds(model: &Model<'_>) -> HashSet<Hold> {
    let rows = model.ledger.rows::<Row>();
    let rows = rows.filter(|(_, row)| row.kind == finding_kind::HELD_DESTROYED && row.inst != 0);
    rows.map(|(_, row)| hold(&row)).collect()
}

/// All the read holds that threads left behind when they ended were released by others, which is
/// reported of those.
fn is_handed_on(row: &Row) -> bool {
    row.kind == finding_kind::EXIT_HELD && is_read(row.mode) && row.detail > row.repeats
}

/// One row, with what its story needs.
struct Case<'t, 'm, 'a> {
    view: &'t ProcessView<'m, 'a>,
    row: Row,
    kind: Kind,
    /// The lock first, then those that it is about, too.
    involved: InvolvedLocks,
    thread: ThreadInfo,
    /// The other side, if there is one.
    other: Option<Other>,
    /// The signallers of what is waited on with a lock kept.
    signallers: Signallers,
    /// What is known of a leaked lock.
    leak: Option<Leak>,
    /// What is waited for, if that is a futex.
    futex: Option<FutexWait>,
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
        finding_kind::WAIT_HELD | finding_kind::FUTEX_HELD => Kind::WaitWithLockHeld,
        finding_kind::COND_MISMATCH => Kind::CondvarMutexMismatch,
        finding_kind::UNLOCK_INCONSISTENT => Kind::UnlockInconsistent,
        finding_kind::UNSAFE_CALL => Kind::InconsistentState,
        finding_kind::NOT_HELD => Kind::LockNotHeld,
        finding_kind::UNPINNED => Kind::Unpinned,
        finding_kind::WAIT_CONTEXT => Kind::InvalidWaitContext,
        finding_kind::SLEEPS => Kind::SleepWithSpinlockHeld,
        finding_kind::LEFT_HELD => Kind::LeakedLock,
        _ => return None,
    })
}

impl<'t, 'm, 'a> Case<'t, 'm, 'a> {
    fn new(
        view: &'t ProcessView<'m, 'a>,
        row: Row,
        leak: Option<Leak>,
        signallers: Signallers,
        futex: Option<FutexWait>,
    ) -> Option<Self> {
        let kind = kind_of(&row)?;
        let model = view.model;
        let mut refs = vec![LockRef { class: row.class, inst: row.inst, row: 0 }];
        refs.extend(company(view, &row, kind));
        if let Signallers::NeedsThrough(through) = &signallers {
            refs.extend(through.chain.iter().map(|step| view.lock_of(step.context.held)));
        }
        let mut involved = view.involved(Level::Instance, refs);
        match kind {
            Kind::InconsistentState => set(&mut involved, 0, internals(unsafe_name(row.addr))),
            // The address is the condition variable's.
            Kind::CondvarMutexMismatch => {
                if involved.infos.len() == 1 {
                    let refs = vec![LockRef { class: row.class, inst: row.inst, row: 0 }; 2];
                    involved = view.involved(Level::Instance, refs);
                    set(&mut involved, 1, at_address(view, row.detail));
                }
            }
            Kind::WaitWithLockHeld if row.mode & mode::SEM_WAIT != 0 => {
                set(&mut involved, 0, semaphore_at(view.model, row.detail));
            }
            Kind::WaitWithLockHeld if row.mode & mode::FUTEX_WAIT != 0 => {
                let noun = futex.map_or("futex", |futex| futex.kind.noun());
                set(&mut involved, 0, futex_at(view.model, row.detail, noun));
            }
            _ => {
                involved.infos[0].addr =
                    involved.infos[0].addr.or((row.addr != 0).then_some(row.addr))
            }
        }
        let known = row.other_thread != 0 || row.other_stack != 0;
        let other = known.then(|| {
            let thread = match kind {
                Kind::ForkWithLockHeld => {
                    view.sources.parents_thread(model.ledger, row.other_thread)
                }
                Kind::Unpinned => model.thread(row.thread),
                _ => model.thread(row.other_thread),
            };
            Other { thread, stack: model.stack(row.other_stack) }
        });
        // Locks are often kept in a wait for a post, and that alone says nothing.
        if row.mode & (mode::SEM_WAIT | mode::FUTEX_WAIT) != 0 && !signallers.are_needed() {
            return None;
        }
        Some(Self {
            view,
            kind,
            involved,
            thread: model.thread(row.thread),
            other,
            signallers,
            leak,
            futex,
            row,
        })
    }

    fn candidate(self) -> Candidate {
        let model = self.view.model;
        let key = format!(
            "misuse\n{:?}\n{}\n{}\n{}\n{}",
            self.kind,
            self.involved.infos[0].class.text,
            match self.kind {
                Kind::InconsistentState | Kind::SleepWithSpinlockHeld => self.row.detail,
                _ => 0,
            },
            model.place(match self.kind {
                // Where threads end says nothing, nor does where a lost lock was noticed.
                Kind::ExitWithLockHeld | Kind::LeakedLock => 0,
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
            details: Details::Misuse(self.misuse()),
            steps: self.steps(),
            pid: model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: self.row.repeats,
            locks: self.involved.infos,
        };
        // No instances and no classes: it says nothing of orders, so it stands for no cycle.
        Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
    }

    /// All of this did happen. What is only possible is that it does harm.
    fn grade(&self) -> Grade {
        match self.kind {
            // Often meant so, and correct if the signaller does not need the kept lock.
            Kind::WaitWithLockHeld => match &self.signallers {
                _ if self.futex.is_some_and(|futex| !futex.all_seen) => Grade::Possible,
                // All that follows from others' not being recorded.
                Signallers::Needs(_) | Signallers::NeedsThrough(_) if self.gap().is_some() => {
                    Grade::Possible
                }
                Signallers::Independent(_) if self.gap().is_some() && !self.is_timed() => {
                    Grade::Possible
                }
                Signallers::Needs(need) if need.is_sure && need.others.is_empty() => {
                    if self.is_timed() { Grade::Possible } else { Grade::Likely }
                }
                Signallers::Needs(_) => Grade::Possible,
                Signallers::NeedsThrough(through)
                    if through.is_timed || through.has_heard || self.is_timed() =>
                {
                    Grade::Possible
                }
                Signallers::NeedsThrough(_) => Grade::Likely,
                // It ends by itself.
                Signallers::Unknown if self.is_timed() => Grade::Ordered,
                Signallers::Unknown => Grade::Possible,
                Signallers::Independent(_) => Grade::Ordered,
            },
            // The C library counts readers, and does not know them: it works.
            Kind::BadUnlockBalance if self.is_read_handed_on() => Grade::Untidy,
            Kind::InconsistentState if !self.may_interrupt() => Grade::Guarded,
            // It may be brief, and others may never want the lock meanwhile.
            Kind::SleepWithSpinlockHeld => Grade::Possible,
            Kind::LeakedLock => self.leak.map_or(Grade::Possible, |leak| leak.grade),
            _ => Grade::Likely,
        }
    }

    /// What the record of signallers may lack.
    fn gap(&self) -> Option<Gap> {
        signallers::gap(self.view, &self.signallers)
    }

    /// What the handler calls was in use outside with its signal open. Programs may block their
    /// signals but where they wait, and then do in handlers what they like.
    fn may_interrupt(&self) -> bool {
        let open = self.view.model.ledger.header().unsafe_open;
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

    /// The wait is for a semaphore.
    fn is_for_semaphore(&self) -> bool {
        self.row.mode & mode::SEM_WAIT != 0
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
        Access::of(self.view.model.classes.kind(self.row.class), self.row.mode)
    }

    /// Another thread than the one that met it.
    fn another(&self) -> Option<ThreadInfo> {
        let other = self.other.as_ref()?;
        let same = other.thread == self.thread && self.kind != Kind::ForkWithLockHeld;
        (!same && self.row.other_thread != 0).then(|| other.thread.clone())
    }

    /// There is a robust variant of such a lock.
    fn can_be_robust(&self) -> bool {
        let kind = self.view.model.classes.kind(self.row.class);
        matches!(kind, lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK)
    }

    /// What was done, with all that is known about it.
    fn misuse(&self) -> Misuse {
        let row = &self.row;
        let holder = self.another();
        match self.kind {
            Kind::BadUnlockBalance => self.bad_unlock(holder).into(),
            Kind::HeldLockFreed if self.is_frame() => HeldLockFreed::FrameLeft.into(),
            Kind::HeldLockFreed => HeldLockFreed::Freed { holder }.into(),
            Kind::HeldLockDestroyed => HeldLockDestroyed { holder }.into(),
            Kind::HeldLockInitialised => HeldLockInitialised { holder }.into(),
            Kind::UseAfterDestroy => {
                let by = self.other.as_ref().filter(|_| row.other_thread != 0);
                UseAfterDestroy { by: by.map(|other| other.thread.clone()) }.into()
            }
            Kind::ExitWithLockHeld => ExitWithLockHeld {
                access: self.access(),
                reads: is_read(row.mode),
                unlocked_later: row.detail > row.repeats,
                can_be_robust: self.can_be_robust(),
            }
            .into(),
            Kind::LeakedLock => LeakedLock {
                function: self.leaker(),
                exits: LeftHeld::from_bits(row.detail).exits,
                releases_otherwise: self.leak.is_some_and(|leak| leak.grade == Grade::Likely),
            }
            .into(),
            Kind::ForkWithLockHeld => ForkWithLockHeld { holder }.into(),
            Kind::WaitWithLockHeld => WaitWithLockHeld {
                ended_by: match self.futex {
                    Some(FutexWait { kind, all_seen, .. }) => EndedBy::Wake { kind, all_seen },
                    None if self.is_for_semaphore() => EndedBy::Post,
                    None => EndedBy::Signal,
                },
                timed: self.is_timed(),
                signalled: self.signalled(),
                gap: self.gap(),
            }
            .into(),
            Kind::CondvarMutexMismatch => CondvarMutexMismatch {
                condvar: self.view.model.variable_at(row.addr).map(Name::symbol),
                other: holder,
            }
            .into(),
            Kind::InconsistentState => {
                UnsafeCall { signal: row.detail as u32, may_interrupt: self.may_interrupt() }.into()
            }
            Kind::LockNotHeld => LockNotHeld { held: row.detail == 1 }.into(),
            Kind::Unpinned => Unpinned.into(),
            Kind::InvalidWaitContext => InvalidWaitContext.into(),
            Kind::SleepWithSpinlockHeld => {
                let call = BLOCKING_CALLS.get(row.detail as usize).copied();
                SleepWithSpinlockHeld::InCall { call }.into()
            }
            // All that is left of `kind_of`.
            _ => UnlockInconsistent.into(),
        }
    }

    /// What is known of an unlock by a thread that does not hold the lock.
    fn bad_unlock(&self, holder: Option<ThreadInfo>) -> BadUnlockBalance {
        match self.is_read_handed_on() {
            true => BadUnlockBalance::ReadHandedOn { holder },
            false => BadUnlockBalance::NotHeld {
                by_wait: self.is_by_wait(),
                took_itself: holder.is_none() && self.other.is_some(),
                holder,
                error: (self.row.detail != 0).then_some(self.row.detail),
            },
        }
    }

    /// The signallers, in the words of a finding.
    fn signalled(&self) -> Signalled {
        let threads =
            |ids: &[u32]| ids.iter().map(|&id| self.view.model.thread(id)).collect::<Vec<_>>();
        match &self.signallers {
            Signallers::Unknown => Signalled::Unknown,
            Signallers::Independent(ids) => Signalled::Independent(threads(ids)),
            Signallers::NeedsThrough(Through { taken, chain, has_heard, .. }) => {
                Signalled::NeedsThrough {
                    thread: self.view.model.thread(taken.thread),
                    lock: self.lock_of_chain(chain.first()),
                    has_heard: *has_heard,
                    between: chain.iter().map(|step| self.view.model.thread(step.thread)).collect(),
                }
            }
            Signallers::Needs(need) => Signalled::Needs {
                thread: self.view.model.thread(need.thread),
                lock: self.involved.place(self.view.model, need.lock).unwrap_or(0),
                is_held: need.is_held,
                is_sure: need.is_sure,
                others: threads(&need.others),
            },
        }
    }

    /// The place of the lock that a step of a chain holds.
    fn lock_of_chain(&self, step: Option<&Acquisition>) -> usize {
        let place = |step: &Acquisition| {
            self.involved.place(self.view.model, self.view.lock_of(step.context.held))
        };
        step.and_then(place).unwrap_or(0)
    }

    /// The thread that signals takes a lock, and then signals; and what leads from that lock to
    /// those that are kept.
    fn steps_through(&self, through: &Through) -> Vec<Step> {
        let lock = |i: usize| match through.chain.get(i) {
            Some(step) => self.lock_of_chain(Some(step)),
            None => {
                let last = through.chain.last().map(|step| step.context.acquired);
                let lock = last.map(|id| self.view.lock_of(id));
                lock.and_then(|lock| self.involved.place(self.view.model, lock)).unwrap_or(0)
            }
        };
        let acquires = self.view.step(&self.involved, &through.taken, lock(0));
        let signals = Step {
            thread: acquires.thread.clone(),
            lock: 0,
            action: self.signalling(),
            held: Vec::new(),
            stack: self.stack_of_event(through.signal),
        };
        let chain = through.chain.iter().enumerate();
        let chain = chain.map(|(i, step)| self.view.step(&self.involved, step, lock(i + 1)));
        [acquires, signals].into_iter().chain(chain).collect()
    }

    /// The thread that signals takes the kept lock, and then signals.
    fn steps_of_signaller(&self, need: &Need) -> [Step; 2] {
        let model = self.view.model;
        let node = model.trie.node(need.taken).copied().unwrap_or_default();
        let thread = model.thread(need.thread);
        let acquires = Step {
            thread: thread.clone(),
            lock: self.involved.place(model, need.lock).unwrap_or(0),
            action: Action::acquires(model.classes.kind(node.class), node.mode),
            held: self.view.held(&self.involved, node.parent),
            stack: model.stack(node.stack),
        };
        let (action, stack) = (self.signalling(), self.stack_of_event(need.signal));
        let signals = Step { thread, lock: 0, action, held: Vec::new(), stack };
        [acquires, signals]
    }

    /// The stack of such a thread, or of a wait. Frames of a library that waits by futexes are marked as such.
    fn stack_of_event(&self, stack: u32) -> Vec<Frame> {
        let stack = self.view.model.stack(stack);
        match self.futex {
            Some(_) => futexes::folded(&stack).to_vec(),
            None => stack,
        }
    }

    /// The action of a thread that ends the wait.
    fn signalling(&self) -> Action {
        match () {
            () if self.futex.is_some() => Action::Wakes,
            () if self.is_for_semaphore() => Action::Posts,
            () => Action::Signals,
        }
    }

    /// The function that has returned with the lock held.
    fn leaker(&self) -> Option<String> {
        let Some(other) = &self.other else { return None };
        let level = self.leak?.level;
        let mut functions = other.stack.iter().filter(|frame| !frame.inlined);
        functions.nth(level).and_then(|frame| frame.function.clone())
    }

    /// The offending operation, then the other side.
    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![self.offence()];
        if let Signallers::Needs(need) = &self.signallers {
            steps.extend(self.steps_of_signaller(need));
        }
        if let Signallers::NeedsThrough(through) = &self.signallers {
            steps.extend(self.steps_through(through));
        }
        let Some(other) = &self.other else { return steps };
        // A lock that the thread itself took is among what it holds, with its place.
        let told = |held: &HeldLock| held.lock == Some(0);
        let is_taking = !matches!(self.kind, Kind::Unpinned | Kind::UseAfterDestroy);
        if is_taking && steps[0].held.iter().any(told) && other.thread == self.thread {
            return steps;
        }
        let (lock, action) = match self.kind {
            Kind::LeakedLock => {
                // Where a process exits is the C library.
                if !LeftHeld::from_bits(self.row.detail).exits {
                    let stack = self.view.model.stack(self.row.stack);
                    let (thread, action) = (self.thread.clone(), Action::IdlesHolding);
                    steps.push(Step { thread, lock: 0, action, held: Vec::new(), stack });
                }
                return steps;
            }
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
        let (row, model) = (&self.row, self.view.model);
        let action = match self.kind {
            Kind::BadUnlockBalance if self.is_read_handed_on() => Action::ReleasesRead,
            Kind::BadUnlockBalance if self.is_by_wait() => Action::WaitsOnCondition,
            Kind::HeldLockFreed if self.is_frame() => Action::NeverUnlocks(self.access()),
            Kind::BadUnlockBalance | Kind::UnlockInconsistent | Kind::Unpinned => Action::Unlocks,
            Kind::HeldLockFreed => Action::Frees,
            Kind::HeldLockDestroyed => Action::Destroys,
            Kind::HeldLockInitialised => Action::Initialises,
            Kind::UseAfterDestroy => Action::UsesDestroyed,
            Kind::ExitWithLockHeld | Kind::LeakedLock => Action::NeverUnlocks(self.access()),
            Kind::ForkWithLockHeld => Action::UsesInChild,
            Kind::WaitWithLockHeld if self.futex.is_some() => Action::WaitsAtFutex,
            Kind::WaitWithLockHeld if self.is_for_semaphore() => Action::WaitsForPost,
            Kind::WaitWithLockHeld | Kind::CondvarMutexMismatch => Action::WaitsOnCondition,
            Kind::InconsistentState => Action::CallsInHandler,
            Kind::SleepWithSpinlockHeld => Action::MaySleepHolding,
            Kind::LockNotHeld if row.detail == 1 => Action::AssertsNotHeld,
            Kind::LockNotHeld => Action::AssertsHeld,
            _ => Action::acquires(model.classes.kind(row.class), row.mode),
        };
        let mut held = self.view.held(&self.involved, row.node);
        let mut stack = row.stack;
        match self.kind {
            // A wait gives its mutex up.
            Kind::WaitWithLockHeld | Kind::CondvarMutexMismatch => {
                held.retain(|held| held.lock != Some(0));
            }
            // What leads here is where it was taken, with what was held already.
            Kind::ExitWithLockHeld | Kind::LeakedLock | Kind::HeldLockFreed
                if self.kind != Kind::HeldLockFreed || self.is_frame() =>
            {
                if let Some(at) = held.iter().position(|held| held.lock == Some(0)) {
                    held.truncate(at);
                }
                stack = row.other_stack;
            }
            _ => {}
        }
        let stack = self.stack_of_event(stack);
        Step { thread: self.thread.clone(), lock: 0, action, held, stack }
    }
}

/// The locks that a finding is about besides its own.
fn company(view: &ProcessView<'_, '_>, row: &Row, kind: Kind) -> Vec<LockRef> {
    let reference = |node: &Node| LockRef { class: node.class, inst: node.inst, row: node.lock };
    let held = || view.path(row.node).map(|(_, node)| node);
    match kind {
        Kind::WaitWithLockHeld => {
            let mut kept: Vec<LockRef> = kept(view, row).map(|node| reference(&node)).collect();
            kept.reverse();
            kept
        }
        Kind::InvalidWaitContext => {
            let spins = |node: &Node| u64::from(node.inst) == row.detail;
            let spinning = held().find(spins).or_else(|| held().next());
            spinning.iter().map(reference).collect()
        }
        Kind::CondvarMutexMismatch => other_mutex(view, row).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The mutex of the waits under way: among what was held at the other wait.
fn other_mutex(view: &ProcessView<'_, '_>, row: &Row) -> Option<LockRef> {
    let trie = &view.model.trie;
    let waits = (1..trie.len()).filter(|&id| {
        trie.node(id).is_some_and(|n| n.mode & mode::COND_WAIT != 0 && n.stack == row.other_stack)
    });
    waits.filter(|_| row.other_stack != 0).find_map(|id| {
        view.path(id).find_map(|(_, node)| {
            let addr = view.model.address(node.lock, node.inst);
            (addr == Some(row.detail)).then_some(LockRef {
                class: node.class,
                inst: node.inst,
                row: node.lock,
            })
        })
    })
}

/// A mutex of which only the address is known.
fn at_address(view: &ProcessView<'_, '_>, addr: u64) -> (Name, LockInfo) {
    let symbol = view.model.variable_at(addr);
    let is_symbol = symbol.is_some();
    let text = symbol.unwrap_or_else(|| format!("mutex at {addr:#x}"));
    let name = Name { text, is_symbol };
    let info = LockInfo {
        name: name.clone(),
        class: name.clone(),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr: Some(addr),
        created: Vec::new(),
        origin: LockOrigin::Static,
    };
    (name, info)
}

/// A semaphore that is no lock.
pub(crate) fn semaphore_at(model: &Model<'_>, addr: u64) -> (Name, LockInfo) {
    let name = match model.variable_at(addr) {
        Some(symbol) => Name::symbol(symbol),
        None => Name::description(format!("semaphore at {addr:#x}")),
    };
    let info = LockInfo {
        name: name.clone(),
        class: name.clone(),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Semaphore),
        addr: Some(addr),
        created: Vec::new(),
        origin: LockOrigin::Unknown,
    };
    (name, info)
}

/// What is waited for at a futex.
fn futex_at(model: &Model<'_>, addr: u64, noun: &str) -> (Name, LockInfo) {
    let (mut name, mut info) = semaphore_at(model, addr);
    // libstdc++ has a table of futexes for what is no futex itself: the address is not the object's.
    if name.is_symbol && name.text.contains("__waiter_pool_base") {
        name = Name::description(format!("{noun} with the futex at {addr:#x}"));
    } else if !name.is_symbol {
        name = Name::description(format!("{noun} at {addr:#x}"));
    }
    (info.name, info.class) = (name.clone(), name.clone());
    info.kind = Subject::Own(noun.to_owned());
    (name, info)
}

/// What a function keeps to itself that is not async-signal-safe.
fn internals(name: &'static str) -> (Name, LockInfo) {
    let info = LockInfo {
        name: Name::symbol(name),
        class: Name::symbol(name),
        class_by_place: None,
        kind: Subject::Internal,
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

fn set(involved: &mut InvolvedLocks, i: usize, (named, info): (Name, LockInfo)) {
    (involved.names[i], involved.infos[i]) = (named, info);
}
