//! The address space is the program's: it may limit it, or lock what is mapped, as natively.

use crate::harness::{Run, due, is_whole, native, program, under};

/// What watching may take of the address space, in MiB: the library, and the beginning of a ledger.
const MOST: u64 = 6;

const COMMANDS: [&str; 3] = ["check", "meter", "run"];

fn number(run: &Run) -> u64 {
    let text = run.text();
    let line = text.lines().last().unwrap_or_default();
    line.parse().unwrap_or_else(|_| panic!("{text:?}: {}", run.stderr))
}

#[test]
fn rlimit_as_lowered_by_the_program() {
    let program = program("address_space.c");
    for how in ["setrlimit", "setrlimit64", "prlimit", "prlimit64", "syscall"] {
        for place in ["alone", "main", "thread", "child"] {
            // Each call from one place, and from each place one call.
            if !is_whole() && how != "setrlimit" && place != "main" {
                continue;
            }
            let alone = native(&program).args([how, place]).run();
            assert_eq!(alone.code(), 0, "{how} {place}: {}", alone.stderr);
            for command in due(COMMANDS, COMMANDS.len()) {
                let run = under(command, &[] as &[&str], &program).args([how, place]).run();
                let what = format!("{command} {how} {place}: {}", run.stderr);
                assert!(number(&run) + MOST >= number(&alone), "{} {what}", number(&alone));
                // It has taken all; so the ledger cannot grow, and says so. lockmeter needs no more
                // for it.
                let is_told = run.stderr.contains("could map no more memory");
                assert!(is_told || place == "child" || command == "meter", "{what}");
            }
        }
    }
}

#[test]
fn mlockall_of_an_ordinary_user() {
    let program = program("address_space.c");
    for how in ["current", "future"] {
        let alone = native(&program).arg(how).run();
        for command in COMMANDS {
            let run = under(command, &[] as &[&str], &program).arg(how).run();
            assert_eq!(run.text().lines().next(), alone.text().lines().next(), "{}", run.stderr);
            if how == "future" {
                assert!(number(&run) + MOST >= number(&alone), "{command}: {}", run.text());
            }
            // What is locked already grows all the same.
            assert!(!run.stderr.contains("could map no more"), "{command} {how}: {}", run.stderr);
        }
    }
}
