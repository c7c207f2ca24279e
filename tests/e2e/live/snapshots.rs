//! `lockwright top` into a pipe or file, recordings, and `lockwright ps`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Run, Running, Scratch, is_alive, program, run, spawn, tool, until};

/// `stages.c` under `lockwright run`, in a folder of its own.
pub struct Staged {
    scratch: Scratch,
    running: Running,
}

impl Staged {
    pub fn under(command: &str, options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let mut tool = tool();
        tool.args([command, "--ledger-dir"]).arg(scratch.join("ledgers")).args(options);
        tool.arg("--").arg(program("stages.c")).arg(scratch.path());
        Self { running: spawn(tool), scratch }
    }

    pub fn pid(&self) -> u32 {
        self.running.program_id()
    }

    /// Has it go on to this stage.
    pub fn go_to(&self, stage: &str) {
        fs::write(self.scratch.join(stage), "").unwrap();
    }

    pub fn stderr(&self) -> String {
        self.running.stderr()
    }

    pub fn end(self) -> (Run, Scratch) {
        self.go_to("end");
        (self.running.wait(), self.scratch)
    }
}

/// `stages.c` by itself; it is killed with the test.
pub struct Unwatched {
    pub child: Child,
    pub scratch: Scratch,
}

impl Unwatched {
    pub fn start() -> Self {
        let scratch = Scratch::new();
        let mut command = Command::new(program("stages.c"));
        command.arg(scratch.path()).stdout(Stdio::null());
        Self { child: command.spawn().unwrap(), scratch }
    }

    pub fn go_to(&self, stage: &str) {
        fs::write(self.scratch.join(stage), "").unwrap();
    }
}

impl Drop for Unwatched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn top(arguments: &[&str]) -> Run {
    let mut command = tool();
    command.arg("top").args(arguments);
    run(command)
}

/// The moments of `top --json -`.
fn moments(arguments: &[&str]) -> Vec<Value> {
    let run = top(&[&["--json", "-"], arguments].concat());
    assert_eq!(run.code(), 0, "{}", run.stderr);
    parsed(&run.stdout)
}

pub fn parsed(lines: &[u8]) -> Vec<Value> {
    let lines = String::from_utf8(lines.to_vec()).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

/// The one of an array whose `field` is `value`.
pub fn by<'v>(array: &'v Value, field: &str, value: &str) -> Option<&'v Value> {
    array.as_array().unwrap().iter().find(|it| it[field] == value)
}

/// Looks at it until a moment is `right`.
pub fn until_moment(what: &str, arguments: &[&str], right: impl Fn(&Value) -> bool) -> Value {
    until(what, || moments(arguments).pop().filter(|moment| right(moment)))
}

#[test]
fn a_moment_says_who_holds_and_who_waits() {
    let staged = Staged::under("run", &[]);
    let pid = staged.pid().to_string();
    let waits_for_table = |moment: &Value| {
        by(&moment["threads"], "name", "patient").is_some_and(|it| it["wait"].is_object())
    };
    let moment = until_moment("the wait for `table`", &["--count", "1", &pid], waits_for_table);
    let patient = by(&moment["threads"], "name", "patient").unwrap();
    let mut threads = moment["threads"].as_array().unwrap().iter();
    let main = threads.find(|it| it["tid"] == staged.pid()).expect("the first thread");
    assert_eq!(patient["wait"]["holders"], serde_json::json!([main["tid"]]), "{moment:#}");
    assert_eq!(patient["wait"]["is_for_thread"], true);
    assert!(patient["wait"]["what"].as_str().unwrap().contains("`table`"), "{patient:#}");
    assert!(patient["wait"]["place"]["text"].as_str().unwrap().starts_with("patient"));
    assert_eq!(main["held"][0]["name"], "table", "{main:#}");
    assert_eq!((&moment["is_measured"], &moment["is_checked"]), (&true.into(), &true.into()));
    let table = by(&moment["locks"], "name", "table").unwrap();
    assert_eq!(table["id"], patient["wait"]["lock"]);
    assert_eq!(moment["findings"], serde_json::json!([]), "nothing is wrong");
    staged.end();
}

