//! `cargo xtask man`: a manual page for each subcommand of each program.

use std::path::PathBuf;

use clap::Args;
use lockwright_console::man::{self, Page};

use crate::programs::PROGRAMS;

/// Writes the manual pages.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = "target/man")]
    pub out: PathBuf,
}

/// Writes them.
///
/// # Errors
/// When a file cannot be written, or a subcommand has no page.
pub fn run(args: &ManArgs) -> Result<(), String> {
    for path in man::write(&args.out, &pages()?)? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Every page.
pub(crate) fn pages() -> Result<Vec<Page>, String> {
    man::pages(PROGRAMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_whole_page() {
        let pages = pages().unwrap();
        assert_eq!(
            pages.len(),
            PROGRAMS.iter().map(|program| program.manuals.len()).sum::<usize>()
        );
        for Page { name, text } in pages {
            let text = String::from_utf8(text).unwrap();
            for section in
                ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "EXAMPLES", "\"SEE ALSO\""]
            {
                assert!(
                    text.contains(&format!(".SH {section}")),
                    "{name} lacks {section}:\n{text}"
                );
            }
        }
    }
}
