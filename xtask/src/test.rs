//! `cargo xtask test`: every check there is, from one table. CI runs the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;

use crate::burners::Burners;
use crate::failed_tests::FailedTests;
use crate::{
    bench, bpf, completions, debug_lockdep, features, floors, install, man, package, promela,
    roots, tsan,
};

/// Runs every check, or the named ones.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Names of checks; `--list` shows them.
    #[arg(value_name = "CHECK")]
    pub only: Vec<String>,

    /// Lists the checks instead of running them.
    #[arg(long)]
    pub list: bool,

    /// Lets so many processes burn CPU beside the checks: no test may depend on time or load.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub burners: usize,

    /// Runs the checks so many times in a row, up to the first time that one fails.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: usize,
}

struct Check {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<(), String>,
}

/// All checks, the cheap ones first.
const CHECKS: &[Check] = &[
    Check {
        name: "format",
        what: "rustfmt has nothing to change",
        run: || cargo(&["fmt", "--all", "--check"]),
    },
    Check {
        name: "clippy",
        what: "clippy has nothing to say, in any target of the workspace",
        run: clippy,
    },
    Check { name: "floors", what: "no crate and no module uses one above it", run: floors::check },
    Check {
        name: "features",
        what: "xtask is built with the features of the tests, so that nothing is built twice",
        run: features::check,
    },
    Check {
        name: "bpf",
        what: "the BPF objects that are shipped are what clang makes of their sources",
        run: bpf::check,
    },
    Check {
        name: "tests",
        what: "unit tests, and end to end: small programs, servers and other real programs, 200 kills",
        run: tests,
    },
    Check {
        name: "release",
        what: "the tests of the locks, torture, the engines and C programs, optimised as what is shipped",
        run: release,
    },
    Check {
        name: "tsan",
        what: "ThreadSanitizer finds no data race in the engines and the ledger, and finds a planted one",
        run: tsan::run,
    },
    Check {
        name: "models",
        what: "loom's models hold, and notice each weakened ordering and each wake left out of the locks",
        run: models,
    },
    Check {
        name: "promela",
        what: "Spin finds no error in the model of the hybrid mutex, and each fault planted there",
        run: promela::run,
    },
    Check {
        name: "no-std",
        what: "the locks build for a platform without std",
        run: || cargo(&["check", "--package", "lockwright", "--no-default-features"]),
    },
    Check {
        name: "events",
        what: "locks that count lock events do, and write them at exit",
        run: || {
            let counting = ["--features", "lock_events"];
            let test = ["test", "--package", "lockwright", "--test", "lock_events"];
            cargo_test(&[&test[..], &counting].concat())
        },
    },
    Check {
        name: "debug",
        what: "the library built with debug-lockdep counts, and checks lockdep itself",
        run: debug_lockdep::run,
    },
    Check {
        name: "demo",
        what: "the README's first command finds the planted deadlock",
        run: || cargo(&["run", "--release", "--package", "lockwright-cli", "--", "demo"]),
    },
    Check { name: "pages", what: "man pages and completions can be made", run: pages },
    Check {
        name: "install",
        what: "C and C++ projects build and run with what is installed, by cmake and pkg-config",
        run: install::check::run,
    },
    Check {
        name: "deb",
        what: "a Debian package and an archive are made, need no glibc after 2.31, and are installed and used",
        run: install::deb::check,
    },
    Check {
        name: "roots",
        what: "the shipped command finds and measures in roots of other Debian suites, with other versions of glibc",
        run: roots::check,
    },
    Check {
        name: "package",
        what: "the command is installed offline, from the packages of the published crates alone",
        run: package::run,
    },
    Check { name: "bench", what: "the benchmarks run", run: bench_smoke },
];

/// They have no std: built together with the rest, they would get the std features of what they
/// share with them. Most of them is tested from outside, end to end.
const PRELOAD: &str = "lockwright-preload";
const SWAP: &str = "lockwright-swap";
/// The locks, and the test program that their models are.
const LOCKS: &str = "lockwright";
const MODELS: &str = "models";
/// What is not built together with the rest of the workspace for its tests.
pub(crate) const TESTED_APART: &[&str] = &[PRELOAD, SWAP, LOCKS];

