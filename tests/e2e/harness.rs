//! Builds a program, runs it natively or under the tool, and hands back everything that came out.

#[path = "../skip.rs"]
mod skip;
#[path = "../turn.rs"]
mod turn;

pub use skip::skip;
#[allow(unused_imports, reason = "the lab's tests have nothing that takes turns")]
pub use turn::due;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// No program of these tests needs longer, on however slow a machine; one that does hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How long a test has waited. Time in which threads of this machine waited for a processor does not count at first: a
/// program that yields to others hardly runs then.
struct Waiting {
    begun: Instant,
    busy: Duration,
}

impl Waiting {
    /// With all of the time counted, nothing is waited for longer.
    const MOST: Duration = PATIENCE.saturating_mul(10);

    fn begin() -> Self {
        Self { begun: Instant::now(), busy: busy() }
    }

    /// Too long.
    fn is_vain(&self) -> bool {
        let elapsed = self.begun.elapsed();
        elapsed > PATIENCE
            && (elapsed > Self::MOST
                || elapsed.saturating_sub(busy().saturating_sub(self.busy)) > PATIENCE)
    }
}

/// For how long some thread of the machine has waited for a processor. Zero: the kernel does not say.
fn busy() -> Duration {
    let pressure = fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let total = pressure.lines().next().and_then(|some| some.rsplit_once("total="));
    Duration::from_micros(total.and_then(|(_, micros)| micros.parse().ok()).unwrap_or(0))
}

/// The exit code that says: findings of failing grade.
pub const FOUND: i32 = 66;

/// The tests folder of the source tree.
pub fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").canonicalize().expect("tests folder")
}

/// The executable built from `tests/programs/<source>`, recompiled only when it or its flags
/// changed.
pub fn program(source: &str) -> PathBuf {
    build(source, &[])
}

/// As [`program`], with more compiler flags.
pub fn build(source: &str, flags: &[&str]) -> PathBuf {
    build_by(if source.ends_with(".cc") { "c++" } else { "cc" }, source, flags)
}

