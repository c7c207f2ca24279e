//! Locks that the handlers of signals take, in words.

use lockwright_analysis::finding::order::again::Again;
use lockwright_analysis::finding::order::handler::{Evidence, Fault, InHandler, Remedy};
use lockwright_analysis::signal;

use super::super::words::join;
use super::involved::{Involved, Lines, Title};

impl Title for Fault {
    fn title(&self, involved: &Involved<'_>) -> String {
        let lock = |lock| involved.lock(lock);
        match self {
            Self::TakenInHandler { signal } => {
                let signal = signal::name(*signal);
                format!("{} is taken in the handler of {signal}, and with {signal} open", lock(0))
            }
            Self::PairWithHandler { step, signal } => {
                let signal = signal::name(*signal);
                format!(
                    "{}, taken in the handler of {signal}, is held while {} is taken, which is held with {signal} open",
                    lock(step + 1),
                    lock(*step)
                )
            }
            Self::CycleWithHandlers { signals } => {
                let mut signals: Vec<String> = signals.iter().map(|&s| signal::name(s)).collect();
                signals.dedup();
                format!(
                    "{} are taken in a cycle that {} may close",
                    involved.locks(),
                    join(&signals)
                )
            }
        }
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let line = match self {
            Self::OpenAndTaken { step, signal } => {
                let signal = signal::name(*signal);
                format!(
                    "{} holds {} with {signal} open, and {signal}'s handler takes {}",
                    thread(*step),
                    lock(*step),
                    lock(step + 1)
                )
            }
            Self::TakenOpen { signal } => format!(
                "{} takes {} with {} open: the program handles it and does not block it there",
                thread(0),
                lock(0),
                signal::name(*signal)
            ),
            Self::TakenInHandler { signal, thread } => format!(
                "{}'s handler takes {}, in this run in {}",
                signal::name(*signal),
                lock(0),
                thread
            ),
            Self::InHandler(again) => in_handler(again),
            Self::AnyThreadRunsHandlers => {
                "a handler runs in any thread that does not block its signal".to_owned()
            }
        };
        vec![line]
    }
}

impl Lines for Remedy {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::BlockSignal { signal, lock } => format!(
                "block {} while {} is held (pthread_sigmask)",
                signal::name(*signal),
                involved.lock(*lock)
            ),
            Self::LessInHandler => {
                "or do in the handler only what is async-signal-safe: set a flag, or write to a pipe or \
                 eventfd; or take the signal in a thread of its own, with sigwait or signalfd"
                    .to_owned()
            }
        };
        vec![line]
    }
}

/// What becomes of a handler that reads what its thread reads.
const BEHIND_WRITERS: &str =
    "the handler then waits behind any writer that waits for its own thread";

/// The consequence of a handler that takes a lock its own thread may hold.
fn in_handler(what: &InHandler) -> String {
    let text = match what {
        InHandler::Again(Again::WriterBetween { writer: Some(writer) }) => {
            return format!("{BEHIND_WRITERS}, as {writer} may");
        }
        InHandler::Again(Again::WriterBetween { writer: None }) => BEHIND_WRITERS,
        InHandler::Again(Again::WriterKeptApart { writer }) => {
            return format!("{BEHIND_WRITERS}; a wake-up kept {writer} from that in this run");
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
        InHandler::OneThreadAlone => {
            "the handler took this lock in that thread alone: it may take another in each thread"
        }
        InHandler::TriedGate => {
            "the handler only comes to it with another lock, which it tries for and the holder has"
        }
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn the_signal_is_named() {
        let signal = 10;
        let told = told_of(
            order::Fault::Handler(Fault::TakenInHandler { signal }),
            vec![order::Evidence::Handler(Evidence::TakenOpen { signal })],
            vec![order::Remedy::Handler(Remedy::BlockSignal { signal, lock: 0 })],
        );
        assert_eq!(told.title, "`a` is taken in the handler of SIGUSR1, and with SIGUSR1 open");
        assert_eq!(
            told.evidence,
            [
                "thread 1 takes `a` with SIGUSR1 open: the program handles it and does not block it there"
            ]
        );
        assert_eq!(told.help, ["block SIGUSR1 while `a` is held (pthread_sigmask)"]);
    }
}