/// Runs the checks; every one, also after one has failed.
///
/// # Errors
/// When one failed or does not exist.
pub fn run(args: &TestArgs) -> Result<(), String> {
    if args.list {
        for check in CHECKS {
            println!("{:<8} {}", check.name, check.what);
        }
        return Ok(());
    }
    if let Some(unknown) =
        args.only.iter().find(|name| !CHECKS.iter().any(|check| check.name == **name))
    {
        return Err(format!(
            "there is no check {unknown:?}; `cargo xtask test --list` shows what there is"
        ));
    }
    let _burners = Burners::start(args.burners)?;
    for time in 1..=args.times {
        if args.times > 1 {
            eprintln!("\n== time {time} of {}, beside {} burners", args.times, args.burners);
        }
        run_once(&args.only)?;
    }
    Ok(())
}

/// Runs the checks of these names, or all.
fn run_once(only: &[String]) -> Result<(), String> {
    let mut lines = Vec::new();
    let mut details = String::new();
    let mut failed = 0;
    for check in CHECKS.iter().filter(|c| only.is_empty() || only.iter().any(|name| name == c.name))
    {
        eprintln!("\n== {}: {}", check.name, check.what);
        let start = Instant::now();
        let outcome = (check.run)();
        let verdict = match &outcome {
            Ok(()) => "passed".to_owned(),
            Err(why) => {
                failed += 1;
                let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
                if !rest.is_empty() {
                    details += &format!("\n== {}\n{}\n", check.name, rest.trim_end());
                }
                format!("FAILED: {first}")
            }
        };
        lines.push(format!(
            "{:<8} {:>5.0} s  {verdict}",
            check.name,
            start.elapsed().as_secs_f64()
        ));
    }
    // At the end, once more: who reads CI's output sees the end of it.
    print!("{details}");
    println!("\n{}", lines.join("\n"));
    println!("{} passed, {failed} failed", lines.len() - failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} checks failed", lines.len())) }
}

fn clippy() -> Result<(), String> {
    cargo(&[
        "clippy",
        "--workspace",
        "--exclude",
        PRELOAD,
        "--exclude",
        SWAP,
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])?;
    for library in [PRELOAD, SWAP] {
        let checked = ["--package", library, "--lib", "--profile", LIBRARY];
        cargo(&[&["clippy"], &checked[..], &["--", "--deny", "warnings"]].concat())?;
    }
    Ok(())
}

/// Programs that run end to end mostly sleep, so more of them than CPUs run at once.
fn tests() -> Result<(), String> {
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let test = |arguments: &[&str]| {
        let mut command = cargo_command();
        command.args(arguments).env("RUST_TEST_THREADS", threads.to_string());
        tests_pass(&mut command)
    };
    let mut rest = vec!["test", "--workspace", "--no-fail-fast"];
    rest.extend(TESTED_APART.iter().flat_map(|package| ["--exclude", package]));
    test(&["test", "--package", PRELOAD, "--lib"]).and(test(&rest)).and(tests_of_locks("dev", test))
}

/// What is shipped is optimised, and compilers have faults: some tests of what runs in other
/// people's programs, once more.
fn release() -> Result<(), String> {
    let profile = "release-test";
    let mut arguments = vec!["test", "--profile", profile, "--no-fail-fast"];
    for package in ["lockwright-lab", "lockwright-engines", "lockwright-capi"] {
        arguments.extend(["--package", package]);
    }
    cargo_test(&arguments).and(tests_of_locks(profile, cargo_test))
}

/// All tests of the locks but their models, which are a check of their own.
fn tests_of_locks(
    profile: &str,
    run: impl Fn(&[&str]) -> Result<(), String>,
) -> Result<(), String> {
    let dir = root().join("crates").join("locks").join("tests");
    let entries = fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let programs = entries.flatten().map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|extension| extension == "rs")
            || path.join("main.rs").exists() && !path.ends_with(MODELS)
    });
    let names: Vec<String> =
        programs.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    let mut arguments =
        vec!["test", "--package", LOCKS, "--profile", profile, "--no-fail-fast", "--lib"];
    for name in &names {
        arguments.extend(["--test", name]);
    }
    run(&arguments).and(run(&["test", "--package", LOCKS, "--profile", profile, "--doc"]))
}

/// Each model is a process of its own, and so is each of its mutants: this takes minutes and is no
/// part of the other tests.
fn models() -> Result<(), String> {
    let program = ["test", "--package", LOCKS, "--test", MODELS];
    cargo_test(&[&program[..], &["--", "--ignored", "--nocapture"]].concat())
}

