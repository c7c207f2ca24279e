//! `meter --kernel`, `--pid` and `--system`: what the kernel counts by BPF, held to what programs
//! count themselves.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use schema::{errors, load};
use serde_json::Value;

use crate::executable;
use crate::harness::{Run, Scratch, program, run, skip, tool};

#[path = "../../../host/report/tests/schema/mod.rs"]
pub(crate) mod schema;

/// The tool with its helper in the same directory, if the kernel lets us load BPF programs. Else
/// the test is skipped; in CI it fails.
pub fn traced() -> Option<&'static Path> {
    static TOOL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let tool = TOOL.get_or_init(|| {
        let tool = PathBuf::from(tool().get_program());
        let probe = Command::new(tool.with_file_name("lockwright-bpf"))
            .arg("kernel")
            .stdin(Stdio::null())
            .output()
            .expect("lockwright-bpf");
        let said = String::from_utf8_lossy(&probe.stdout).into_owned();
        let is_permitted = said.starts_with("\"ready\"");
        assert!(is_permitted || std::env::var_os("LOCKWRIGHT_CI").is_none(), "{said}");
        is_permitted.then_some(tool)
    });
    if tool.is_none() {
        skip("the kernel does not let this user load BPF programs");
    }
    tool.as_deref()
}

/// What the tool wrote as JSON, which is checked against its published schema.
pub(super) fn written(json: &Path) -> Option<Value> {
    let document: Value = serde_json::from_str(&fs::read_to_string(json).ok()?).expect("JSON");
    let (_, name) = document["schema"].as_str()?.split_once('-')?;
    let schema = load(&format!("{name}.schema.json"));
    assert_eq!(errors(&schema, &schema, &document, ""), Vec::<String>::new(), "{name}");
    Some(document)
}

/// Runs the tool, and gives what it wrote as JSON.
pub(super) fn meter(tool: &Path, options: &[&str], program: &[&str]) -> (Run, Value) {
    let scratch = Scratch::new();
    let json = scratch.join("traced.json");
    let mut command = Command::new(tool);
    command.arg("meter").args(options).arg("--json").arg(&json);
    if !program.is_empty() {
        command.arg("--").args(program);
    }
    let run = run(command);
    let document = written(&json).unwrap_or_else(|| panic!("{}", run.stderr));
    (run, document)
}

pub(super) fn path(source: &str) -> String {
    program(source).to_str().expect("UTF-8").to_owned()
}

/// What `futex_counts.c` prints about itself.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    waits: u64,
    refused: u64,
    timed_out: u64,
    wakes: u64,
    woken: u64,
}

/// From its line: the counts, and the addresses of its words.
fn said(line: &str) -> (Counts, [u64; 2]) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words[at].parse::<u64>().expect(line);
    let address = |at: usize| u64::from_str_radix(words[at].trim_start_matches("0x"), 16).unwrap();
    let counts = Counts {
        waits: number(1),
        refused: number(2),
        wakes: number(3),
        woken: number(4),
        timed_out: number(5),
    };
    (counts, [address(0), address(6)])
}

const LOSSES: [&str; 5] = ["rows", "begins", "stacks", "missed", "waitv"];

fn is_whole(document: &Value) -> bool {
    LOSSES.iter().all(|what| document["lost"][what] == 0)
}

pub(super) fn nothing_lost(document: &Value) {
    assert!(is_whole(document), "{:#}", document["lost"]);
}

/// The same of the document: waits, refusals and timeouts at these words.
fn counted(document: &Value, [turn, never]: [u64; 2]) -> (u64, u64, u64) {
    let of = |address: u64| {
        let locks = document["locks"].as_array().unwrap().iter();
        let mut found = locks.filter(|lock| lock["addresses"][0] == address);
        let lock = found.next().unwrap_or_else(|| panic!("{address:#x}: {document:#}"));
        assert!(found.next().is_none());
        lock.clone()
    };
    let (turn, never) = (of(turn), of(never));
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(number(&never["waits"]["count"]), number(&never["timed_out"]));
    (number(&turn["waits"]["count"]), number(&turn["refused"]), number(&never["timed_out"]))
}

