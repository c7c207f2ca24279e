//! A process in which every thread waits for another, in words.

use lockwright_analysis::finding::order::asleep::Evidence;

use super::involved::{Involved, Lines, all};

/// The title of a process that hangs so.
pub fn title(involved: &Involved<'_>, threads: usize) -> String {
    match threads {
        1 => format!("the only thread waits for {}, and nothing can end that", involved.locks()),
        n => format!("{} threads of the process wait, and nothing can end that", all(n)),
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let line = match self {
            Self::WaitsForHolder { step, holder } if step == holder => format!(
                "{} waits for {}, which it holds itself",
                thread(*step),
                involved.waited_for(*step)
            ),
            Self::WaitsForHolder { step, holder } => format!(
                "{} waits for {}, held by {}",
                thread(*step),
                involved.waited_for(*step),
                thread(*holder)
            ),
            Self::WaitsForEnd { step, of } => {
                format!("{} waits for {} to end", thread(*step), thread(*of))
            }
            Self::WaitsForEnded { step, owner } if owner.number == 0 => format!(
                "{} waits for {}, held by thread {} that this process does not have",
                thread(*step),
                involved.waited_for(*step),
                owner.tid
            ),
            Self::WaitsForEnded { step, owner } => format!(
                "{} waits for {}, held by {owner}, which has ended",
                thread(*step),
                involved.waited_for(*step)
            ),
            Self::Alike { step, more: 1 } => {
                format!("1 more thread waits as {} does", thread(*step))
            }
            Self::Alike { step, more } => {
                format!("{more} more threads wait as {} does", thread(*step))
            }
            Self::LeftOut { places: 1 } => "one more place has such a wait".to_owned(),
            Self::LeftOut { places } => format!("{places} more places have such waits"),
            Self::NothingEndsThem => {
                "no wait has a timeout, and no handler of a signal or other process can \
                 end one"
                    .to_owned()
            }
        };
        vec![line]
    }
}

/// The remedy: no general one, but the question to ask.
pub fn find_the_waker() -> String {
    "find the wait that should have ended, and the thread that was to unlock, signal, post or end there: \
     it did not, or it did so before the wait began"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Fault, Remedy, asleep};

    use crate::prose::order::testing::told_of;

    #[test]
    fn who_waits_for_whom_is_told() {
        let evidence = vec![
            Evidence::Asleep(asleep::Evidence::WaitsForHolder { step: 0, holder: 1 }),
            Evidence::Asleep(asleep::Evidence::WaitsForEnd { step: 1, of: 0 }),
            Evidence::Asleep(asleep::Evidence::NothingEndsThem),
        ];
        let told = told_of(Fault::AllAsleep { threads: 2 }, evidence, vec![Remedy::FindTheWaker]);
        assert_eq!(told.title, "both threads of the process wait, and nothing can end that");
        assert_eq!(
            told.evidence[..2],
            ["thread 1 waits for `b`, held by thread 2", "thread 2 waits for thread 1 to end"]
        );
        assert!(told.help[0].starts_with("find the wait"), "{:?}", told.help);
    }
}
