//! The texts that are checked: documents, comments, golden reports, `--help` of every command, and
//! manual pages.

use clap::Command;

use super::paragraph::{self, Paragraph};
use crate::programs::{PROGRAMS, Program};
use crate::workspace::{output, read, root};

/// A text, under the name of its file or of the command line that prints it.
pub struct Text {
    pub name: String,
    pub paragraphs: Vec<Paragraph>,
}

/// All of them.
///
/// # Errors
/// When git does not list the files, or one cannot be read.
pub fn all() -> Result<Vec<Text>, String> {
    let mut texts = files()?;
    for program in PROGRAMS {
        texts.extend(of_program(program));
    }
    Ok(texts)
}

/// The help and the manuals of a program.
fn of_program(program: &Program) -> Vec<Text> {
    let mut texts = Vec::new();
    help(&(program.definition)().term_width(0), program.name, &mut texts);
    for (name, manual) in program.manuals {
        let text: Vec<&str> =
            manual.sections().flat_map(|(_, entries)| entries).map(|(_, text)| *text).collect();
        texts.push(printed(format!("man {} {name}", program.name).trim_end(), &text.join("\n")));
    }
    texts
}

fn printed(name: &str, text: &str) -> Text {
    Text { name: name.to_owned(), paragraphs: paragraph::of_output(text) }
}

/// The files that git has, or would have.
fn files() -> Result<Vec<Text>, String> {
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let names = output(git)?;
    let mut texts = Vec::new();
    for name in names.lines() {
        let Some(paragraphs) = reader(name) else { continue };
        // A file that was deleted and not yet committed is listed.
        if root().join(name).exists() {
            let text = read(root().join(name))?;
            texts.push(Text { name: name.to_owned(), paragraphs: paragraphs(&text) });
        }
    }
    Ok(texts)
}

/// What makes paragraphs of a file, if it is read.
fn reader(name: &str) -> Option<fn(&str) -> Vec<Paragraph>> {
    let (_, extension) = name.rsplit_once('.')?;
    match extension {
        "md" => Some(paragraph::of_document),
        "rs" => Some(paragraph::of_rust),
        "c" | "h" | "cpp" | "hpp" => Some(paragraph::of_c),
        "txt" if name.starts_with("tests/golden/") => Some(paragraph::of_output),
        _ => None,
    }
}

/// The long help of a command and of all below it, without line breaks in its sentences.
fn help(command: &Command, name: &str, texts: &mut Vec<Text>) {
    let page = command.clone().term_width(0).render_long_help().to_string();
    texts.push(printed(&format!("{name} --help"), &page));
    for below in command.get_subcommands() {
        help(below, &format!("{name} {}", below.get_name()), texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_every_command_and_whole_sentences() {
        let texts = of_program(&PROGRAMS[0]);
        let commands = (PROGRAMS[0].definition)().get_subcommands().count();
        assert!(texts.len() > commands);
        let meter = texts.iter().find(|text| text.name == "lockwright meter --help").unwrap();
        let lengths = meter.paragraphs.iter().map(|paragraph| paragraph.text().len());
        assert!(lengths.max().unwrap() > 120, "the lines of the help are broken");
    }

    #[test]
    fn golden_reports_documents_and_comments_are_read() {
        for name in
            ["tests/golden/meter.txt", "README.md", "tools/xtask/src/main.rs", "include/a.h"]
        {
            assert!(reader(name).is_some(), "{name}");
        }
        assert!(reader("Cargo.lock").is_none() && reader("CMakeLists.txt").is_none());
    }
}
