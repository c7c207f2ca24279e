//! What the user probably meant by a command line that is wrong.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds it to the parser's error.
pub fn add(error: &mut clap::Error) {
    let Some(tip) = tip(error) else { return };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

fn tip(error: &clap::Error) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => {
            // The parser has found a subcommand of a similar name.
            let is_mistyped = error.get(ContextKind::SuggestedSubcommand).is_some();
            (!is_mistyped).then(|| {
                format!(
                    "to check the locks of a program, write `lockwright check -- {word}`; to measure them, \
                     `lockwright meter -- {word}`"
                )
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    fn said(words: &[&str]) -> String {
        let mut error = Cli::try_parse_from(["lockwright"].iter().chain(words)).unwrap_err();
        add(&mut error);
        error.to_string()
    }

    #[test]
    fn a_program_without_a_subcommand_is_checked_or_measured() {
        let text = said(&["./prog", "--port", "80"]);
        assert!(text.contains("`lockwright check -- ./prog`"), "{text}");
        assert!(!said(&["chekc", "./prog"]).contains("lockwright check -- chekc"), "mistyped");
    }
}
