//! Sentences about the remedy for an order of locks.

use lockwright_analysis::finding::order::Remedy;
use lockwright_analysis::signal;

use super::super::words::quote;
use super::{Involved, all};

/// The lines of one remedy.
pub fn lines(involved: &Involved<'_>, remedy: &Remedy) -> Vec<String> {
    let line = match remedy {
        Remedy::TakeBefore { first, second, place } => {
            let (first, second) = (quote(first), quote(second));
            let at = place.as_ref().map(|place| format!("at {place}, ")).unwrap_or_default();
            format!("{at}take {first} before {second}, or release {second} first")
        }
        Remedy::OrderOfTheirOwn { place } => format!(
            "at {place}, take the locks in an order of their own: by address, or by a number that each has"
        ),
        Remedy::FurtherLock => {
            format!("or hold one further lock around {}", all(involved.steps()))
        }
        Remedy::ScopedLock => {
            "or take them together with std::scoped_lock, which orders them".to_owned()
        }
        Remedy::KeepGate(gate) => format!(
            "harmless while every path holds {}; one order would not need it",
            quote(gate)
        ),
        Remedy::KeepEnclosing(gate) => format!(
            "harmless while {} is held around the other; one order would not need it",
            quote(gate)
        ),
        Remedy::KeepNew(lock) => format!(
            "harmless while nobody else learns of {} before it is first released",
            quote(lock)
        ),
        Remedy::KeepOrdered => "harmless while the threads stay ordered so".to_owned(),
        Remedy::KeepSingleThread => {
            "harmless while no second thread does the same at the same time".to_owned()
        }
        Remedy::JoinWithoutLock { end } => {
            let lock = involved.lock(end + involved.steps() - 1);
            let joined = involved.thread(*end);
            return vec![
                format!("release {lock} before joining {joined}"),
                format!("or let {joined} end without taking {lock}"),
            ];
        }
        Remedy::MeetWithoutLock { barrier, step } => {
            let (taken, at) = (involved.lock(barrier + 1), involved.lock(*barrier));
            let kept = involved.lock(barrier + involved.steps() - 1);
            let thread = involved.thread(*step);
            return vec![
                format!("release {kept} before waiting at {at}"),
                format!("or let {thread} take {taken} after {at}"),
            ];
        }
        Remedy::InitialiseWithoutLock { once } => {
            let (held, taken) =
                (involved.lock(once + involved.steps() - 1), involved.lock(once + 1));
            return vec![
                format!("release {held} before calling pthread_once"),
                format!("or do not take {taken} in the routine"),
            ];
        }
        Remedy::JoinAfterRoutine { once } => {
            let held = involved.lock(once + involved.steps() - 1);
            let joined = involved.thread(once + 1);
            return vec![
                format!("join {joined} after the routine, not in it"),
                format!("or release {held} before calling pthread_once"),
            ];
        }
        Remedy::LoadWithoutLock { loader } => {
            let (held, taken) =
                (involved.lock(loader + involved.steps() - 1), involved.lock(loader + 1));
            return vec![
                format!("release {held} before calling dlopen or dlclose"),
                format!("or do not take {taken} in constructors and destructors of libraries"),
            ];
        }
        Remedy::ListWithoutLock { list } => {
            let (held, taken) =
                (involved.lock(list + involved.steps() - 1), involved.lock(list + 1));
            return vec![
                format!("release {held} before calling dl_iterate_phdr"),
                format!("or do not take {taken} in the callback of dl_iterate_phdr"),
            ];
        }
        Remedy::JoinOutsideLoader { end } => {
            let joined = involved.thread(*end);
            return vec![
                format!("do not join {joined} in a constructor or destructor of a library"),
                format!("or let {joined} end without calling dlopen or dlclose"),
            ];
        }
        Remedy::WaitWithoutLock { completion } => {
            let (name, lock) = (involved.lock(*completion), involved.lock(completion + 1));
            return vec![
                format!("release {lock} before waiting for {name}"),
                format!("or complete {name} without {lock}"),
            ];
        }
        Remedy::EnterWithoutLock { context } => {
            let (name, lock) = (involved.lock(*context), involved.lock(context + 1));
            return vec![
                format!("release {lock} before entering {name}"),
                format!("or do not take {lock} inside {name}"),
            ];
        }
        Remedy::BlockSignal { signal, lock } => format!(
            "block {} while {} is held (pthread_sigmask)",
            signal::name(*signal),
            involved.lock(*lock)
        ),
        Remedy::LessInHandler => {
            "or do in the handler only what is async-signal-safe: set a flag, or write to a pipe or \
             eventfd; or take the signal in a thread of its own, with sigwait or signalfd"
                .to_owned()
        }
        Remedy::OneOrder => {
            "let every thread take these locks in one order, or release the one before it waits \
             for the next"
                .to_owned()
        }
        Remedy::KeepOutOfRoutine => {
            return vec![
                format!("do not call pthread_once for {} in its own routine", involved.lock(0)),
                "what the routine itself needs, let it initialise first and use directly".into(),
            ];
        }
        Remedy::KeepRoutinesApart => {
            return vec![
                "let one of the routines do without what the other initialises".into(),
                "or initialise both in one routine".into(),
            ];
        }
        Remedy::SplitFunction => {
            return vec![
                "split the function that takes it again: an inner part that expects the lock held, and an \
                 outer one that takes it"
                    .to_owned(),
                "or make it a recursive mutex, if what it protects is consistent at the inner call"
                    .to_owned(),
            ];
        }
        Remedy::FixedOrder => {
            "take the one with the lower address first, or whichever order suits, but always it"
                .to_owned()
        }
        Remedy::CorrectDeclaration => "or correct the declaration".to_owned(),
        Remedy::KeepApart => "or make sure that no process ever does all of this".to_owned(),
    };
    vec![line]
}