/// As [`build`], by that compiler.
pub fn build_by(compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);

    let programs = tests_dir().join("programs");
    let path = programs.join(source);
    let mut hasher = DefaultHasher::new();
    fs::read(&path).expect("source").hash(&mut hasher);
    let beside = path.parent().expect("a folder");
    let headers = [files(beside), files(&programs.join("../../include"))].concat();
    for header in headers.iter().filter(|f| f.extension() == Some(OsStr::new("h"))) {
        fs::read(header).expect("header").hash(&mut hasher);
    }
    (flags, path.as_os_str()).hash(&mut hasher);
    let is_default = ["cc", "c++"].contains(&compiler);
    (!is_default).then_some(compiler).hash(&mut hasher);
    built_once(&path, hasher.finish(), || {
        let cxx = path.extension() == Some(OsStr::new("cc"));
        let mut compiler = Command::new(compiler);
        compiler.args(["-g", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror"]);
        if cxx {
            compiler.arg("-std=c++20");
        }
        compiler.arg(&path).args(flags);
        // Before 2.34, glibc has these functions in libraries of their own.
        compiler.args(["-Wl,--push-state,--as-needed", "-ldl", "-lrt", "-Wl,--pop-state"]);
        compiler
    })
}

/// What `compiler` makes of the source at `path`, in a folder by the hash of all that it depends
/// on; kept from run to run.
fn built_once(path: &Path, hash: u64, compiler: impl FnOnce() -> Command) -> PathBuf {
    let folder = target_tmp().join("programs").join(format!("{hash:016x}"));
    let built = folder.join(path.file_stem().expect("a file name"));
    // A line of a source that is younger than the program is not believed.
    let written = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    if built.exists() && written(&built) >= written(path) {
        return built;
    }
    fs::create_dir_all(&folder).expect("folder for programs");
    let unfinished = folder.join(format!("unfinished-{}", std::process::id()));
    let mut compiler = compiler();
    compiler.arg("-o").arg(&unfinished);
    let status = compiler.status().expect("a compiler: install gcc, g++ and rustc");
    assert!(status.success(), "{compiler:?} failed");
    fs::rename(&unfinished, &built).expect("rename the finished program");
    built
}

/// The executable that rustc, without any crate, makes of `tests/programs/<source>`.
pub fn rust_program(source: &str) -> PathBuf {
    rust_program_with(source, &["-O", "-g"])
}

/// The same with these options of rustc's.
pub fn rust_program_with(source: &str, flags: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = tests_dir().join("programs").join(source);
    let mut hasher = DefaultHasher::new();
    fs::read(&path).expect("source").hash(&mut hasher);
    flags.hash(&mut hasher);
    built_once(&path, hasher.finish(), || {
        let mut rustc = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
        rustc.arg("--edition=2024").args(flags).arg(&path);
        rustc
    })
}

/// An example of the crate `lockwright`, built by a cargo of its own.
pub fn example(name: &str) -> PathBuf {
    example_with(name, "line-tables-only")
}

/// The same with all debug information, as a user's program has it. No example is built both ways: both would lie in one
/// place.
pub fn example_with_types(name: &str) -> PathBuf {
    example_with(name, "full")
}

fn example_with(name: &str, debug: &str) -> PathBuf {
    let target = target_tmp().join("annotated-rust");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.env("CARGO_PROFILE_DEV_DEBUG", debug);
    cargo.args(["build", "--quiet", "--package", "lockwright", "--example", name]);
    cargo.arg("--manifest-path").arg(tests_dir().join("../Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    let status = cargo.status().expect("cargo");
    assert!(status.success(), "{cargo:?} failed");
    target.join("debug/examples").join(name)
}

/// Runs `go build` with these arguments in a folder. All builds have one cache and take turns, so that Go compiles its own
/// packages once. What it leaves stays among the tests' files, and it asks nobody.
pub fn go_build(go: &Path, arguments: &[&OsStr], folder: &Path, cgo: bool) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut command = Command::new(go);
    command.arg("build").args(arguments).current_dir(folder);
    let kept = target_tmp().join("go");
    command.env("GOCACHE", kept.join("cache")).env("GOPATH", kept.join("path"));
    command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    command.env("GOTOOLCHAIN", "local").env("GOTELEMETRY", "off");
    command.env("CGO_ENABLED", if cgo { "1" } else { "0" });
    assert!(command.status().expect("go").success(), "{command:?} failed");
}

/// Where tests build what they need, kept from run to run.
pub fn target_tmp() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder of one test's own, gone with it.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new, empty one.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = target_tmp().join(format!("run-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("scratch folder");
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of something in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What came out of a run.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub status: ExitStatus,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr: the program's and, after it, the tool's.
    pub stderr: String,
    /// The JSON report, if one was written, without findings of the grade untidy.
    pub json: Option<Value>,
    untidy: Vec<Value>,
}

impl Run {
    /// The exit code; a death by signal counts as 128 + its number, as shells have it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().expect("ended somehow"))
    }

    /// Stdout as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The report.
    pub fn report(&self) -> &Value {
        self.json.as_ref().unwrap_or_else(|| panic!("no JSON report; stderr: {}", self.stderr))
    }

    /// The findings of the report.
    pub fn findings(&self) -> &[Value] {
        self.report()["findings"].as_array().expect("findings")
    }

    /// What the program never destroyed. Most of these programs leave their locks to the end of the
    /// process, which is not what they test. So such findings are kept apart.
    pub fn untidy(&self) -> &[Value] {
        &self.untidy
    }

    /// The only finding; anything else fails the test with the whole report.
    pub fn finding(&self) -> &Value {
        let findings = self.findings();
        assert_eq!(findings.len(), 1, "one finding expected: {:#}\n{}", self.report(), self.stderr);
        &findings[0]
    }

    /// (kind, grade) of each finding.
    pub fn verdicts(&self) -> Vec<(&str, &str)> {
        self.findings()
            .iter()
            .map(|f| (f["kind"].as_str().expect("kind"), f["grade"].as_str().expect("grade")))
            .collect()
    }

    /// A count of the report's summary.
    pub fn count(&self, what: &str) -> u64 {
        self.report()["summary"][what]
            .as_u64()
            .unwrap_or_else(|| panic!("no {what} in {:#}", self.report()["summary"]))
    }
}

