//! `cargo xtask man`: a manual page for each subcommand of each program, from the command line's definition and the
//! program's tables.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use lockwright_console::manual::Manual;

use crate::programs::{PROGRAMS, Program};

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
    PROGRAMS.iter().flat_map(pages_of).collect()
}

fn pages_of(program: &Program) -> Vec<Result<(String, Vec<u8>), String>> {
    let definition = (program.definition)().disable_help_subcommand(true);
    let manuals = program.manuals;
    let without =
        |c: &&Command| !c.is_hide_set() && manuals.iter().all(|(name, _)| *name != c.get_name());
    let missing = definition.get_subcommands().filter(without).map(|command| {
        let name = command.get_name();
        Err(format!("`{} {name}` has no manual: add it to the table of programs", program.name))
    });
    let pages = manuals.iter().map(|&(name, manual)| page(program, &definition, name, manual));
    missing.chain(pages).collect()
}

fn page(
    program: &Program,
    definition: &Command,
    name: &str,
    manual: &Manual,
) -> Result<(String, Vec<u8>), String> {
    let command = if name.is_empty() {
        definition.clone()
    } else {
        let missing = || format!("no subcommand `{name}`: remove it from the table of programs");
        let command = definition.find_subcommand(name).ok_or_else(missing)?;
        command.clone().bin_name(format!("{} {name}", program.name))
    };
    let title = title(program, name);
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
    out.extend(beyond_options(manual, &title).to_roff().into_bytes());
    Ok((title, out))
}

/// The name of a subcommand's page.
fn title(program: &Program, name: &str) -> String {
    if name.is_empty() { program.name.to_owned() } else { format!("{}-{name}", program.name) }
}

/// The sections that the definition of the command line does not have.
fn beyond_options(manual: &Manual, page: &str) -> Roff {
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
    let titles = PROGRAMS
        .iter()
        .flat_map(|program| program.manuals.iter().map(move |(name, _)| title(program, name)));
    let mut line: Vec<Inline> = Vec::new();
    for other in titles.filter(|other| other != page) {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend([bold(other), roman("(1)")]);
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
        assert_eq!(
            pages.len(),
            PROGRAMS.iter().map(|program| program.manuals.len()).sum::<usize>()
        );
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