/// Functions of the program at which the word is waited for, and that end the waits.
fn functions<'d>(document: &'d Value, address: u64, which: &str) -> Vec<&'d str> {
    let mut locks = document["locks"].as_array().unwrap().iter();
    let lock = locks.find(|lock| lock["addresses"][0] == address).unwrap();
    let sites = lock[which].as_array().unwrap().iter();
    let own = |site: &'d Value| {
        let frames = site["stack"].as_array().unwrap().iter();
        let mut names = frames.filter_map(|frame| frame["function"].as_str());
        names.find(|name| ["await_turn", "hand_over"].contains(name)).unwrap_or("?")
    };
    let mut all: Vec<&str> = sites.map(own).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn futexes_of_the_machine_are_counted_as_the_program_counts_them() {
    let Some(tool) = traced() else { return };
    let program = path("futex_counts.c");
    let measure = || {
        let (run, document) = meter(tool, &["--system"], &[&program]);
        assert_eq!(run.code(), 0, "{}", run.stderr);
        let (counts, words) = said(&run.text());
        (run, document, counts, words)
    };
    // On a busy machine the program may have ended before anybody has looked where its code lies,
    // or more may happen than there is room for, which is counted.
    let (run, document, counts, words) = (0..6)
        .map(|_| measure())
        .find(|(_, document, _, words)| {
            is_whole(document) && functions(document, words[0], "sites") == ["await_turn"]
        })
        .expect("nothing is lost in one run of six");
    assert!(counts.waits > 0 && counts.timed_out == 10, "{counts:?}");
    assert_eq!(
        counted(&document, words),
        (counts.waits, counts.refused, counts.timed_out),
        "{counts:?}"
    );
    assert_eq!(functions(&document, words[0], "sites"), ["await_turn"]);
    assert_eq!(functions(&document, words[0], "wakers"), ["hand_over"]);
    assert!(run.stderr.contains("the futex `turn`"), "{}", run.stderr);
}

#[test]
fn a_process_that_runs_is_measured_until_it_ends() {
    let Some(tool) = traced() else { return };
    let mut measured = Command::new(path("futex_counts.c"))
        .arg("wait")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let scratch = Scratch::new();
    let json = scratch.join("traced.json");
    let mut meter = Command::new(tool)
        .args(["meter", "--pid", &measured.id().to_string(), "--json"])
        .arg(&json)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool");
    let mut report = BufReader::new(meter.stderr.take().unwrap());
    let mut text = String::new();
    report.read_line(&mut text).unwrap();
    assert!(text.contains("measuring the futexes of process"), "{text}");
    measured.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut line = String::new();
    measured.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(measured.wait().unwrap().success());
    report.read_to_string(&mut text).unwrap();
    assert!(meter.wait().unwrap().success(), "{text}");
    let document = written(&json).expect("a document");
    let (counts, words) = said(&line);
    assert_eq!(
        counted(&document, words),
        (counts.waits, counts.refused, counts.timed_out),
        "{counts:?}"
    );
    // Only the process's own wakes count: the wake of a joined thread is the kernel's.
    let woken = |what: &str| document[what].as_u64().unwrap();
    assert_eq!((woken("waking_calls"), woken("woken_threads")), (counts.wakes, counts.woken));
    assert_eq!(document["processes"].as_array().unwrap().len(), 1);
    nothing_lost(&document);
}

/// Measures a program in a PID namespace of its own, where it has a number that another process has
/// outside. `$1`: the tool; `$2`: the program; `$3`: a folder; the rest starts the program.
const IN_A_NAMESPACE: &str = r#"
set -eu
tool=$1 dir=$2; shift 2
mkfifo "$dir/in"
"$@" wait <"$dir/in" >"$dir/out" &
exec 3>"$dir/in"
pid=$!
# Where a further namespace is made, the program is a child.
if [ "$1" = unshare ]; then
	until pid=$(cat /proc/$!/task/$!/children) && [ "$pid" ]; do sleep 0.01; done
	pid=${pid% }
	until [ "$(cat /proc/$pid/comm)" != unshare ]; do sleep 0.01; done
fi
"$tool" meter --pid $pid --json "$dir/json" 2>"$dir/said" 3>&- &
meter=$!
until grep -q measuring "$dir/said" || ! kill -0 $meter; do sleep 0.01; done
printf x >&3
exec 3>&-
wait $meter
"#;

/// The report about the program in such a namespace, started from there or in a further one.
fn in_a_namespace(start: &[&str]) -> Option<(Value, String)> {
    let tool = traced()?;
    let scratch = Scratch::new();
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "--mount-proc", "sh", "-c", IN_A_NAMESPACE, "sh"]);
    inside.arg(tool).arg(scratch.path()).args(start).arg(path("futex_counts.c"));
    let run = run(inside);
    let said = fs::read_to_string(scratch.join("said")).unwrap_or_default();
    if run.stderr.contains("unshare failed") {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{}", run.stderr);
        skip("this user may have no PID namespace of its own");
        return None;
    }
    assert_eq!(run.code(), 0, "{}{said}", run.stderr);
    let document = written(&scratch.join("json")).expect("a document");
    Some((document, fs::read_to_string(scratch.join("out")).expect("counts")))
}