/// Names of a finding's locks, sorted.
pub fn lock_names(finding: &Value) -> Vec<&str> {
    let mut names: Vec<_> = finding["locks"]
        .as_array()
        .expect("locks")
        .iter()
        .map(|lock| lock["name"].as_str().expect("name"))
        .collect();
    names.sort_unstable();
    names
}

/// Names of the threads of a finding's steps, in order.
pub fn thread_names(finding: &Value) -> Vec<&str> {
    finding["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["thread"]["name"].as_str().expect("name"))
        .collect()
}

/// All functions named in a finding's stacks.
pub fn functions(finding: &Value) -> Vec<&str> {
    frames(finding).filter_map(|frame| frame["function"].as_str()).collect()
}

/// All frames of a finding's steps.
pub fn frames(finding: &Value) -> impl Iterator<Item = &Value> {
    finding["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .flat_map(|step| step["stack"].as_array().expect("stack"))
}

/// A program to be run natively.
pub fn native(program: impl AsRef<OsStr>) -> Job {
    let mut command = Command::new(program);
    with_default_signals(&mut command);
    Job { command, stdin: Vec::new(), json: None, scratch: Scratch::new(), keep: false }
}

/// A program to be run under `lockwright check`.
pub fn check(program: impl AsRef<OsStr>) -> Job {
    check_with(&[] as &[&str], program)
}

/// As [`check`], with options of the tool.
pub fn check_with(options: &[impl AsRef<OsStr>], program: impl AsRef<OsStr>) -> Job {
    under("check", options, program)
}

/// A program to be run under `lockwright <name>`, with options of the tool.
pub fn under(name: &str, options: &[impl AsRef<OsStr>], program: impl AsRef<OsStr>) -> Job {
    let scratch = Scratch::new();
    let json = scratch.join("report.json");
    let mut command = tool();
    command.arg(name).arg("--json").arg(&json);
    command.arg("--ledger-dir").arg(scratch.join("ledgers"));
    command.args(options).arg("--").arg(program);
    let keep = options.iter().any(|option| option.as_ref() == "--keep");
    Job { command, stdin: Vec::new(), json: Some(json), scratch, keep }
}

/// The tool itself.
pub fn tool() -> Command {
    let mut command = Command::new(crate::TOOL);
    for name in [
        "LD_PRELOAD",
        "LOCKWRIGHT_DIR",
        "LOCKWRIGHT_ENGINES",
        "LOCKWRIGHT_CLOCK",
        "XDG_RUNTIME_DIR",
        "NO_COLOR",
    ] {
        command.env_remove(name);
    }
    with_default_signals(&mut command);
    command
}

/// A shell that runs the tests in the background may make them ignore SIGINT and SIGQUIT, and
/// nohup(1) SIGHUP; what is ignored is inherited.
fn with_default_signals(command: &mut Command) {
    // SAFETY: signal is async-signal-safe, and changes the child alone.
    unsafe {
        command.pre_exec(|| {
            for number in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(number, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

/// Any command line, run to its end.
pub fn run(command: Command) -> Run {
    Job { command, stdin: Vec::new(), json: None, scratch: Scratch::new(), keep: false }.run()
}

/// Any command line, started.
pub fn spawn(command: Command) -> Running {
    Job { command, stdin: Vec::new(), json: None, scratch: Scratch::new(), keep: false }.spawn()
}

/// A run about to start.
pub struct Job {
    command: Command,
    stdin: Vec<u8>,
    json: Option<PathBuf>,
    scratch: Scratch,
    keep: bool,
}

impl Job {
    /// One argument of the program.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Arguments of the program.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// An environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Where it runs.
    pub fn current_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.command.current_dir(path);
        self
    }

    /// What it reads from stdin; else nothing.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Where the ledgers of the run go.
    pub fn ledger_dir(&self) -> PathBuf {
        self.scratch.join("ledgers")
    }

    /// Runs it to its end.
    pub fn run(self) -> Run {
        self.spawn().wait()
    }

    /// Starts it.
    pub fn spawn(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap_or_else(|e| panic!("{:?}: {e}", self.command));
        let mut stdin = child.stdin.take().expect("piped");
        let input = std::mem::take(&mut self.stdin);
        // A program that does not read closes the pipe: no concern of ours.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = Stream::follow(child.stdout.take().expect("piped"));
        let stderr = Stream::follow(child.stderr.take().expect("piped"));
        Running { child, stdout, stderr, job: self }
    }
}

/// A stream that a thread reads as it comes.
struct Stream {
    bytes: std::sync::Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn follow(mut from: impl Read + Send + 'static) -> Self {
        let bytes = std::sync::Arc::new(Mutex::new(Vec::new()));
        let into = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                into.lock().expect("no panic in here").extend_from_slice(&buffer[..n]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().expect("no panic in there").clone()
    }

    fn all(&mut self) -> Vec<u8> {
        self.reader.take().expect("once").join().expect("reader");
        self.so_far()
    }
}

/// A run in progress; killed when dropped unfinished.
pub struct Running {
    child: Child,
    stdout: Stream,
    stderr: Stream,
    job: Job,
}

impl Running {
    /// Process id of what was started: the tool, or the program when native.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where the ledgers of the run are.
    pub fn ledger_dir(&self) -> PathBuf {
        self.job.ledger_dir()
    }

    /// Stdout as far as it came.
    pub fn stdout(&self) -> Vec<u8> {
        self.stdout.so_far()
    }

    /// Stderr as far as it came.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.so_far()).into_owned()
    }

    /// The process id that the program prints as its first line.
    pub fn program_id(&self) -> u32 {
        until("the program's first line", || {
            let out = self.stdout();
            let line = out.split(|&b| b == b'\n').next()?;
            (line.len() < out.len())
                .then(|| String::from_utf8_lossy(line).trim().parse().expect("a process id"))
        })
    }

    /// Waits until stderr has `text`.
    pub fn await_stderr(&self, text: &str) {
        until(text, || self.stderr().contains(text).then_some(()));
    }

    /// Whether it runs yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    /// Waits for the end; too long a wait ends it and fails the test.
    pub fn wait(mut self) -> Run {
        let waiting = Waiting::begin();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                break status;
            }
            assert!(
                !waiting.is_vain(),
                "{:?} hangs; stderr so far: {}",
                self.job.command,
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        let stdout = self.stdout.all();
        let stderr = String::from_utf8_lossy(&self.stderr.all()).into_owned();
        let json = self.job.json.as_ref().and_then(|path| fs::read(path).ok()).map(|bytes| {
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|e| panic!("the JSON report does not parse: {e}"))
        });
        if self.job.json.is_some() && !self.job.keep {
            let left = files(&self.ledger_dir());
            assert!(left.is_empty(), "ledgers left behind: {left:?}; stderr: {stderr}");
        }
        let (json, untidy) = json.map_or((None, Vec::new()), |json| {
            let (json, untidy) = without_untidy(json);
            (Some(json), untidy)
        });
        Run { status, stdout, stderr, json, untidy }
    }
}

/// The report without findings of the grade untidy.
pub fn tidy(report: Value) -> Value {
    without_untidy(report).0
}

/// The report without findings of the grade untidy, and those.
fn without_untidy(mut report: Value) -> (Value, Vec<Value>) {
    let Some(findings) = report["findings"].as_array_mut() else { return (report, Vec::new()) };
    let all = std::mem::take(findings);
    let (untidy, others) = all.into_iter().partition(|finding| finding["grade"] == "untidy");
    *findings = others;
    (report, untidy)
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // SIGTERM, so that the tool takes the program with it; the certain way if that does not
            // help.
            signal(self.child.id(), libc::SIGTERM);
            std::thread::sleep(Duration::from_millis(500));
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal to one process.
pub fn signal(pid: u32, number: i32) {
    // SAFETY: kill(2) on a single process; a wrong id is an error, not undefined.
    unsafe { libc::kill(pid as libc::pid_t, number) };
}

/// Whether the process is there, a zombie not counted.
pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

/// Waits for something that comes by itself, and fails the test if it does not.
pub fn until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let waiting = Waiting::begin();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(!waiting.is_vain(), "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a process has so many threads, all asleep for good, as far as that can be seen from
/// outside.
pub fn until_asleep(pid: u32, threads: usize) {
    /// Looks in a row, some milliseconds apart, that find them all asleep.
    const LOOKS: u32 = 25;
    let asleep = || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat")).ok();
        let stats: Option<Vec<String>> = tasks.map(|task| stat(task.ok()?)).collect();
        let sleeps = |stat: &String| stat.rsplit(')').next().is_some_and(|r| r.starts_with(" S"));
        stats.filter(|stats| stats.len() == threads && stats.iter().all(sleeps)).map(drop)
    };
    let mut looks = 0;
    until("all threads sleep", || {
        looks = if asleep().is_some() { looks + 1 } else { 0 };
        (looks >= LOOKS).then_some(())
    });
}

/// All files below a folder; none if there is no folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// A ledger that was kept there, of a program that ended well and has a lock.
pub fn kept_ledger(scratch: &Scratch) -> PathBuf {
    let mut command = tool();
    command.args(["check", "--keep", "--ledger-dir"]).arg(scratch.path());
    command.arg("--").arg(program("ending.c")).args(["exit", "0"]);
    run(command);
    ledgers(scratch.path()).remove(0)
}

/// The output of `report` for the run's ledgers, for machines and for people.
pub fn report_again(running: &Running) -> (serde_json::Value, String) {
    let dir = running.ledger_dir();
    let json = dir.join("again.json");
    let mut report = tool();
    report.arg("report").arg("--json").arg(&json).args(ledgers(&dir));
    let report = run(report);
    assert_eq!(report.code(), 0, "{}", report.stderr);
    (serde_json::from_slice(&fs::read(json).unwrap()).unwrap(), report.stderr)
}

/// The ledgers below a folder.
pub fn ledgers(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|f| f.extension() == Some(OsStr::new("lwl"))).collect()
}

/// The first of the programs `names` that is installed. None skips the test, plainly; in CI it
/// fails it.
pub fn installed(names: &[&str], package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/libexec".into()]);
    let found = folders.flat_map(|d| names.iter().map(move |n| d.join(n))).find(|f| f.is_file());
    if found.is_none() {
        let why = format!("{} is not installed (Debian package {package})", names[0]);
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        skip(&why);
    }
    found
}

/// Runs a program of a library's by `command`, and without the tool, with the same result. None: the
/// library's `header`, of that Debian package, is not there.
pub fn told_of_library(
    (header, package): (&str, &str),
    (source, flags): (&str, &[&str]),
    command: &str,
    what: &str,
) -> Option<Run> {
    if !Path::new(header).exists() {
        let why = format!("{header} is not there (Debian package {package})");
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        skip(&why);
        return None;
    }
    let program = build(source, flags);
    let alone = native(&program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = match command {
        "check" => check(program).arg(what).run(),
        _ => under(command, &[] as &[&str], program).arg(what).run(),
    };
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    Some(run)
}

/// How often a test repeats what chance decides: `whole` times in `cargo xtask test --all`, else `part` times.
pub fn repeats(whole: u32, part: u32) -> u32 {
    if is_whole() { whole } else { part }
}

/// All is tested that there is, as `cargo xtask test --all` does.
pub fn is_whole() -> bool {
    std::env::var_os("LOCKWRIGHT_WHOLE").is_some()
}

/// Copies a file that is to be executed, by another process. What this one has open for writing, a child that another test
/// starts meanwhile has open, too, and as long as that lasts nobody can execute it.
pub fn copy_program(from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
    let copied = Command::new("cp").arg("--").arg(from).arg(to).status();
    assert!(copied.expect("cp").success());
}
