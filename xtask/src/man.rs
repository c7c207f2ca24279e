//! `cargo xtask man`: a manual page for each subcommand, from the command line's definition and the
//! tables of `lockwright_cli::manual`.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use lockwright_cli::manual::{self, Manual};

/// Writes the manual pages.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = "target/man")]
    pub out: PathBuf,
}

/// Subcommands that users meet, with what their pages say beyond options. Empty: the whole program.
pub(crate) const MANUALS: &[(&str, &Manual)] = &[
    ("", &manual::LOCKWRIGHT),
    ("check", &manual::CHECK),
    ("meter", &manual::METER),
    ("run", &manual::RUN),
    ("report", &manual::REPORT),
    ("swap", &manual::SWAP),
    ("merge", &manual::MERGE),
    ("diff", &manual::DIFF),
    ("doctor", &manual::DOCTOR),
    ("demo", &manual::DEMO),
    ("bench", &manual::BENCH),
    ("torture", &manual::TORTURE),
    ("sim", &manual::SIM),
    ("tune", &manual::TUNE),
];

/// Writes them.
///
/// # Errors
/// When a file cannot be written, or a subcommand has no page.
pub fn run(args: &ManArgs) -> Result<(), String> {
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    for (name, page) in pages()? {
        let path = args.out.join(format!("{name}.1"));
        std::fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Name and text of every page.
pub(crate) fn pages() -> Result<Vec<(String, Vec<u8>)>, String> {
    let program = lockwright_cli::args::Cli::command().disable_help_subcommand(true);
    let without =
        |c: &&Command| !c.is_hide_set() && MANUALS.iter().all(|(name, _)| *name != c.get_name());
    if let Some(command) = program.get_subcommands().find(without) {
        return Err(format!(
            "`{}` has no manual: add it to the table of pages",
            command.get_name()
        ));
    }
    MANUALS.iter().map(|&(name, manual)| page(&program, name, manual)).collect()
}

fn page(program: &Command, name: &str, manual: &Manual) -> Result<(String, Vec<u8>), String> {
    let command = if name.is_empty() {
        program.clone()
    } else {
        let missing = || format!("no subcommand `{name}`: remove it from the table of pages");
        let command = program.find_subcommand(name).ok_or_else(missing)?;
        command.clone().bin_name(format!("lockwright {name}"))
    };
    let title =
        if name.is_empty() { "lockwright".to_owned() } else { format!("lockwright-{name}") };
    let man = Man::new(command.clone().display_name(&title))
        .title(title.to_uppercase())
        .section("1")
        .date("")
        .source(concat!("lockwright ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut out = Vec::new();
    let parts = [
        Man::render_title,
        Man::render_name_section,
        Man::render_synopsis_section,
        Man::render_description_section,
        Man::render_options_section,
    ];
    for part in parts {
        part(&man, &mut out).map_err(|e| e.to_string())?;
    }
    if name.is_empty() {
        man.render_subcommands_section(&mut out).map_err(|e| e.to_string())?;
    }
    out.extend(beyond_options(manual, name).to_roff().into_bytes());
    Ok((title, out))
}

/// The sections that the definition of the command line does not have.
fn beyond_options(manual: &Manual, name: &str) -> Roff {
    let mut roff = Roff::new();
    for (title, entries) in manual.sections() {
        roff.control("SH", [title]);
        for &(term, text) in entries {
            roff.control("TP", []);
            roff.text(vec![bold(term)]);
            roff.text(vec![roman(text)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    let others = MANUALS.iter().map(|(other, _)| *other).filter(|other| *other != name);
    let mut line: Vec<Inline> = Vec::new();
    for other in others {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        let page =
            if other.is_empty() { "lockwright".to_owned() } else { format!("lockwright-{other}") };
        line.extend([bold(page), roman("(1)")]);
    }
    line.extend([roman(", "), bold("pthreads"), roman("(7), "), bold("ld.so"), roman("(8)")]);
    roff.text(line);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_whole_page() {
        let pages = pages().unwrap();
        assert_eq!(pages.len(), MANUALS.len());
        for (name, text) in pages {
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