/// Inside, a process has another number than the kernel's own, which belongs to a process outside.
#[test]
fn a_process_in_a_pid_namespace_is_measured_and_no_other() {
    for start in [&[][..], &["unshare", "--pid", "--fork", "--mount-proc"]] {
        let Some((document, line)) = in_a_namespace(start) else { return };
        let (counts, words) = said(&line);
        assert_eq!(
            counted(&document, words),
            (counts.waits, counts.refused, counts.timed_out),
            "{counts:?} {start:?}"
        );
        let processes = document["processes"].as_array().expect("processes");
        let commands: Vec<_> = processes.iter().map(|process| &process["command"]).collect();
        assert!(commands.len() == 1 && commands[0].as_str().unwrap().starts_with("futex_counts"));
    }
}

/// Classes of locks that threads of this name waited for, and how often.
fn waited(document: &Value, name: &str) -> Vec<(String, u64)> {
    let of = |lock: &Value| {
        let waiters = lock["waiters"].as_array().unwrap().iter();
        let own = waiters.filter(|waiter| waiter["name"] == name);
        let count: u64 = own.map(|waiter| waiter["waits"]["count"].as_u64().unwrap()).sum();
        (count > 0).then(|| (lock["name"].as_str().unwrap().to_owned(), count))
    };
    document["locks"].as_array().unwrap().iter().filter_map(of).collect()
}

