//! A deadlock that threads are in, in words.

use lockwright_analysis::finding::order::deadlock::Evidence;
use lockwright_analysis::signal;

use super::involved::{Involved, Lines};

/// The title of a deadlock.
pub fn title(involved: &Involved<'_>) -> String {
    let locks = involved.distinct_locks();
    match involved.steps() {
        1 => format!("a thread waits for {locks} that cannot come"),
        2 => format!("two threads wait for each other: {locks}"),
        n => format!("{n} threads wait for each other in a cycle: {locks}"),
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let line = match self {
            Self::WaitsForEnd { step } => {
                format!("{} waits for {} to end", thread(*step), thread(step + 1))
            }
            Self::WaitsAtBarrier { step } => format!(
                "{} waits at {} for others, of which {} never comes",
                thread(*step),
                involved.waited_for(*step),
                thread(step + 1)
            ),
            Self::WaitsBehindWriter { step } => format!(
                "{} waits to read {} behind {}, which waits to write it",
                thread(*step),
                involved.waited_for(*step),
                thread(step + 1)
            ),
            Self::WaitsForHolder { step } => {
                format!(
                    "{} waits for {}, held by {}",
                    thread(*step),
                    involved.waited_for(*step),
                    thread(step + 1)
                )
            }
            Self::WaitsForItself => {
                format!("{} waits for {}, which it holds itself", thread(0), lock(0))
            }
            Self::HolderInterrupted { signal } => format!(
                "it runs the handler of {}, which interrupted the holder",
                signal::name(*signal)
            ),
        };
        vec![line]
    }
}

/// The remedy for a deadlock.
pub fn one_order() -> String {
    "let every thread take these locks in one order, or release the one before it waits \
     for the next"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Fault, Remedy, deadlock};

    use crate::prose::order::testing::told_of;

    #[test]
    fn each_waits_for_the_other() {
        let waits = |step| Evidence::Deadlock(deadlock::Evidence::WaitsForHolder { step });
        let told = told_of(Fault::Deadlock, vec![waits(0), waits(1)], vec![Remedy::OneOrder]);
        assert_eq!(told.title, "two threads wait for each other: `a` and `b`");
        assert_eq!(
            told.evidence,
            [
                "thread 1 waits for `b`, held by thread 2",
                "thread 2 waits for `a`, held by thread 1",
            ]
        );
        assert_eq!(
            told.help,
            ["let every thread take these locks in one order, or release the one before it waits \
              for the next"]
        );
    }
}
