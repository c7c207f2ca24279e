//! Programs that nobody wrote for the tool, as Debian packages them: each ends as it does without
//! the tool, with the same results, its locks watched, and nothing is called likely that is not
//! known to be true.
//!
//! [`table`] has a row for each, [`known`] judges the findings.

pub mod bkl_fs;
pub mod browser;
pub mod build_driver;
mod directory;
pub mod known;
pub mod mariadb;
pub mod memcached;
mod proxies;
pub mod servers;
mod table;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::harness::{Job, Run, Scratch, due, installed, native, tests_dir, under};

/// A program, and what is expected of it.
struct Program {
    /// What it is called.
    name: &'static str,
    /// The executables it needs and the Debian packages that have them. The first is what is run.
    needs: &'static [(&'static str, &'static str)],
    /// The commands of the tool that it is run under.
    commands: &'static [&'static str],
    /// Has the job do its work.
    work: fn(Job, &Place) -> Outcome,
    /// What the tool has seen at the least.
    seen: Seen,
}

/// Counts of a report's summary.
struct Seen {
    processes: u64,
    threads: u64,
    locks: u64,
    acquisitions: u64,
}

/// What a program has to work with.
pub struct Place {
    scratch: Scratch,
}

/// What came of it.
pub struct Outcome {
    /// What is the same in every run.
    pub results: String,
    pub run: Run,
}

impl Place {
    fn new() -> Self {
        Self { scratch: Scratch::new() }
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Text to be packed.
    fn text(&self) -> std::path::PathBuf {
        let path = self.scratch.join("text");
        write_text(&path);
        path
    }
}

/// Writes text to be packed: 8 MiB of words, the same every time.
pub fn write_text(path: &Path) {
    let mut text = String::with_capacity(8 << 20);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    while text.len() < 8 << 20 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        text += ["mutex ", "semaphore ", "held by ", "waits for ", "thread\n"][random as usize % 5];
        text += &(random % 997).to_string();
    }
    std::fs::write(path, text).expect("room for 8 MiB");
}

/// A source or a page that lies in `tests/programs/real`.
fn source(name: &str) -> std::path::PathBuf {
    tests_dir().join("programs/real").join(name)
}

/// Bytes in a form that a failed comparison can show.
fn digest(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, hash {:016x}", bytes.len(), hasher.finish())
}

/// A program that ends by itself, and what it writes is its result.
fn to_its_end(job: Job) -> Outcome {
    let run = job.run();
    let results = match run.stdout.len() {
        ..2000 => run.text(),
        _ => digest(&run.stdout),
    };
    Outcome { results, run }
}

/// With those lines of the output alone that are the same in every run.
fn lines(done: Outcome, same: fn(&str) -> bool) -> Outcome {
    let text = done.run.text();
    let results: Vec<&str> = text.lines().filter(|line| same(line)).collect();
    Outcome { results: results.join("\n"), ..done }
}

/// What the runtimes of languages hide, which is said once in each report.
const RUNTIMES: &[(&str, &str)] = &[
    ("java", "not seen here: `synchronized` and java.util.concurrent are the JVM's own locks"),
    ("node", "not seen here: locks that JavaScript makes of Atomics"),
];

/// Runs it natively and under the tool, and compares.
fn is_the_same(program: &Program) {
    let mut found = program.needs.iter().map(|(name, package)| installed(&[name], package));
    let Some(executable) = found.next().expect("something is run") else { return };
    if found.any(|other| other.is_none()) {
        return;
    }

    let natively = (program.work)(native(&executable), &Place::new());
    assert_eq!(natively.run.code(), 0, "{}: {}", program.name, natively.run.stderr);
    for command in due(program.commands, program.commands.len()) {
        let place = Place::new();
        // What is found is judged below; the exit code is to be the program's own.
        let job = under(command, &["--exit-code", "0"], &executable);
        let watched = (program.work)(job, &place);
        let what = format!("{} under {command}", program.name);
        assert_eq!(watched.run.status, natively.run.status, "{what}: {}", watched.run.stderr);
        assert_eq!(watched.results, natively.results, "{what}: {}", watched.run.stderr);

        let run = &watched.run;
        assert_eq!(run.count("lost"), 0, "{what}: {}", run.stderr);
        let Seen { processes, threads, locks, acquisitions } = program.seen;
        for (of, least) in [
            ("processes", processes),
            ("threads", threads),
            ("locks", locks),
            ("acquisitions", acquisitions),
        ] {
            assert!(run.count(of) >= least, "{what}: {of} in {:#}", run.report()["summary"]);
        }
        known::judge(program.name, run);
        for (_, hidden) in RUNTIMES.iter().filter(|(name, _)| *name == program.name) {
            assert_eq!(run.stderr.matches(hidden).count(), 1, "{what}: {}", run.stderr);
        }
    }
}