#[test]
fn the_kernels_locks_are_told_with_who_waited_where() {
    let Some(tool) = traced() else { return };
    let (run, document) = meter(tool, &["--kernel", "--top", "0"], &[&path("maps.c"), "4"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let waits = waited(&document, "maps");
    assert!(waits.iter().any(|(name, _)| name == "mm->mmap_lock"), "{waits:?}");
    for words in ["`mm->mmap_lock` (", "rwsem, write", "WAITERS", "maps (thread "] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    // What lines have is all that was counted.
    let of = |lock: &Value, what: &str| lock["waits"][what].as_u64().unwrap();
    let locks = document["locks"].as_array().unwrap();
    let sum = |what| locks.iter().map(|lock| of(lock, what)).sum::<u64>();
    let lost = |what: &str| document["lost"][what].as_u64().unwrap();
    assert_eq!(Some(sum("count") + lost("rows")), document["waits"].as_u64());
    assert_eq!(Some(sum("total_ns") + lost("rows_ns")), document["waited_ns"].as_u64());
}

/// The owner at the begin of a wait; a thread that has another lock of the same class is none.
#[test]
fn the_kernels_rwsem_names_its_owner() {
    let Some(tool) = traced() else { return };
    let program = path("inode_owner.c");
    let measure = || meter(tool, &["--kernel", "--top", "0"], &[&program]);
    let lock = |document: &Value| {
        let mut locks = document["locks"].as_array().unwrap().iter();
        let lock = locks.find(|lock| lock["name"] == "inode->i_rwsem")?;
        let of = |what: &str, name: &str| {
            let all = lock[what].as_array().unwrap().iter();
            let own = all.filter(|thread| thread["name"] == name);
            own.map(|thread| thread["waits"]["count"].as_u64().unwrap()).sum::<u64>()
        };
        let owners = ["inode_owner_", "inode_other_"].map(|name| of("owners", name));
        Some((of("waiters", "inode_waiter_"), owners))
    };
    // The waiter may have come in between each time.
    let found = (0..6).map(|_| measure()).find_map(|(run, document)| {
        let (waits, owners) = lock(&document)?;
        (waits > 0).then_some((run, waits, owners))
    });
    let (run, waits, [by_owner, by_other]) = found.expect("a wait in one run of six");
    assert!((1..=waits).contains(&by_owner), "{by_owner} of {waits}: {}", run.stderr);
    assert_eq!(by_other, 0, "{}", run.stderr);
    assert!(run.stderr.contains("held by "), "{}", run.stderr);
}

/// Tables of moments, that together have what the whole has.
#[test]
fn each_interval_has_what_is_new_in_it() {
    let Some(tool) = traced() else { return };
    let options = ["--kernel", "--interval", "0.01", "--top", "0"];
    let (run, document) = meter(tool, &options, &[&path("maps.c"), "4"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let lines = run.stderr.lines().filter(|line| line.starts_with("the kernel's own locks in the"));
    let waits = |line: &str| -> u64 {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("wait")).expect(line);
        words[at - 1].replace(',', "").parse().expect(line)
    };
    let each: Vec<u64> = lines.map(waits).collect();
    assert!(each.len() > 1, "{}", run.stderr);
    // What came after the last is in the whole alone.
    assert!(each.iter().sum::<u64>() <= document["waits"].as_u64().unwrap(), "{each:?}");
    assert!(run.stderr.contains("; by maps"), "{}", run.stderr);
    assert!(run.stderr.contains("lockwright meter: the kernel's own locks"), "{}", run.stderr);
}

/// The clean twin: the lock is a process's own, and one thread waits for nobody there.
#[test]
fn one_thread_does_not_wait_for_its_own_mmap_lock() {
    let Some(tool) = traced() else { return };
    let program = path("maps.c");
    let mut seen = Vec::new();
    // The thread that is joined may end, and be joined, in the kernel at the same time; and a
    // reader of the process' list of mappings takes the lock meanwhile, too.
    let is_silent = (0..6).any(|_| {
        let (_, document) = meter(tool, &["--kernel"], &[&program, "1"]);
        let waits = waited(&document, "maps");
        let writes = waits.iter().filter(|(name, _)| name == "mm->mmap_lock").map(|(_, n)| *n);
        let writes = writes.sum::<u64>();
        seen.push(waits);
        writes < 10
    });
    assert!(is_silent, "{seen:?}");
}

#[test]
fn the_programs_locks_its_futexes_and_the_kernels_are_in_one_table() {
    let Some(tool) = traced() else { return };
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    let options = ["--with-kernel", "--top", "0", "--html", page.to_str().unwrap()];
    let (run, document) = meter(tool, &options, &[&path("every_wait.c")]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let rows = document["every_wait"].as_array().unwrap();
    let row = |of: &str, what: &str| {
        let mut rows = rows.iter().filter(|row| row["of"] == *of);
        let row = rows.find(|row| row["what"].as_str().unwrap().contains(what));
        row.unwrap_or_else(|| panic!("{of}, {what}: {document:#}"))["waits"].clone()
    };
    // As often as the program has one thread wait; what follows is the kernel's own affair.
    assert_eq!(row("program", "`table`")["count"], 10);
    assert_eq!(row("futex", "`word`")["count"], 10);
    assert!(row("kernel", "`mm->mmap_lock`")["count"].as_u64().unwrap() > 0);
    let times: Vec<u64> =
        rows.iter().map(|row| row["waits"]["total_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    // Only waits of this program's threads are listed for the kernel's locks.
    let locks = document["kernel"]["locks"].as_array().unwrap();
    let waiters = locks.iter().flat_map(|lock| lock["waiters"].as_array().unwrap());
    let mut pids: Vec<u64> = waiters.map(|waiter| waiter["pid"].as_u64().unwrap()).collect();
    pids.dedup();
    assert_eq!(pids, [document["processes"][0]["pid"].as_u64().unwrap()]);
    // What is measured otherwise is there as ever.
    assert_eq!(document["schema"], "lockwright-meter");
    for words in [
        "EVERY WAIT FOR A LOCK",
        "mutex `table`: takes_table (",
        "kernel's `mm->mmap_lock` (",
        "KERNEL LOCKS, by the kernel's events of contention",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    let page = fs::read_to_string(page).unwrap();
    for words in ["Every wait", "mutex `table`", "mm-&gt;mmap_lock"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn without_its_helper_a_program_is_not_begun() {
    let scratch = Scratch::new();
    let alone = scratch.join("lockwright");
    executable::copy(tool().get_program().as_ref(), &alone);
    let mark = scratch.join("mark");
    let mut command = Command::new(&alone);
    command.args(["meter", "--with-kernel", "--", "touch"]).arg(&mark);
    let run = run(command);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("lockwright-bpf is not there"), "{}", run.stderr);
    assert!(!mark.exists());
}

#[test]
fn lockmeters_columns_say_what_is_not_known() {
    let Some(tool) = traced() else { return };
    let options = ["--kernel", "--compat", "lockmeter"];
    let (run, _) = meter(tool, &options, &[&path("maps.c"), "4"]);
    for words in
        ["SPINLOCKS         HOLD            WAIT", "RWLOCK WRITES", "mm->mmap_lock", "`?` is what"]
    {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn the_programs_end_is_passed_on() {
    let Some(tool) = traced() else { return };
    let (run, _) = meter(tool, &["--kernel"], &["sh", "-c", "exit 7"]);
    assert_eq!(run.code(), 7, "{}", run.stderr);
}

#[test]
fn without_its_helper_the_tool_says_how_to_get_it() {
    let scratch = Scratch::new();
    let alone = scratch.join("lockwright");
    executable::copy(tool().get_program().as_ref(), &alone);
    let mut command = Command::new(&alone);
    command.args(["meter", "--kernel", "--seconds", "0.1"]);
    let run = run(command);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("lockwright-bpf is not there"), "{}", run.stderr);
    assert!(run.stderr.contains("cargo build -p lockwright-cli"), "{}", run.stderr);
}

#[test]
fn who_may_not_is_refused_with_the_remedy() {
    let Some(tool) = traced() else { return };
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(tool);
    command.args(["meter", "--kernel", "--seconds", "0.1"]);
    let output = command.output().expect("setpriv of util-linux");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("failed to execute") {
        skip("the tool's directory is closed to other users");
        return;
    }
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("CAP_BPF and CAP_PERFMON"), "{said}");
}
