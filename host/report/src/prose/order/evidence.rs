//! Sentences about the evidence for a grade of an order of locks.

use lockwright_analysis::finding::lock_kind::Subject;
use lockwright_analysis::finding::order::{Again, Crossing, Evidence, InHandler, OrderedBy};
use lockwright_analysis::finding::{LockInfo, Name};
use lockwright_analysis::signal;
use lockwright_analysis::symbolize::portable::readable;

use super::super::words::{self, quote};
use super::{Involved, all, number};

/// The lines of one piece of evidence.
pub fn lines(involved: &Involved<'_>, evidence: &Evidence) -> Vec<String> {
    let thread = |step| involved.thread(step);
    let lock = |lock| involved.lock(lock);
    let n = involved.steps();
    let line = match evidence {
        Evidence::ByClass => {
            "judged by lock class: this run did not take the same locks in these orders".to_owned()
        }
        Evidence::SameLocks if involved.finding.locks.iter().any(is_thread) => {
            format!("the same locks, and the same threads joined, by {}", involved.threads())
        }
        Evidence::SameLocks => {
            format!("the same {} locks, taken by {}", number(n), involved.threads())
        }
        Evidence::TakenByJoined { end } => format!(
            "{}, which {} waits for, took the very lock that this holds",
            thread(*end),
            thread(end + 1)
        ),
        Evidence::MayHaveHeard { end } => {
            let (joined, joiner) = (thread(*end), thread(end + n - 1));
            return vec![
                format!("{joiner} has waited on a condition before, with a mutex that {joined} takes"),
                format!("if that tells it that {joined} is past what it needs, this is no fault"),
            ];
        }
        Evidence::SignalsAtItsEnd { end, place } => {
            let (joined, joiner, lock) = (thread(*end), thread(end + n - 1), lock(end + n - 1));
            let at = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            return vec![
                format!("{joined} signals a condition with {lock} held{at}, and ends soon after"),
                format!("if {joiner} knows by that that it is past what it needs, this is no fault"),
            ];
        }
        Evidence::PassedWithoutJoin { end, function } => {
            let (joined, joiner, lock) = (thread(*end), thread(end + n - 1), lock(end + n - 1));
            let function = format!("`{}`", readable(function));
            return vec![
                format!("{function} took {lock} in the same place at other times, without a join"),
                format!("if what {lock} guards tells it that {joined} is past it, this is no fault"),
                format!("as where {joiner} is the last of several users that it counts"),
            ];
        }
        Evidence::AwaitedSemaphore { end } => {
            let lock = lock(end + 1);
            return vec![
                format!("{lock} is a semaphore: the wait of {} may be cancelled", thread(*end)),
                format!("or another thread may post {lock} meanwhile"),
            ];
        }
        Evidence::Cancelled { end } => {
            let joined = thread(*end);
            return vec![
                format!("{joined} was cancelled: if it ends before it comes to the lock, this is no fault"),
                format!("to wait for a lock is no cancellation point: {joined} may come to it first"),
            ];
        }
        Evidence::TakenByThreads => format!("the orders were taken by {}", involved.threads()),
        Evidence::Unordered(_) => {
            format!("the {} paths can run at the same time", number(n))
        }
        Evidence::NoGate if n == 2 => "no common lock protects both paths".to_owned(),
        Evidence::NoGate => "no common lock protects two of the paths".to_owned(),
        Evidence::Timeout { step } => {
            format!("{} can back out: it waits with a timeout", thread(*step))
        }
        Evidence::MoreThreads { step } => format!(
            "more threads took {} with {} held than were recorded",
            lock(step + 1),
            lock(*step)
        ),
        Evidence::MoreLocksHeld { step } => {
            format!("{} held more locks than were recorded: one of them may guard", thread(*step))
        }
        Evidence::OrderUnread => {
            "the ledger changed each time that it was read: something may order the threads".to_owned()
        }
        Evidence::OrderUnrecorded { step } => format!(
            "{} came after a bound of the ledger: something unrecorded may order the threads",
            thread(*step)
        ),
        Evidence::NoWriter { lock: of } => format!(
            "no recorded thread is sure to be able to write {} meanwhile",
            lock(*of)
        ),
        Evidence::DoubtfulGate { steps: [a, b], class } => format!(
            "{} and {} both hold a lock of the class of {}, which may be the same",
            thread(*a),
            thread(*b),
            quote(class)
        ),
        Evidence::Gate { steps: [a, b], gate } => {
            return vec![
                format!("{} and {} both hold {}", thread(*a), thread(*b), quote(gate)),
                "the recorded paths never come without such a common lock".to_owned(),
            ];
        }
        Evidence::Enclosed { steps: [a, b], gate, holder } => {
            let gate = quote(gate);
            return vec![
                format!("{} and {} never meet: one needs {gate}", thread(*a), thread(*b)),
                format!("the other begins and ends while {holder} holds it"),
            ];
        }
        Evidence::OverBefore { steps: [a, b], lock, holder } => {
            let (a, b, lock) = (thread(*a), thread(*b), quote(lock));
            return vec![
                format!("{a} and {b} never meet: {a} needs {lock}, which {holder} takes before"),
                format!("and {b} is done before {holder} releases it"),
            ];
        }
        Evidence::EachBefore { steps: [a, b], locks } => {
            let [first, second] = [&locks[0], &locks[1]].map(quote);
            let (a, b) = (thread(*a), thread(*b));
            return vec![
                format!("{a} and {b} never meet: {a} has to take {first} before {b} takes {second}"),
                format!("and {b} has to take {second} before {a} takes {first}"),
            ];
        }
        Evidence::New { step, lock } => {
            let (lock, maker) = (quote(lock), thread(*step));
            return vec![
                format!("{lock} was new: never released since its creation by {maker}"),
                format!("{maker} had released nothing since, so nobody else could know it"),
            ];
        }
        Evidence::Ordered { steps: [early, late], by } => format!(
            "{} is done before {} begins{}",
            thread(*early),
            thread(*late),
            by.as_ref().map(crossing).unwrap_or_default()
        ),
        Evidence::OneThread { step, steps } if *steps == n => {
            format!("only {} took {} orders", thread(*step), all(n))
        }
        Evidence::OneThread { step, steps } => format!(
            "{} took {steps} of the {n} steps, a deadlock needs {n} threads",
            thread(*step)
        ),
        Evidence::ReadersMeet => {
            "readers block each other here through a writer that waits between them".to_owned()
        }
        Evidence::SearchCut => "too many combinations of threads to look at all of them".to_owned(),
        Evidence::CompleterHolds { completion } => {
            format!("whoever completes {} counts as holding it", lock(*completion))
        }
        Evidence::CompletedOtherwise { completion } => {
            format!("something else may complete {} at times", lock(*completion))
        }
        Evidence::HeldWhileLoading => {
            "constructors and destructors of libraries run with the loader's lock held".to_owned()
        }
        Evidence::HeldWhileInitialising { once } => format!(
            "a thread that calls pthread_once waits while another runs the routine of {}",
            lock(*once)
        ),
        Evidence::HeldInCallback => {
            "the callback of dl_iterate_phdr runs with the loader's list of objects locked".to_owned()
        }
        Evidence::ContextEntered { context } => format!(
            "a thread that enters {} with {} held and takes it in there waits for itself",
            lock(*context),
            lock(context + 1)
        ),
        Evidence::Semaphores { locks } => semaphores(involved, locks),
        Evidence::OpenAndTaken { step, signal } => {
            let signal = signal::name(*signal);
            format!(
                "{} holds {} with {signal} open, and {signal}'s handler takes {}",
                thread(*step),
                lock(*step),
                lock(step + 1)
            )
        }
        Evidence::TakenOpen { signal } => format!(
            "{} takes {} with {} open: the program handles it and does not block it there",
            thread(0),
            lock(0),
            signal::name(*signal)
        ),
        Evidence::TakenInHandler { signal, thread } => format!(
            "{}'s handler takes {}, in this run in {}",
            signal::name(*signal),
            lock(0),
            thread
        ),
        Evidence::InHandler(again) => in_handler(again),
        Evidence::AnyThreadRunsHandlers => {
            "a handler runs in any thread that does not block its signal".to_owned()
        }
        Evidence::Again(what) => again(what),
        Evidence::WaitsForEnd { step } => {
            format!("{} waits for {} to end", thread(*step), thread(step + 1))
        }
        Evidence::TakenBeforeBarrier { step } if involved.steps() == 2 => format!(
            "if {} comes to {} while {} is at {}, neither goes on",
            thread(*step),
            lock(step + 1),
            thread(step + 1),
            lock(*step)
        ),
        Evidence::TakenBeforeBarrier { step } => format!(
            "{} waits at {} for {}, which takes {} before it comes there",
            thread(step + involved.steps() - 1),
            lock(*step),
            thread(*step),
            lock(step + 1)
        ),
        Evidence::OthersCome { barrier } => format!(
            "more threads come to {} than it is for: another may come in its place",
            lock(*barrier)
        ),
        Evidence::WaitsAtBarrier { step } => format!(
            "{} waits at {} for others, of which {} never comes",
            thread(*step),
            involved.waited_for(*step),
            thread(step + 1)
        ),
        Evidence::WaitsBehindWriter { step } => format!(
            "{} waits to read {} behind {}, which waits to write it",
            thread(*step),
            involved.waited_for(*step),
            thread(step + 1)
        ),
        Evidence::WaitsForHolder { step } => {
            format!("{} waits for {}, held by {}", thread(*step), involved.waited_for(*step), thread(step + 1))
        }
        Evidence::WaitsForItself => {
            format!("{} waits for {}, which it holds itself", thread(0), lock(0))
        }
        Evidence::HolderInterrupted { signal } => format!(
            "it runs the handler of {}, which interrupted the holder",
            signal::name(*signal)
        ),
        Evidence::Declared { before, after, place } => {
            let at = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
            format!("declared order `{before}` < `{after}`{at}")
        }
        Evidence::Pairs { ascending, descending } => format!(
            "of {} nested pairs, {ascending} ascend in address and {descending} descend",
            ascending + descending
        ),
        Evidence::NoPairBothWays => {
            "no pair was taken both ways in this run, but nothing keeps it from that".to_owned()
        }
        Evidence::PairsBothWaysRead => {
            "the pairs taken both ways do not deadlock: one of the two is only read, for which these readers \
             do not wait"
                .to_owned()
        }
        Evidence::NoProcessAlone => format!("no process alone took {} orders", all(n)),
        Evidence::TakenInProcess { step, acquired } => format!(
            "{}: {} took {}, then {}",
            involved.origin(*step),
            thread(*step),
            lock(*step),
            quote(acquired)
        ),
        Evidence::Variables => {
            "each of these is one variable: a process that did all of this, in several threads at once, would deadlock"
                .to_owned()
        }
        Evidence::NotComparable => {
            "locks and threads of different processes cannot be compared: judged by lock class"
                .to_owned()
        }
        Evidence::GateOfAProcess { steps: [a, b], gate } => format!(
            "{} and {} both hold {}, of which each process has but one",
            involved.origin(*a),
            involved.origin(*b),
            quote(gate)
        ),
        Evidence::NewInProcess { step } => format!(
            "{} was new in {}: nobody else could know it",
            lock(*step),
            involved.origin(*step)
        ),
        Evidence::Runs(runs) => {
            let runs: Vec<String> =
                runs.iter().map(|(run, name)| format!("run {run} is {name}")).collect();
            runs.join(", ")
        }
        Evidence::PlacesCut => "too many combinations of places to look at all of them".to_owned(),
        Evidence::DifferentBuilds => {
            "the runs are of different builds: variables are matched by their names".to_owned()
        }
    };
    vec![line]
}

