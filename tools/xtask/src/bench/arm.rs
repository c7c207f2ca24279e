//! The two arms of every comparison, and how a program is started in each.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// With or without a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The program alone.
    Native,
    /// The program under `lockwright check`.
    Check,
    /// The program under `lockwright check` without debugobjects.
    NoObjects,
    /// The program under `lockwright meter`, every hold timed.
    Meter,
    /// The program under `lockwright meter`, one hold in 64 timed.
    Sampled,
    /// The program under `lockwright run`: checked and metered.
    Run,
    /// The program on the lock of that name, under `lockwright swap`.
    Swap(&'static str),
    /// The program with bpftrace's probes at the C library's lock and unlock of mutexes.
    Uprobes,
    /// The program under Helgrind.
    Helgrind,
    /// The program under DRD.
    Drd,
    /// The program rebuilt with ThreadSanitizer ([`Bench::rebuild`]), its deadlock detector on.
    Tsan,
}

/// What a tracer of locks does at the least: it remembers when each thread took a mutex, and counts
/// by how long it was held. The last probe is attached last, and says so.
const PROBES: &str = "uprobe:LIBC:pthread_mutex_lock { @since[tid] = nsecs } \
    uprobe:LIBC:pthread_mutex_unlock { @held = hist(nsecs - @since[tid]) } \
    interval:ms:20 { printf(\"attached\\n\") }";