/// The planted fault, and a program that has none: the one above.
#[test]
fn a_deadlock_is_seen_as_it_comes() {
    let staged = Staged::under("run", &["--on-deadlock", "report"]);
    let pid = staged.pid().to_string();
    staged.go_to("deadlock");
    let is_dead = |name: &str, moment: &Value| {
        by(&moment["threads"], "name", name).is_some_and(|it| it["is_deadlocked"] == true)
    };
    let both = |moment: &Value| is_dead("goes_left", moment) && is_dead("goes_right", moment);
    let moment = until_moment("the deadlock", &["--count", "1", &pid], both);
    assert!(!is_dead("patient", &moment) && !is_dead("writer", &moment), "{moment:#}");
    let finding = &moment["findings"][0];
    assert_eq!((&finding["grade"], &finding["is_error"]), (&"deadlocked".into(), &true.into()));
    let text = top(&["--count", "1", &pid]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("they wait for each other"), "{text}");
    assert!(text.contains("error[circular-dependency]: deadlocked"), "{text}");
    staged.end();
}

#[test]
fn what_top_counts_is_what_the_program_counts() {
    let staged = Staged::under("meter", &["--keep"]);
    let pid = staged.pid().to_string();
    let several = moments(&["--count", "3", "--interval", "0.05", &pid]);
    let taken = |moment: &Value| {
        by(&moment["locks"], "name", "journal")
            .map_or(0, |lock| lock["totals"]["acquisitions"].as_u64().unwrap())
    };
    assert_eq!(several.len(), 3);
    assert!(several.is_sorted_by_key(taken), "{several:#?}");
    assert_eq!(several[0]["interval_ns"], 0);
    assert!(several[2]["interval_ns"].as_u64() > Some(0));
    let (run, scratch) = staged.end();
    let said = run.text();
    let counted = said.lines().find_map(|line| line.strip_prefix("journal ")).unwrap();
    let kept = fs::read_dir(scratch.join("ledgers")).unwrap().next().unwrap().unwrap().path();
    let last = moments(&[kept.to_str().unwrap()]).pop().unwrap();
    assert_eq!(taken(&last).to_string(), counted);
    assert_eq!(last["processes"][0]["runs"], false);
    // A ledger by itself is one, too.
    let ledger = crate::harness::ledgers(&kept).remove(0);
    assert_eq!(taken(&moments(&[ledger.to_str().unwrap()])[0]).to_string(), counted);
}

#[test]
fn a_program_that_top_starts_is_shown_to_its_end() {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["top", "--interval", "0.1", "--json", "-", "--"]);
    command.arg(program("stages.c")).arg(scratch.path());
    let running = spawn(command);
    until("a moment", || (running.stdout().len() > 10).then_some(()));
    fs::write(scratch.join("end"), "").unwrap();
    let run = running.wait();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let moments = parsed(&run.stdout);
    let last = moments.last().unwrap();
    assert_eq!(last["processes"][0]["runs"], false, "{last:#}");
    // Standard output is for moments.
    assert!(run.stderr.contains("journal "), "{}", run.stderr);
    let journal = by(&last["locks"], "name", "journal").unwrap();
    let counted = run.stderr.lines().find_map(|line| line.strip_prefix("journal ")).unwrap();
    assert_eq!(journal["totals"]["acquisitions"].to_string(), counted);
}

#[test]
fn a_recording_shows_the_same() {
    let staged = Staged::under("run", &[]);
    let pid = staged.pid().to_string();
    let scratch = Scratch::new();
    let file = scratch.join("night.lwt");
    let file = file.to_str().unwrap();
    let options = ["--count", "4", "--interval", "0.05"];
    let live = moments(&[&options[..], &["--record", file, &pid]].concat());
    assert_eq!(moments(&["--interval", "0.001", file]), live);
    let other = scratch.join("other");
    fs::write(&other, b"\x1f\x8bno recording").unwrap();
    let run = top(&[other.to_str().unwrap()]);
    assert_ne!(run.code(), 0, "what is no recording is taken for a program, which cannot be run");
    let run = top(&["--record", "/nowhere/x", &pid]);
    assert!(run.stderr.contains("cannot write /nowhere/x"), "{}", run.stderr);
    staged.end();
}

