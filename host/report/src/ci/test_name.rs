//! Which test ran: to a reader of a log of hundreds, the process id says nothing.

use crate::prose::words::{self, base_name, plain};
use lockwright_analysis::finding::{Finding, Process};

/// Characters of a command line that are shown.
const MOST: usize = 120;

/// Digits of the hash that cargo ends the names of test programs with.
const CARGO_HASH: usize = 16;

/// The length of a Linux thread's name: Rust cuts names to it.
const THREAD_NAME: usize = 15;

/// The test as its author calls it: the command, and the function of a Rust test program.
pub fn of(process: &Process, finding: &Finding) -> String {
    let command = command(process);
    match function(process, finding) {
        Some(function) => format!("{command} {function}"),
        None => command,
    }
}

/// The command line of a process, in short: ctest and meson tell tests apart by it.
pub fn command(process: &Process) -> String {
    let text = words::command(&process.exe, &process.command);
    let program = process.command.first().unwrap_or(&process.exe);
    let text = match text.strip_prefix(base_name(program)) {
        Some(rest) => format!("{}{rest}", program_name(program)),
        None => text,
    };
    let text = plain(&text);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The name of a test program without cargo's hash.
fn program_name(path: &str) -> &str {
    let name = base_name(path);
    match name.rsplit_once('-') {
        Some((crate_name, hash)) if is_of_cargo(path) && is_hash(hash) => crate_name,
        _ => name,
    }
}

/// Cargo puts test programs there.
fn is_of_cargo(path: &str) -> bool {
    path.contains("/deps/") || path.starts_with("deps/")
}

fn is_hash(text: &str) -> bool {
    text.len() == CARGO_HASH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The function of a Rust test: its thread is named after it, and it is on its stack.
fn function(process: &Process, finding: &Finding) -> Option<String> {
    if !is_of_cargo(&process.exe) {
        return None;
    }
    finding.steps.iter().find_map(|step| {
        let thread = step.thread.name.as_str();
        let mut functions = step.stack.iter().rev().filter_map(|f| f.function.as_deref());
        functions.find_map(|function| named(function, thread))
    })
}

/// The path of `function` within its crate, without closures, if a thread of that name runs it.
fn named(function: &str, thread: &str) -> Option<String> {
    let (_, path) = function.split_once("::")?;
    // `{{closure}}`, or `{closure#0}` by the newer mangling.
    let path = path.split("::{").next().unwrap_or(path);
    let is_whole = thread.len() < THREAD_NAME;
    let is_it = if is_whole { path == thread } else { path.starts_with(thread) };
    (is_it && !thread.is_empty()).then(|| plain(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(command: &[&str]) -> Process {
        Process {
            exe: command[0].to_owned(),
            command: command.iter().map(|&word| word.to_owned()).collect(),
            ..Process::default()
        }
    }

    #[test]
    fn a_command_is_short() {
        let gtest = process(&["/build/tests/queue_test", "--gtest_filter=Queue.*"]);
        assert_eq!(command(&gtest), "queue_test --gtest_filter=Queue.*");
        let cargo = process(&["/src/target/debug/deps/models-5afaaf4c7fcb33bb", "mcs"]);
        assert_eq!(command(&cargo), "models mcs");
        let own = process(&["/usr/bin/models-5afaaf4c7fcb33bb"]);
        assert_eq!(command(&own), "models-5afaaf4c7fcb33bb");
        let long = process(&["x", &"é".repeat(200)]);
        assert_eq!(command(&long), format!("x {}...", "é".repeat(118)));
    }

    #[test]
    fn a_rust_test_is_found_by_its_thread() {
        let closure = "models::mcs::trylock_excludes::{{closure}}";
        assert_eq!(named(closure, "mcs::trylock_ex").as_deref(), Some("mcs::trylock_excludes"));
        let closures = "<models::mcs::trylock_excludes::{closure#0} as core::ops::function::FnOnce<()>>::call_once";
        assert_eq!(named(closures, "mcs::trylock_ex").as_deref(), Some("mcs::trylock_excludes"));
        assert_eq!(named("models::works", "works").as_deref(), Some("works"));
        assert_eq!(named("models::works_twice", "works"), None);
        assert_eq!(named("main", "main"), None);
        assert_eq!(named("models::works", ""), None);
    }
}