/// Runs "$@" between the probes' attachment and their end. Probes are attached by way of tracefs;
/// where that is not mounted (containers), it is, in the mount namespace of this script alone. What
/// the program prints and how it ends pass through. (bpftrace's own `-o` would keep its lines back,
/// whatever `-B` says.)
const BETWEEN_PROBES: &str = r#"
    [ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs tracefs /sys/kernel/tracing || exit 99
    bpftrace -B line -e "$PROBES" >"$FOUND" 2>"$FOUND.err" & tracer=$!
    for _ in $(seq 500); do grep -qs attached "$FOUND" && break; sleep 0.02; done
    grep -qs attached "$FOUND" || { kill $tracer; cat "$FOUND.err" >&2; exit 99; }
    "$@"; code=$?
    kill $tracer; wait $tracer; exit $code"#;

/// What all measurements share.
#[derive(Debug)]
pub struct Bench {
    /// The release build of the tool.
    pub lockwright: PathBuf,
    /// Folder for programs built here, databases and ledgers.
    pub work: PathBuf,
    /// Two short rounds only: do the benchmarks still run?
    pub smoke: bool,
}

impl Bench {
    /// The command that runs `program` in an arm; its arguments are added by the caller.
    pub fn command(&self, arm: Arm, program: impl AsRef<OsStr>) -> Command {
        // Reports are made after the measured time and are of no interest here; findings in the
        // programs measured are no failure of the measurement.
        let under = |arguments: &[&str]| {
            let mut command = Command::new(&self.lockwright);
            command.args(arguments).args(["--output", "/dev/null", "--"]).arg(&program);
            command
        };
        let valgrind = |tool: &str| {
            let mut command = Command::new("valgrind");
            // It runs one thread at a time; of several that never sleep one might else go on for
            // ever.
            command.args([tool, "--fair-sched=try", "--quiet", "--log-file=/dev/null"]);
            command.arg(&program);
            command
        };
        match arm {
            Arm::Native => Command::new(program),
            Arm::Check => {
                let report = self.report().display().to_string();
                under(&["check", "--exit-code", "0", "--json", &report])
            }
            Arm::NoObjects => under(&["check", "--no-objects", "--exit-code", "0"]),
            Arm::Meter => under(&["meter"]),
            Arm::Sampled => under(&["meter", "--hold=sample:64"]),
            Arm::Run => under(&["run", "--exit-code", "0"]),
            Arm::Swap(lock) => under(&["swap", "--lock", lock]),
            Arm::Uprobes => {
                let found = self.work.join("bpftrace.out");
                // What the last run's probes said.
                let _ = std::fs::remove_file(&found);
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", BETWEEN_PROBES, "sh"]).arg(program);
                command.env("FOUND", found).env("PROBES", PROBES.replace("LIBC", &c_library()));
                command
            }
            Arm::Helgrind => valgrind("--tool=helgrind"),
            Arm::Drd => valgrind("--tool=drd"),
            Arm::Tsan => {
                // Its shadow memory has fixed places, which a randomised mapping may lie in.
                let mut command = Command::new("setarch");
                command.arg("--addr-no-randomize").arg(program);
                command.env("TSAN_OPTIONS", "detect_deadlocks=1:exitcode=0");
                command
            }
        }
    }

    /// The same with `timed`, built of `programs/timed.c`, between the tool and the program, so
    /// that the tool's own start and report are not counted. Valgrind and ThreadSanitizer are the
    /// program's process itself: it is what is timed.
    pub fn timed(&self, arm: Arm, timed: &Path, program: &Path) -> Command {
        let mut command;
        if let Arm::Helgrind | Arm::Drd | Arm::Tsan = arm {
            let inner = self.command(arm, program);
            command = Command::new(timed);
            command.arg(inner.get_program()).args(inner.get_args());
        } else {
            command = self.command(arm, timed);
            command.arg(program);
        }
        command
    }

    /// Where the report of the last run under `lockwright check` is.
    pub fn report(&self) -> PathBuf {
        self.work.join("check.json")
    }

    /// Whether an arm can run here, or why not.
    pub fn can(&self, arm: Arm) -> Result<(), String> {
        match arm {
            Arm::Native
            | Arm::Check
            | Arm::NoObjects
            | Arm::Meter
            | Arm::Sampled
            | Arm::Run
            | Arm::Swap(_) => Ok(()),
            Arm::Helgrind | Arm::Drd => installed("valgrind", "valgrind").map(drop),
            Arm::Tsan => installed("clang", "clang").map(drop),
            Arm::Uprobes => {
                installed("bpftrace", "bpftrace")?;
                said(&mut self.command(arm, "true")).map(drop).map_err(|said| {
                    format!("bpftrace attaches no probes here (it needs root and tracefs): {said}")
                })
            }
        }
    }

    /// Builds a C program in this file's directory.
    pub fn build(&self, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
        self.compile("cc", name, name, flags)
    }

    /// Builds one of the programs of the tests.
    pub fn build_test_program(&self, name: &str) -> Result<PathBuf, String> {
        let source = crate::workspace::root().join("tests/programs").join(name).with_extension("c");
        self.compile_source("cc", &source, name, &[])
    }

    /// Builds it once more, for [`Arm::Tsan`].
    pub fn rebuild(&self, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let flags: Vec<_> = flags.iter().copied().chain(["-fsanitize=thread"]).collect();
        self.compile("clang", name, &format!("{name}-tsan"), &flags)
    }

    fn compile(
        &self,
        compiler: &str,
        name: &str,
        built: &str,
        flags: &[&str],
    ) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/programs");
        self.compile_source(compiler, &folder.join(name).with_extension("c"), built, flags)
    }

    fn compile_source(
        &self,
        compiler: &str,
        source: &Path,
        built: &str,
        flags: &[&str],
    ) -> Result<PathBuf, String> {
        let built = self.work.join(built);
        let mut command = Command::new(compiler);
        command
            .args(["-O2", "-g", "-pthread", "-Wall", "-Wextra", "-o"])
            .arg(&built)
            .arg(source)
            .args(flags);
        let out = command.output().map_err(|e| format!("{compiler}: {e}"))?;
        if out.status.success() {
            Ok(built)
        } else {
            Err(String::from_utf8_lossy(&out.stderr).into_owned())
        }
    }
}

/// The file of the C library that this process has, as will the programs measured.
fn c_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    paths.find(|path| path.contains("/libc.so")).unwrap_or_default().to_owned()
}

/// Runs a command to its end and hands back its stdout and stderr, one after the other.
pub fn said(command: &mut Command) -> Result<String, String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}\n{text}", out.status))
    }
}

/// CPython itself: `python3` may be a script of a version manager, which starts dozens of processes.
pub fn interpreter() -> Result<OsString, String> {
    let path = said(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(path.trim().into())
}

/// The program `name` in PATH or where servers lie.
pub fn installed(name: &str, package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("{name} is not installed (Debian package {package})"))
}
