//! The check of the engines' and the ledger's own data accesses: their tests run under
//! ThreadSanitizer.
//!
//! Stable compilers have the sanitizer's runtime, behind `RUSTC_BOOTSTRAP`. The standard library is
//! not instrumented, so what it synchronises by futexes is not seen, and reports about memory of
//! its own follow. A report therefore counts if one of the two accesses was made by code of the
//! workspace. Tests join their threads by handle, which the sanitizer does see.

use std::process::Command;

use crate::skips::skip;
use crate::workspace::{cargo_command, output, target_dir};

const PACKAGES: &[&str] = &["lockwright-engines", "lockwright-ledger"];

/// The folders of their sources.
const FOLDERS: &[&str] = &["/guest/engines/", "/ledger/src/", "/ledger/tests/"];

/// A test with a planted race, which has to be found.
const PLANTED: &str = "a_planted_race";

/// Begins a report, which ends with a line of `=`.
const WARNING: &str = "WARNING: ThreadSanitizer: data race";

/// Runs the check. Where the compiler has no ThreadSanitizer it is skipped, and says so; not in CI.
///
/// # Errors
/// The races found; a failed test; that the planted race was not found.
pub fn run() -> Result<(), String> {
    let target = host()?;
    if !has_runtime(&target)? {
        return skip("tsan", &format!("the compiler has no ThreadSanitizer for {target}"));
    }
    let planted = tests(&target, &["--ignored", PLANTED])?;
    if races(&planted.1).is_empty() {
        return Err(format!("the planted race was not found\n{}", planted.1));
    }
    let (passed, said) = tests(&target, &[])?;
    let races = races(&said);
    if !races.is_empty() {
        return Err(format!("{} data races\n{}", races.len(), races.join("\n")));
    }
    if passed { Ok(()) } else { Err(format!("tests failed under ThreadSanitizer\n{said}")) }
}

fn host() -> Result<String, String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--version", "--verbose"]);
    let version = output(rustc)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc names no host:\n{version}"))
}

fn has_runtime(target: &str) -> Result<bool, String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    let dir = output(rustc)?;
    let files = std::fs::read_dir(dir.trim()).map_err(|e| format!("{}: {e}", dir.trim()))?;
    let is_runtime = |name: &str| name.ends_with("_rt.tsan.a");
    Ok(files.flatten().any(|file| file.file_name().to_str().is_some_and(is_runtime)))
}

/// Runs the tests, with these options of theirs. Whether they passed, and all they said.
fn tests(target: &str, options: &[&str]) -> Result<(bool, String), String> {
    let mut cargo = cargo_command();
    // With a target, build scripts and macros are not instrumented, but what is tested is.
    cargo.args(["test", "--no-fail-fast", "--profile", "release-test", "--target", target]);
    cargo.args(["--lib", "--tests"]);
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    cargo.arg("--target-dir").arg(target_dir().join("tsan"));
    // One after the other: libtest's own threads are not instrumented.
    cargo.args(["--", "--test-threads=1"]).args(options);
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    // A report names files and lines by these.
    cargo.env("CARGO_PROFILE_RELEASE_TEST_DEBUG", "line-tables-only");
    // The runtime's own exit code would count reports that do not count here.
    cargo.env("TSAN_OPTIONS", "exitcode=0");
    let out = cargo.output().map_err(|e| format!("{cargo:?}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    eprintln!("{}", lines_of_tests(&said));
    Ok((out.status.success(), said.into_owned()))
}

fn lines_of_tests(said: &str) -> String {
    let results = said.lines().filter(|line| line.starts_with("test result: "));
    results.collect::<Vec<_>>().join("\n")
}

/// The reports of accesses that code of the workspace made.
fn races(said: &str) -> Vec<&str> {
    let reports = said.split("==================\n").filter(|text| text.starts_with(WARNING));
    reports.filter(|report| accesses(report).any(is_ours)).collect()
}

/// The stacks of the two accesses of a report, innermost frame first.
fn accesses(report: &str) -> impl Iterator<Item = &str> {
    let is_access = |text: &&str| {
        let first = text.lines().find(|line| line.contains(" of size "));
        first.is_some_and(|line| {
            line.to_ascii_lowercase().contains("read of")
                || line.to_ascii_lowercase().contains("write of")
        })
    };
    report.split("\n\n").filter(is_access)
}

/// The access was made by the workspace's code, by way of `core`'s small functions or not.
fn is_ours(stack: &str) -> bool {
    let mut frames = stack.lines().filter(|line| line.trim_start().starts_with('#'));
    let is_small = |line: &&str| line.contains("compiler-rt") || line.contains("/library/core/");
    let innermost = frames.find(|frame| !is_small(frame));
    let lies_in = |line: &str, folder| line.contains(folder) && !line.contains("/library/");
    innermost.is_some_and(|line| FOLDERS.iter().any(|folder| lies_in(line, folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "\
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Atomic read of size 8 at 0x7b by thread T3:
    #0 core::sync::atomic::AtomicU64::load /rustc/5980/library/core/src/sync/atomic.rs:1 (wk+0x1)
    #1 lockwright_engines::wakes::Wakes::enter /home/u/lockwright/guest/engines/src/wakes.rs:112 (wk+0x2)

  Previous write of size 8 at 0x7b by thread T1:
    #0 std::thread::scope /rustc/5980/library/std/src/thread/scoped.rs:9 (wk+0x3)

SUMMARY: ThreadSanitizer: data race
==================
";
    const STD: &str = "\
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8 at 0x7b by main thread:
    #0 memcpy /rustc/llvm/src/llvm-project/compiler-rt/lib/x.inc:117 (wk+0x1)
    #1 std::sync::mpmc::list::Channel::read /rustc/5980/library/std/src/sync/mpmc/list.rs:381 (wk+0x2)
    #2 shared_rows::main /home/u/lockwright/guest/engines/tests/shared_rows.rs:1 (wk+0x2)

==================
";

    #[test]
    fn a_report_counts_if_our_code_made_the_access() {
        assert_eq!(races(&(OURS.to_owned() + STD)).len(), 1);
        assert!(races(STD).is_empty());
    }
}