fn is_thread(lock: &LockInfo) -> bool {
    lock.kind == Subject::Thread
}

/// "thread creation, join or barrier".
fn crossing(crossing: &Crossing) -> String {
    let Crossing { by, from, to } = crossing;
    match by {
        OrderedBy::Creation => format!(": {from} creates {to}"),
        OrderedBy::Join => format!(": {from} is joined by {to}"),
        OrderedBy::Barrier => format!(": {to} passes a barrier after {from} has reached it"),
        OrderedBy::Post => format!(": {to} waits for a semaphore that {from} posts"),
        OrderedBy::Once => {
            format!(": {to} calls pthread_once after {from} has run its routine")
        }
        OrderedBy::Release => {
            format!(": {to} takes a lock after {from}, which held it before that")
        }
    }
}

/// Why semaphores count as locks.
fn semaphores(involved: &Involved<'_>, which: &[usize]) -> String {
    let (what, they) = match which {
        [one] => (format!("{} counts as a lock", involved.lock(*one)), "it begins"),
        all if all.len() == involved.finding.locks.len() => {
            ("the semaphores count as locks".to_owned(), "they begin")
        }
        some => {
            let names: Vec<Name> =
                some.iter().filter_map(|&lock| involved.name(lock)).cloned().collect();
            (format!("{} count as locks", words::locks(&names)), "they begin")
        }
    };
    format!("{what}: {they} at 1, and nobody else has posted what a thread had taken")
}