#[test]
fn a_process_that_nobody_watches_is_looked_into() {
    let process = Unwatched::start();
    let pid = process.child.id().to_string();
    let has_holder = |moment: &Value| {
        by(&moment["threads"], "name", "patient")
            .is_some_and(|it| it["wait"]["holders"] == serde_json::json!([process.child.id()]))
    };
    let moment = until_moment("the wait", &["--count", "1", "--pid", &pid], has_holder);
    assert_eq!(moment["is_measured"], false);
    assert!(by(&moment["locks"], "name", "table").is_some(), "{moment:#}");
    assert_eq!(moment["findings"], serde_json::json!([]));
    process.go_to("deadlock");
    let is_found = |moment: &Value| moment["findings"].as_array().is_some_and(|it| it.len() == 1);
    let moment = until_moment("the deadlock", &["--count", "1", "--pid", &pid], is_found);
    let left = by(&moment["threads"], "name", "goes_left").unwrap();
    assert_eq!(left["is_deadlocked"], true, "{moment:#}");
    assert_eq!(by(&moment["threads"], "name", "patient").unwrap()["is_deadlocked"], false);
    // The wait that never ends is there all the time, whether it is counted or estimated.
    let several = moments(&["--count", "3", "--interval", "0.3", "--pid", &pid]);
    let table = by(&several[2]["locks"], "name", "table").unwrap();
    let waiting = table["rates"]["waiting"].as_f64().unwrap();
    assert!((0.5..=1.5).contains(&waiting), "{waiting}");
}

#[test]
fn what_cannot_be_looked_at_says_why() {
    let run = top(&["--pid", "999999999"]);
    assert_eq!(run.code(), 127);
    assert!(run.stderr.contains("there is no process 999999999"), "{}", run.stderr);
    let run = top(&["999999999"]);
    assert!(run.stderr.contains("lockwright ps"), "{}", run.stderr);
    let own = std::process::id().to_string();
    let run = top(&[&own]);
    assert!(run.stderr.contains("is not watched"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("top --pid {own}")), "{}", run.stderr);
    let run = top(&["/"]);
    assert!(run.stderr.contains("no ledger in /"), "{}", run.stderr);
    assert_eq!(top(&[]).code(), 2);
    assert_eq!(top(&["./no-such-program"]).code(), 127);
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let staged = Staged::under("run", &[]);
    let mut shell = Command::new("sh");
    let line = r#""$0" top --interval 0.05 "$1" | head -1; "$0" top --interval 0.05 -o "$2/text" --count 2 "$1""#;
    shell.args(["-c", line, crate::TOOL, &staged.pid().to_string()]);
    let scratch = Scratch::new();
    shell.arg(scratch.path());
    let run = run(shell);
    assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
    assert_eq!(run.text().lines().count(), 1, "{}", run.text());
    let text = fs::read_to_string(scratch.join("text")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("process ")).count(), 2, "{text}");
    staged.end();
}

#[test]
fn who_is_watched_is_listed() {
    let staged = Staged::under("meter", &[]);
    let pid = staged.pid();
    let list = |arguments: &[&str]| {
        let mut command = tool();
        command.arg("ps").args(arguments);
        run(command)
    };
    let all: Value = serde_json::from_slice(&list(&["--json", "-"]).stdout).unwrap();
    let mine = all.as_array().unwrap().iter().find(|it| it["pid"] == pid).expect("listed");
    assert_eq!(mine["engines"], serde_json::json!(["lockmeter"]));
    assert!(mine["ledger_bytes"].as_u64() > Some(4096), "{mine:#}");
    assert!(Path::new(mine["run"].as_str().unwrap()).is_dir(), "{mine:#}");
    let text = list(&[]).text();
    assert!(text.lines().any(|line| line.trim_start().starts_with(&pid.to_string())), "{text}");
    staged.end();
    assert!(!is_alive(pid));
    let all: Value = serde_json::from_slice(&list(&["--json", "-"]).stdout).unwrap();
    assert!(all.as_array().unwrap().iter().all(|it| it["pid"] != pid), "it has ended");
}

/// Two shells that create and remove files in one directory wait for its `i_rwsem` now and then.
#[test]
fn the_kernels_own_locks_are_shown() {
    if crate::outside::by_kernel::traced().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let line = r#"while test -d "$0"; do :>"$0/$$"; rm "$0/$$"; done"#;
    let shells: Vec<_> = (0..3)
        .map(|_| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).arg(scratch.path()).stderr(Stdio::null());
            Unwatched { child: shell.spawn().unwrap(), scratch: Scratch::new() }
        })
        .collect();
    let has_waits = |moment: &Value| {
        by(&moment["locks"], "name", "inode->i_rwsem")
            .is_some_and(|lock| lock["totals"]["contended"].as_u64() > Some(0))
    };
    let options = ["--kernel", "--interval", "0.2", "--count", "4"];
    let moment = until_moment("waits for the directory", &options, has_waits);
    assert_eq!((&moment["is_measured"], &moment["counts_waits"]), (&false.into(), &true.into()));
    assert!(moment["interval_ns"].as_u64() > Some(0));
    drop(shells);
}