/// They are made from the command line's definition, so they cannot be out of date; they can be
/// incomplete.
fn pages() -> Result<(), String> {
    man::run(&man::ManArgs { out: target_dir().join("man") })?;
    completions::run(&completions::CompletionsArgs {
        out: target_dir().join("completions"),
        shell: None,
    })
}

fn bench_smoke() -> Result<(), String> {
    bench::run(&bench::BenchArgs { what: bench::What::Check(bench::BenchOptions::smoke()) })?;
    bench::run(&bench::BenchArgs { what: bench::What::Programs(bench::BenchOptions::smoke()) })?;
    bench::run(&bench::BenchArgs { what: bench::What::Swap(bench::BenchOptions::smoke()) })?;
    bench::run(&bench::BenchArgs { what: bench::What::Meter(bench::BenchOptions::smoke()) })?;
    bench::run(&bench::BenchArgs { what: bench::What::Lines(bench::BenchOptions::smoke()) })?;
    let cost = bench::CostOptions { common: bench::BenchOptions::smoke(), write: false };
    bench::run(&bench::BenchArgs { what: bench::What::Cost(cost) })?;
    let smoke = bench::BenchOptions::smoke();
    bench::run(&bench::BenchArgs { what: bench::What::Debugobjects(smoke) })?;
    let simulated = bench::What::Simulated(bench::SimulatedOptions::smoke());
    bench::run(&bench::BenchArgs { what: simulated })?;
    let tables = bench::What::Tables(bench::TablesOptions::smoke());
    bench::run(&bench::BenchArgs { what: tables })?;
    bench::run(&bench::BenchArgs { what: bench::What::Peers(bench::PeersOptions::smoke()) })
}

/// The tool, built for release.
pub(crate) fn release_build() -> Result<PathBuf, String> {
    cargo(&["build", "--release", "--package", "lockwright-cli"])?;
    Ok(target_dir().join("release/lockwright"))
}

/// An example of a package's, built for release.
pub(crate) fn release_example(package: &str, name: &str) -> Result<PathBuf, String> {
    cargo(&["build", "--release", "--package", package, "--example", name])?;
    Ok(target_dir().join("release/examples").join(name))
}

/// The preload library alone, built for release with `features`: the same place whatever they are,
/// so to be copied at once. `quick`: hardly optimised, which takes a third of the time, for when nobody looks at the
/// figures.
pub(crate) fn preload_build(features: &str, quick: bool) -> Result<PathBuf, String> {
    let dir = target_dir().join("bench-preload");
    let text = dir.to_str().ok_or("the target directory's name is no UTF-8")?;
    let profile = if quick { "smoke" } else { LIBRARY };
    cargo(&[
        "build",
        "--profile",
        profile,
        "--package",
        "lockwright-preload",
        "--lib",
        "--features",
        features,
        "--target-dir",
        text,
    ])?;
    Ok(dir.join(profile).join("liblockwright_preload.so"))
}

/// The profile of what is loaded into programs, or linked to them, and the directory that it is built in.
pub(crate) const LIBRARY: &str = "library";

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    let dir = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(dir)
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The text of a file.
///
/// # Errors
/// That it cannot be read: its name, and why.
pub(crate) fn read(file: impl AsRef<Path>) -> Result<String, String> {
    let file = file.as_ref();
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Runs cargo in the workspace, its output where ours goes.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    succeeds(cargo_command().args(arguments))
}

/// As [`cargo`], of `cargo test`.
fn cargo_test(arguments: &[&str]) -> Result<(), String> {
    tests_pass(cargo_command().args(arguments))
}

/// Runs a command that tests, its output where ours goes.
///
/// # Errors
/// If it fails: the command and its status in a line, and below it which tests failed and what they
/// said.
fn tests_pass(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let error = |e| format!("{program}: {e}");
    let mut child = command.current_dir(root()).stdout(Stdio::piped()).spawn().map_err(error)?;
    let output = child.stdout.take().expect("it was piped");
    let failed = FailedTests::read(output, std::io::stdout());
    let status = child.wait().map_err(error)?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}\n{failed}")) }
}

/// The cargo that runs us, in the workspace.
pub(crate) fn cargo_command() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// What the command prints.
pub(crate) fn output(mut command: Command) -> Result<String, String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let (stdout, stderr) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(format!("{command:?}: {}\n{stdout}{stderr}", out.status))
}

/// Runs a command at the workspace's root.
pub(crate) fn succeeds(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(root()).status();
    let status = status.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
