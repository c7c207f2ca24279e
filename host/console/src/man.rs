//! Manual pages: one for each subcommand of a program, from the command line's definition and the program's manuals.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use crate::manual::Manual;

/// A program that users run.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its command line.
    pub definition: fn() -> Command,
    /// Subcommands that users meet, with what their pages say beyond options. Empty: the whole program.
    pub manuals: &'static [(&'static str, &'static Manual)],
}

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its name, without the section.
    pub name: String,
    /// Its text, in roff.
    pub text: Vec<u8>,
}

impl Page {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.1", self.name)
    }
}

/// Writes `pages` to the directory `dir`, which is made if it is not there. The paths of the files.
///
/// # Errors
/// If one cannot be written: which, and why.
pub fn write(dir: &Path, pages: &[Page]) -> Result<Vec<PathBuf>, String> {
    let failed = |path: &Path, error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let write = |page: &Page| {
        let path = dir.join(page.file_name());
        fs::write(&path, &page.text).map_err(|error| failed(&path, error))?;
        Ok(path)
    };
    pages.iter().map(write).collect()
}

/// All pages of `programs`, each of which refers to all others.
///
/// # Errors
/// If a subcommand has no manual, or a manual no subcommand.
pub fn pages(programs: &[Program]) -> Result<Vec<Page>, String> {
    programs.iter().flat_map(|program| pages_of(program, programs)).collect()
}

fn pages_of(program: &Program, all: &[Program]) -> Vec<Result<Page, String>> {
    let definition = (program.definition)().disable_help_subcommand(true);
    let manuals = program.manuals;
    let without =
        |c: &&Command| !c.is_hide_set() && manuals.iter().all(|(name, _)| *name != c.get_name());
    let missing = definition.get_subcommands().filter(without).map(|command| {
        let name = command.get_name();
        Err(format!("`{} {name}` has no manual: add it to the program's table", program.name))
    });
    let pages = manuals.iter().map(|&(name, manual)| {
        let (title, command) = (title(program, name), command(program, &definition, name)?);
        let text = text(command, &title, manual, all).map_err(|e| e.to_string())?;
        Ok(Page { name: title, text })
    });
    missing.chain(pages).collect()
}

/// The command line that the page `name` is of.
fn command(program: &Program, definition: &Command, name: &str) -> Result<Command, String> {
    if name.is_empty() {
        return Ok(definition.clone());
    }
    let missing = || format!("no subcommand `{name}`: remove it from the program's table");
    let command = definition.find_subcommand(name).ok_or_else(missing)?;
    Ok(command.clone().bin_name(format!("{} {name}", program.name)))
}

fn text(command: Command, title: &str, manual: &Manual, all: &[Program]) -> io::Result<Vec<u8>> {
    let has_subcommands = command.has_subcommands();
    let man = Man::new(command.display_name(title))
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
        part(&man, &mut out)?;
    }
    if has_subcommands {
        man.render_subcommands_section(&mut out)?;
    }
    out.extend(beyond_options(manual, title, all).to_roff().into_bytes());
    Ok(out)
}

/// The name of a subcommand's page.
fn title(program: &Program, name: &str) -> String {
    if name.is_empty() { program.name.to_owned() } else { format!("{}-{name}", program.name) }
}

/// The sections that the definition of the command line does not have.
fn beyond_options(manual: &Manual, page: &str, all: &[Program]) -> Roff {
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
    let titles = all
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

    const NONE: Manual = Manual { examples: &[], exit_status: &[], environment: &[], files: &[] };
    const TELLS: Manual = Manual { exit_status: &[("0", "All is well.")], ..NONE };

    fn program(manuals: &'static [(&'static str, &'static Manual)]) -> Program {
        let definition =
            || Command::new("house").subcommand(Command::new("open").about("Opens the door"));
        Program { name: "house", definition, manuals }
    }

    #[test]
    fn each_subcommand_has_a_page_that_refers_to_the_others() {
        let pages = pages(&[program(&[("", &NONE), ("open", &TELLS)])]).unwrap();
        let names: Vec<String> = pages.iter().map(Page::file_name).collect();
        assert_eq!(names, ["house.1", "house-open.1"]);
        let text = String::from_utf8(pages[1].text.clone()).unwrap();
        for part in ["Opens the door", ".SH \"EXIT STATUS\"", "All is well", "\\fBhouse\\fR(1)"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn a_table_that_the_command_line_does_not_fit_is_an_error() {
        let missing = pages(&[program(&[("", &NONE)])]).unwrap_err();
        assert_eq!(missing, "`house open` has no manual: add it to the program's table");
        let gone = pages(&[program(&[("open", &NONE), ("close", &NONE)])]).unwrap_err();
        assert_eq!(gone, "no subcommand `close`: remove it from the program's table");
    }
}
