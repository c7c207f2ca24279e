//! Faults in the order of locks, as a finding has them: cycles, locks taken
//! again by their holder, nesting within a class, and handlers that interrupt a holder.
//!
//! `step` and `steps` are indices into [`super::Finding::steps`], `lock` and its like into
//! [`super::Finding::locks`]. In a cycle step `i` holds lock `i` and takes lock `i + 1`, the last
//! one the first. A lock or thread that the finding does not list is named.

use super::{Name, ThreadInfo};

/// What is wrong with an order, why it is graded so, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFault {
    /// What was found.
    pub fault: Fault,
    /// What the grade rests on, in the order of the report.
    pub evidence: Vec<Evidence>,
    /// What to do about it, the best first.
    pub remedies: Vec<Remedy>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The locks are taken in a cycle.
    Cycle,
    /// So they are, but by several runs or processes together.
    CycleAcross(Apart),
    /// The threads of the steps wait for each other.
    Deadlock,
    /// A lock is taken again by the thread that holds it.
    TakenAgain,
    /// So it is, in the handler of a signal that interrupted its holder.
    TakenAgainInHandler {
        /// The signal.
        signal: u32,
    },
    /// The handler of a signal takes a lock that is held with that signal open.
    TakenInHandler {
        /// The signal.
        signal: u32,
    },
    /// A cycle of two, of which one order comes about by a handler.
    PairWithHandler {
        /// The step in the handler.
        step: usize,
        /// Its signal.
        signal: u32,
    },
    /// A cycle that handlers of these signals close.
    CycleWithHandlers {
        /// The signals, in the order of the steps.
        signals: Vec<u32>,
    },
    /// The other lock is held while a thread is joined that takes it.
    JoinedWithLockHeld {
        /// The end of the thread among the two.
        end: usize,
    },
    /// The other lock is kept at a barrier, and taken by a thread that must come there.
    KeptAtBarrier {
        /// The barrier among the two.
        barrier: usize,
        /// The step of that thread.
        step: usize,
    },
    /// The last of a chain of locks is kept at a barrier, and the first is taken by a thread that
    /// must come there.
    CycleAtBarrier {
        /// The barrier among the locks; the lock that is kept is the one before it, and the one that
        /// is taken the one behind.
        barrier: usize,
    },
    /// The locks are taken in a cycle that joins close.
    CycleWithJoins {
        /// The ends of the threads among the locks.
        ends: Vec<usize>,
    },
    /// The other lock is held while waiting for a completion, and by the thread that completes it.
    CompletedWithLockHeld {
        /// The completion among the two locks.
        completion: usize,
    },
    /// The other lock is taken inside a context, and held where that is entered.
    TakenInsideContext {
        /// The context among the two locks.
        context: usize,
    },
    /// Locks of one class, or of classes that one place takes, are nested in no fixed order.
    NoFixedOrder {
        /// The classes.
        classes: Vec<Name>,
    },
    /// The second lock is taken inside the first, and is declared to come before it.
    AgainstDeclaration,
}

/// What the steps of a cycle are in, each in one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Runs.
    Runs,
    /// Processes of one run.
    Processes,
}

/// What orders what two threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// The first creates the second.
    Creation,
    /// The second joins the first.
    Join,
    /// The first reaches a barrier that the second passes.
    Barrier,
    /// The first posts the semaphore that the second waits for.
    Post,
    /// The first releases a lock that it held when it ordered the second, which then acquires it.
    Release,
    /// The first runs the routine of a `pthread_once` that the second calls afterwards.
    Once,
}

/// The step from thread to thread that orders two others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// What it is.
    pub by: OrderedBy,
    /// The thread that comes first.
    pub from: ThreadInfo,
    /// The thread that comes after it.
    pub to: ThreadInfo,
}

/// What comes of taking a lock again that the thread holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is waited for, for ever.
    Blocks,
    /// The mutex checks for it: EDEADLK.
    ErrorCheck,
    /// It is held for writing: EDEADLK.
    HeldForWriting,
    /// The wait has a timeout.
    Timeout,
    /// Both read; a writer between the two blocks both.
    WriterBetween {
        /// A thread that writes it and may come there.
        writer: Option<ThreadInfo>,
    },
}

/// What comes of a handler's taking what its own thread may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InHandler {
    /// As of taking it again.
    Again(Again),
    /// It gets it, as the mutex is recursive, and finds half done what that protects.
    Recursive,
    /// It took another lock of the class in this run.
    OtherLock,
    /// It comes there only with another lock that it tries for, and that the holder has.
    TriedGate,
}

