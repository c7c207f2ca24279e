//! Whether the tool's output is plain: no control of what it quotes reaches a terminal or begins a line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use crate::harness::tool;

/// A path, or a word of a command line.
pub fn hostile_word() -> OsString {
    OsString::from_vec(
        b"w\x1b[2J\x1b[35;5m\n::error::forged\x7f\xc2\x9b31m\xe2\x80\xae\xff".to_vec(),
    )
}

/// What stands behind `what` and must be plain. Our own styles pass where `colour` is on.
pub fn is_plain(what: &str, bytes: &[u8], colour: bool) {
    let text = String::from_utf8(bytes.to_vec());
    let text = text.unwrap_or_else(|error| panic!("{what} is no UTF-8: {error}"));
    let mut rest = text.as_str();
    while let Some(at) = rest.find(is_hostile) {
        let hostile = &rest[at..];
        let style = hostile.strip_prefix("\x1b[").filter(|_| colour).and_then(|parameters| {
            let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            parameters[end..].starts_with('m').then(|| (&parameters[..end], &parameters[end + 1..]))
        });
        match style {
            // The names' own style is none of ours.
            Some((codes, after)) if codes != "35;5" => rest = after,
            _ => panic!("{what} has {:?}", hostile.chars().take(60).collect::<String>()),
        }
    }
    for line in text.lines() {
        let line = line.trim_start();
        let forged = ["::error::forged", "line ::error::forged", "::stop-commands", "::set-output"];
        assert!(
            !forged.iter().any(|forged| line.starts_with(forged)),
            "{what}: a line is {line:?}"
        );
    }
}

pub fn is_hostile(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || "\u{200e}\u{200f}\u{61c}\u{2028}\u{2029}\u{feff}".contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// Runs the tool with these words; its streams are plain. The program prints nothing.
pub fn tool_is_plain(words: &[&OsStr]) -> i32 {
    for colour in ["never", "always"] {
        let mut command = tool();
        let variable = if colour == "always" { "CLICOLOR_FORCE" } else { "NO_COLOR" };
        command.args(words).env(variable, "1");
        // Errors of the command line are coloured by the environment, everything else by an option.
        if words.len() > 1 && HAS_COLOUR.iter().any(|name| words[0] == *name) {
            let program = words.iter().position(|word| *word == "--").unwrap_or(words.len());
            command = tool();
            command.args(&words[..program]).args(["--color", colour]).args(&words[program..]);
        }
        let output = command.stdin(Stdio::null()).output().expect("the tool");
        let what = format!("{words:?} --color {colour}");
        is_plain(&format!("stdout of {what}"), &output.stdout, colour == "always");
        is_plain(&format!("stderr of {what}"), &output.stderr, colour == "always");
        if colour == "always" {
            return output.status.code().unwrap_or(-1);
        }
    }
    unreachable!("the second choice returns")
}

/// Commands with the option.
const HAS_COLOUR: &[&str] = &["check", "meter", "run", "report", "merge", "diff", "doctor"];