/// The consequence of a second acquisition.
fn again(again: &Again) -> String {
    match again {
        Again::Blocks => "the second acquisition waits for the first".to_owned(),
        Again::ErrorCheck => "the mutex checks for this: the call fails with EDEADLK".to_owned(),
        Again::HeldForWriting => "it is held for writing: the call fails with EDEADLK".to_owned(),
        Again::Timeout => "it waits with a timeout, so it can back out".to_owned(),
        Again::WriterBetween { writer: Some(writer) } => {
            format!("a writer that comes between the two readings, as {} does, blocks both", writer)
        }
        Again::WriterBetween { writer: None } => {
            "a writer that comes between the two readings blocks both".to_owned()
        }
    }
}

/// The consequence of a handler that takes a lock its own thread may hold.
fn in_handler(what: &InHandler) -> String {
    let text = match what {
        InHandler::Again(Again::WriterBetween { writer }) => {
            let why = "the handler then waits behind any writer that waits for its own thread";
            return match writer {
                Some(writer) => format!("{why}, as {} may", writer),
                None => why.to_owned(),
            };
        }
        InHandler::Again(Again::Blocks) => "the handler then waits for its own thread, for ever",
        InHandler::Again(Again::ErrorCheck) => {
            "the mutex checks for this: the call fails with EDEADLK"
        }
        InHandler::Again(Again::HeldForWriting) => {
            "it is held for writing: the handler's call fails with EDEADLK"
        }
        InHandler::Again(Again::Timeout) => "the handler waits with a timeout, so it can back out",
        InHandler::Recursive => {
            "the mutex is recursive, so the handler gets it, and finds half done what it protects"
        }
        InHandler::OtherLock => {
            "judged by lock class: this run did not show that the handler takes the very lock \
             that is held"
        }
        InHandler::TriedGate => {
            "the handler only comes to it with another lock, which it tries for and the holder has"
        }
    };
    text.to_owned()
}