/// What a grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Lock classes only: this run did not take the same locks in these orders.
    ByClass,
    /// The same locks were taken in all steps, each by another thread.
    SameLocks,
    /// The thread that is joined took the very lock that is held meanwhile.
    TakenByJoined {
        /// Its end among the locks.
        end: usize,
    },
    /// The joiner has waited on a condition before, with a mutex that the joined thread takes.
    MayHaveHeard {
        /// Its end among the locks.
        end: usize,
    },
    /// The joined thread signals a condition once, soon before its end, and holds the joiner's lock
    /// then. The signal may announce its end.
    SignalsAtItsEnd {
        /// Its end among the locks.
        end: usize,
        /// Where it signals.
        place: Option<String>,
    },
    /// The function that joins took the lock in the same place at other times, and did not join: it may
    /// decide by what the lock guards.
    PassedWithoutJoin {
        /// Its end among the locks.
        end: usize,
        /// The function.
        function: String,
    },
    /// What the joined thread takes is a semaphore: a wait for that may be cancelled, or ended by a
    /// post of others.
    AwaitedSemaphore {
        /// Its end among the locks.
        end: usize,
    },
    /// The joined thread was asked to end (`pthread_cancel`).
    Cancelled {
        /// Its end among the locks.
        end: usize,
    },
    /// The orders were taken by several threads.
    TakenByThreads,
    /// None of these orders the steps.
    Unordered(Vec<OrderedBy>),
    /// No lock is held in two of the steps.
    NoGate,
    /// A step waits with a timeout.
    Timeout {
        /// That one.
        step: usize,
    },
    /// More threads took a step than were recorded.
    MoreThreads {
        /// That one.
        step: usize,
    },
    /// A step held more locks than were recorded.
    MoreLocksHeld {
        /// That one.
        step: usize,
    },
    /// The ledger changed each time that it was read: an order between the threads may be missing.
    OrderUnread,
    /// A step came after a bound of what orders threads.
    OrderUnrecorded {
        /// That one.
        step: usize,
    },
    /// Nobody is known for sure to be able to write a lock between its two readers.
    NoWriter {
        /// The lock.
        lock: usize,
    },
    /// Two steps hold a lock of one class, and which is not known.
    DoubtfulGate {
        /// Those two.
        steps: [usize; 2],
        /// The class.
        class: Name,
    },
    /// Two steps hold one lock.
    Gate {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
    },
    /// One of two steps needs a lock that a third thread holds from before to after the other.
    Enclosed {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
        /// The holder.
        holder: ThreadInfo,
    },
    /// One of two steps needs a lock that another thread took before, and the other step is over
    /// before that thread releases it.
    OverBefore {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        lock: Name,
        /// That thread.
        holder: ThreadInfo,
    },
    /// To be where it is, each of two steps must have taken its lock before the other took its own.
    EachBefore {
        /// Those two.
        steps: [usize; 2],
        /// What they hold.
        locks: [Name; 2],
    },
    /// What a step holds was new, so that nobody else knew it.
    New {
        /// That step.
        step: usize,
        /// What it holds.
        lock: Name,
    },
    /// One step happens before another.
    Ordered {
        /// The early and the late one.
        steps: [usize; 2],
        /// By what.
        by: Option<Crossing>,
    },
    /// One thread took several steps.
    OneThread {
        /// One of these.
        step: usize,
        /// How many.
        steps: usize,
    },
    /// Readers block each other through a writer that waits between them.
    ReadersMeet,
    /// There were more combinations of threads than could be looked at.
    SearchCut,
    /// The thread that completes a completion counts as holding it.
    CompleterHolds {
        /// The completion.
        completion: usize,
    },
    /// Something else may complete it.
    CompletedOtherwise {
        /// The completion.
        completion: usize,
    },
    /// What runs as a library is loaded or unloaded does so with the loader's lock held.
    HeldWhileLoading,
    /// A caller of `pthread_once` waits as long as another thread runs the routine.
    HeldWhileInitialising {
        /// The control among the locks.
        once: usize,
    },
    /// The callback of `dl_iterate_phdr` runs with the lock of the loader's list held.
    HeldInCallback,
    /// A thread that enters a context with the other lock held and takes it there waits for itself.
    ContextEntered {
        /// The context among the two locks.
        context: usize,
    },
    /// These are semaphores that count as locks.
    Semaphores {
        /// Which of the locks.
        locks: Vec<usize>,
    },
    /// A step holds its lock with a signal open whose handler takes the next.
    OpenAndTaken {
        /// The step.
        step: usize,
        /// The signal.
        signal: u32,
    },
    /// The first step takes the lock with a signal open.
    TakenOpen {
        /// The signal.
        signal: u32,
    },
    /// A signal's handler took the lock.
    TakenInHandler {
        /// The signal.
        signal: u32,
        /// In this thread.
        thread: ThreadInfo,
    },
    /// What comes of the handler's taking it.
    InHandler(InHandler),
    /// A handler runs in any thread that does not block its signal.
    AnyThreadRunsHandlers,
    /// What comes of the second acquisition.
    Again(Again),
    /// The thread of the step took the lock behind the barrier in the cycle, and then came there.
    TakenBeforeBarrier {
        /// Which.
        step: usize,
    },
    /// More threads come to the barrier than it is for, so another may come.
    OthersCome {
        /// The barrier among the locks.
        barrier: usize,
    },
    /// The thread of the step waits at a barrier, to which that of the next cannot come.
    WaitsAtBarrier {
        /// Which.
        step: usize,
    },
    /// A step waits for the thread of the next to end.
    WaitsForEnd {
        /// The step.
        step: usize,
    },
    /// A step waits to read its lock behind that of the next, which waits to write it.
    WaitsBehindWriter {
        /// The step.
        step: usize,
    },
    /// A step waits for its lock, which the thread of the next holds.
    WaitsForHolder {
        /// The step.
        step: usize,
    },
    /// The thread waits for a lock that it holds itself.
    WaitsForItself,
    /// It is in a handler, which interrupted the holder.
    HolderInterrupted {
        /// The signal.
        signal: u32,
    },
    /// The program declares an order.
    Declared {
        /// The class that comes before.
        before: String,
        /// The class that comes after.
        after: String,
        /// Where it declares that.
        place: Option<String>,
    },
    /// Distinct pairs of locks that were nested, by the order of their addresses.
    Pairs {
        /// The outer has the lower address.
        ascending: usize,
        /// It has the higher one.
        descending: usize,
    },
    /// No pair was taken both ways, but that proves nothing.
    NoPairBothWays,
    /// Pairs were taken both ways, and one lock of each was only read.
    PairsBothWaysRead,
    /// No process alone took all orders.
    NoProcessAlone,
    /// A step, as the process of its origin has it.
    TakenInProcess {
        /// The step.
        step: usize,
        /// What the lock that it took is called there.
        acquired: Name,
    },
    /// Each lock is one variable.
    Variables,
    /// Locks and threads of different processes cannot be compared.
    NotComparable,
    /// The processes of two steps hold a lock, of which each process has but one.
    GateOfAProcess {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
    },
    /// What a step holds was new in its process.
    NewInProcess {
        /// That step.
        step: usize,
    },
    /// What the user calls the runs.
    Runs(Vec<(usize, String)>),
    /// There were more combinations of places than could be looked at.
    PlacesCut,
    /// The runs are of different builds, and variables are matched by their names.
    DifferentBuilds,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Take one lock before the other, or release the other first.
    TakeBefore {
        /// The one.
        first: Name,
        /// The other.
        second: Name,
        /// Where they are taken the other way.
        place: Option<String>,
    },
    /// One place takes them all: let it take them in an order of their own.
    OrderOfTheirOwn {
        /// That place.
        place: String,
    },
    /// Hold one further lock around all steps.
    FurtherLock,
    /// std::scoped_lock.
    ScopedLock,
    /// Nothing, while every step holds this.
    KeepGate(Name),
    /// Nothing, while this is held around the other step.
    KeepEnclosing(Name),
    /// Nothing, while nobody learns of this lock before it is first released.
    KeepNew(Name),
    /// Nothing, while the threads stay ordered.
    KeepOrdered,
    /// Nothing, while one thread does it.
    KeepSingleThread,
    /// Release the lock before joining the thread, or have the thread do without it.
    JoinWithoutLock {
        /// The end of the thread among the locks; the lock is the one before it.
        end: usize,
    },
    /// Come to the barrier without the lock, or take it after the barrier.
    MeetWithoutLock {
        /// The barrier among the locks; what is kept is the one before it, and what is taken the one
        /// behind.
        barrier: usize,
        /// The step that takes the lock.
        step: usize,
    },
    /// Call `pthread_once` without the lock held that its routine takes, or do not take it there.
    InitialiseWithoutLock {
        /// The control among the locks; the lock that is held is the one before it.
        once: usize,
    },
    /// Join a thread after the routine of `pthread_once` rather than in it, or call without the lock
    /// held that the thread needs.
    JoinAfterRoutine {
        /// The control among the locks; the thread's end is the one behind it, and the lock that is
        /// held the one before it.
        once: usize,
    },
    /// Load and unload nothing with the lock held that is taken while loading, or do not take it
    /// then.
    LoadWithoutLock {
        /// The loader's lock among the locks.
        loader: usize,
    },
    /// Call `dl_iterate_phdr` without the lock held that is taken in its callback, or do not take it
    /// there.
    ListWithoutLock {
        /// The lock of the loader's list among the locks.
        list: usize,
    },
    /// Join the thread outside of what runs while loading, or have the thread load nothing.
    JoinOutsideLoader {
        /// The end of the thread among the locks.
        end: usize,
    },
    /// Release the other lock before waiting for the completion, or complete it without that.
    WaitWithoutLock {
        /// The completion among the two locks.
        completion: usize,
    },
    /// Release the other lock before entering the context, or do not take it there.
    EnterWithoutLock {
        /// The context among the two locks.
        context: usize,
    },
    /// Block a signal while a lock is held.
    BlockSignal {
        /// The signal.
        signal: u32,
        /// The lock.
        lock: usize,
    },
    /// Do less in the handler.
    LessInHandler,
    /// One order in every thread, or a release before each wait.
    OneOrder,
    /// Do not call `pthread_once` for a control in its own routine.
    KeepOutOfRoutine,
    /// Do not have routines of `pthread_once` wait for each other.
    KeepRoutinesApart,
    /// Split the function that takes a lock again, or make the lock recursive.
    SplitFunction,
    /// Whichever order, but always the same.
    FixedOrder,
    /// Correct the declaration.
    CorrectDeclaration,
    /// See to it that no process does all of it.
    KeepApart,
}
