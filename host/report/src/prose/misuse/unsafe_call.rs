//! A handler calls what is not async-signal-safe (inconsistent-state), in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::UnsafeCall;
use lockwright_analysis::signal;

use super::Names;
use crate::prose::Sentences;

impl Sentences for UnsafeCall {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        let signal = signal::name(self.signal);
        match self.may_interrupt {
            true => format!("{lock} is called in a handler of {signal}, which may interrupt it"),
            false => format!("{lock} is called in a handler of {signal}"),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        let signal = signal::name(self.signal);
        vec![
            format!("{who} ran the handler"),
            match self.may_interrupt {
                true => format!(
                    "it is not async-signal-safe, and in use outside of handlers with {signal} open, too"
                ),
                false => format!(
                    "it is not async-signal-safe, but this run did not use it outside of handlers with \
                     {signal} open"
                ),
            },
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec![
            "let the handler set a flag or write to a pipe, and do the work outside".into(),
            format!("or block {} around the uses outside", signal::name(self.signal)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn a_call_that_may_interrupt_itself_says_so() {
        let signal = 10;
        assert_told(
            &UnsafeCall { signal, may_interrupt: true }.into(),
            "`a` is called in a handler of SIGUSR1, which may interrupt it",
            &[
                "thread 1 ran the handler",
                "it is not async-signal-safe, and in use outside of handlers with SIGUSR1 open, too",
            ],
            &[
                "let the handler set a flag or write to a pipe, and do the work outside",
                "or block SIGUSR1 around the uses outside",
            ],
        );
    }
}
