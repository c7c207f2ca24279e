//! Qt 5's locks, which are no pthread locks, are seen where they are taken.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{
    FOUND, Run, installed, lock_names, native, signal, told_of_library, under, until,
};
use crate::kinds::annotations::CIRCULAR;

const FLAGS: &[&str] = &[
    "-fPIC",
    "-isystem/usr/include/x86_64-linux-gnu/qt5",
    "-isystem/usr/include/x86_64-linux-gnu/qt5/QtCore",
    "-lQt5Core",
];

const HEADER: &str = "/usr/include/x86_64-linux-gnu/qt5/QtCore/QMutex";

fn told(command: &str, what: &str) -> Option<Run> {
    told_of_library((HEADER, "qtbase5-dev"), ("qt.cc", FLAGS), command, what)
}

#[test]
fn locks_in_both_orders() {
    for (what, locks) in [
        ("mutexes", ["first", "second"]),
        ("table", ["again", "table"]),
        ("waits", ["first", "second"]),
    ] {
        let Some(run) = told("check", what) else { return };
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
        let names = lock_names(run.finding());
        for (name, lock) in names.iter().zip(locks) {
            assert!(name.ends_with(&format!("::{lock}")), "{names:?}");
        }
    }
}

#[test]
fn one_order_is_silent() {
    let Some(run) = told("check", "ordered") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
    // The four, the mutex within the condition, and those that are made and gone again.
    assert_eq!(run.count("locks"), 25);
}

#[test]
fn acquisitions_are_measured() {
    let Some(run) = told("meter", "mutexes") else { return };
    let locks = run.report()["locks"].as_array().unwrap();
    for name in ["::first", "::second"] {
        let is_named = |lock: &&Value| lock["name"].as_str().unwrap().ends_with(name);
        let lock = locks.iter().find(is_named).expect("it is measured");
        assert_eq!(lock["total"]["acquisitions"], 2, "{}", run.stderr);
    }
}

/// A program that Debian has of Qt's own examples.
fn example(name: &str) -> Option<PathBuf> {
    const THREADS: &str = "/usr/lib/x86_64-linux-gnu/qt5/examples/corelib/threads";
    installed(&[&format!("{THREADS}/{name}/{name}")], "qtbase5-examples")
}

/// Acquisitions of all locks that were measured.
fn acquisitions(run: &Run) -> u64 {
    let locks = run.report()["locks"].as_array().unwrap().iter();
    locks.map(|lock| lock["total"]["acquisitions"].as_u64().unwrap()).sum()
}

/// Two threads that hand letters over by a QMutex and two QWaitConditions.
#[test]
fn a_program_of_debians_is_silent_and_measured() {
    /// Letters, for each of which each thread takes the mutex twice.
    const LETTERS: u64 = 100_000;
    let Some(program) = example("waitconditions") else { return };
    // It writes them where the report goes, too.
    let all_came = |run: &Run| {
        let is_whole = |word: &str| word.len() as u64 == LETTERS;
        let of_letters = |word: &str| word.bytes().all(|byte| b"ACGT".contains(&byte));
        run.stderr.split_whitespace().any(|word| is_whole(word) && of_letters(word))
    };
    let alone = native(&program).run();
    assert_eq!((all_came(&alone), alone.code()), (true, 0));
    for command in ["check", "meter"] {
        let run = under(command, &[] as &[&str], &program).run();
        assert_eq!((all_came(&run), run.code()), (true, 0), "{command}");
        let seen = match command {
            "check" => {
                assert!(run.findings().is_empty(), "{:#?}", run.findings());
                run.count("acquisitions")
            }
            _ => acquisitions(&run),
        };
        assert!(seen >= 4 * LETTERS, "{command}: {seen}");
    }
}

/// A window that nobody sees, and a thread that draws into it, until the program gets the signal to
/// end.
#[test]
fn a_program_with_windows_is_silent_and_measured() {
    let Some(program) = example("mandelbrot") else { return };
    for command in ["check", "meter"] {
        let script = format!("echo $$; exec {}", program.display());
        let job = under(command, &[] as &[&str], "sh").args(["-c", &script]);
        let running = job.env("QT_QPA_PLATFORM", "offscreen").spawn();
        let pid = running.program_id();
        until("the thread to draw", || draws(pid).then_some(()));
        signal(pid, libc::SIGTERM);
        let run = running.wait();
        assert_eq!(run.code(), 128 + libc::SIGTERM, "{command}: {}", run.stderr);
        let seen = match command {
            "check" => {
                assert!(run.findings().is_empty(), "{}", run.stderr);
                run.count("acquisitions")
            }
            _ => acquisitions(&run),
        };
        assert!(seen > 100, "{command}: {seen}");
    }
}

/// Its second thread has run for two tenths of a second at least: that takes it past the first
/// pictures.
fn draws(pid: u32) -> bool {
    const TICKS: u64 = 20;
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let own = |stat: String| {
        let (name, rest) = stat.split_once(')')?;
        let ticks: u64 = rest.split(' ').nth(12)?.parse().ok()?;
        name.ends_with("(RenderThread").then_some(ticks)
    };
    stats.filter_map(own).any(|ticks| ticks >= TICKS)
}
