//! What is shown, and done, while a program runs. The program goes on until a named pipe is opened.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{
    FOUND, Run, Running, Scratch, check, check_with, is_alive, lock_names, program, run, signal,
    tool, under, until,
};
use crate::outside::by_kernel::schema::{errors, load};

const CYCLE: &str = "error[circular-dependency]";

/// A folder with a pipe in it.
struct Pipe {
    scratch: Scratch,
    path: PathBuf,
}

impl Pipe {
    fn new() -> Self {
        let scratch = Scratch::new();
        let path = scratch.join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        Self { scratch, path }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// The program that does `what` until the pipe is opened, under a command of the tool.
    fn start(&self, command: &str, options: &[&str], what: &str) -> Running {
        under(command, options, program("live.c")).arg(what).arg(&self.path).spawn()
    }

    /// Has the program go on to its end.
    fn end(&self, running: Running) -> Run {
        fs::write(&self.path, "").expect("the pipe");
        let run = running.wait();
        assert!(run.text().ends_with("the end\n"), "{}{}", run.text(), run.stderr);
        run
    }
}

/// The JSON objects that a command has left in a file, one a line.
fn objects(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

fn long_waits(report: &Value) -> &[Value] {
    report["long_waits"].as_array().unwrap_or_else(|| panic!("no long waits: {report:#}"))
}

#[test]
fn a_prediction_is_shown_while_the_program_runs() {
    for command in ["check", "run"] {
        let pipe = Pipe::new();
        let mut running = pipe.start(command, &["--live"], "both-orders");
        running.await_stderr("lockwright: 1 finding (1 likely); the program runs");
        assert!(running.stderr().contains(CYCLE) && running.is_running());
        let run = pipe.end(running);
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
        assert_eq!(lock_names(run.finding()), ["left", "right"]);
        assert_eq!(run.code(), FOUND);
        assert_eq!(run.stderr.matches(CYCLE).count(), 1, "once: {}", run.stderr);
        assert!(run.stderr.contains("no further findings"), "{}", run.stderr);
        assert!(run.stderr.contains("1 finding shown while the program ran"), "{}", run.stderr);
    }
}

#[test]
fn a_program_without_faults_is_looked_at_in_vain() {
    let pipe = Pipe::new();
    let running = pipe.start("check", &["--live", "--interval=0.2"], "one-order");
    running.await_stderr("no findings so far");
    let run = pipe.end(running);
    assert_eq!((run.verdicts().len(), run.code()), (0, 0), "{}", run.stderr);
    assert!(run.stderr.contains("lockwright: no findings; watched 2 locks"), "{}", run.stderr);
}

#[test]
fn a_file_has_what_was_found_so_far_and_then_all() {
    let pipe = Pipe::new();
    let file = pipe.file("report.txt");
    let options = ["--live", "-o", file.to_str().unwrap()];
    let running = pipe.start("check", &options, "both-orders");
    until("the finding in the file", || {
        let text = fs::read_to_string(&file).ok()?;
        text.contains(CYCLE).then_some(())
    });
    let run = pipe.end(running);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches(CYCLE).count(), 1, "{text}");
    assert!(text.contains("1 finding (1 likely); watched"), "{text}");
    assert_eq!(run.stderr, "", "it is the program's alone");
}

#[test]
fn what_proves_to_be_none_is_taken_back() {
    let pipe = Pipe::new();
    let events = pipe.file("events");
    let command = format!("--on-finding=cat >> {}", events.display());
    let running = pipe.start("check", &["--live", &command], "semaphore");
    running.await_stderr("the program runs");
    let run = pipe.end(running);
    assert_eq!((run.verdicts().len(), run.code()), (0, 0), "{}", run.stderr);
    let note =
        "what was shown as likely while the program ran is no finding in view of the whole run";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let events = objects(&events);
    let names: Vec<&Value> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["finding", "retracted"]);
}

#[test]
fn a_command_gets_each_finding() {
    for is_live in [false, true] {
        let pipe = Pipe::new();
        let (events, environment) = (pipe.file("events"), pipe.file("environment"));
        let command =
            format!("--on-finding=cat >> {}; env > {}", events.display(), environment.display());
        let options: Vec<&str> =
            is_live.then_some("--live").into_iter().chain([command.as_str()]).collect();
        let running = pipe.start("check", &options, "both-orders");
        if is_live {
            until("the event", || objects(&events).first().map(drop));
        }
        let run = pipe.end(running);
        let [event] = &objects(&events)[..] else { panic!("one event: {}", run.stderr) };
        assert_eq!(event["event"], "finding");
        let exe = event["exe"].as_str().unwrap();
        assert!(exe.ends_with("/live"), "{exe}");
        let finding = run.finding();
        for (key, value) in finding.as_object().unwrap() {
            // The ways to a place are the same, but a step may lie elsewhere in the list.
            assert_eq!(&event[key], value, "{key}");
        }
        let environment = fs::read_to_string(environment).unwrap();
        // What runs the tests has variables with the library's name, too.
        let has = |variable: &str, text: &str| {
            environment.lines().any(|it| it.starts_with(variable) && it.contains(text))
        };
        assert!(!has("LD_PRELOAD=", "liblockwright"), "{environment}");
        assert!(!has("LOCKWRIGHT_DIR=", ""), "{environment}");
    }
}

#[test]
fn no_finding_no_command() {
    let scratch = Scratch::new();
    let events = scratch.join("events");
    let command = format!("--on-finding=cat >> {}", events.display());
    let run = check_with(&[command.as_str()], program("inorder.c")).run();
    assert_eq!((run.verdicts().len(), run.code()), (0, 0), "{}", run.stderr);
    assert!(!events.exists());
}

#[test]
fn a_command_that_fails_is_noted() {
    let run = check_with(&["--on-finding=exit 3"], program("abba.c")).run();
    assert_eq!(run.code(), FOUND);
    let note = "note: the command of --on-finding failed: exit status: 3: `exit 3`";
    assert!(run.stderr.contains(note), "{}", run.stderr);
}

#[test]
fn a_deadlock_leads_to_a_command() {
    let scratch = Scratch::new();
    let events = scratch.join("events");
    let command = format!("--on-deadlock=exec:cat >> {}", events.display());
    let running = check_with(&[command.as_str()], program("deadlock.c")).spawn();
    let pid = running.program_id();
    until("the event", || objects(&events).first().map(drop));
    running.await_stderr("left hanging");
    assert!(is_alive(pid), "{}", running.stderr());
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    let [event] = &objects(&events)[..] else { panic!("one event: {}", run.stderr) };
    assert_eq!((&event["event"], &event["grade"]), (&"deadlock".into(), &"deadlocked".into()));
    assert_eq!(event["pid"], pid);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_long_wait_is_reported_with_its_holder_while_it_lasts() {
    for command in ["check", "meter", "run"] {
        let pipe = Pipe::new();
        let events = pipe.file("events");
        let on_finding = format!("--on-finding=cat >> {}", events.display());
        let options = ["--wait-threshold=200ms", &on_finding];
        let running = pipe.start(command, &options, "held");
        running.await_stderr("taken in holder");
        let said = running.stderr();
        assert!(said.contains("waiting for more than 200 ms:"), "{said}");
        assert!(said.contains("waits for `left`, in waiter"), "{said}");
        until("the event", || objects(&events).first().map(drop));
        assert_eq!(objects(&events)[0]["event"], "long-wait");
        let run = pipe.end(running);
        let [wait] = long_waits(run.report()) else { panic!("once: {:#}", run.report()) };
        assert_eq!((&wait["kind"], &wait["lock"]["name"]), (&"lock".into(), &"left".into()));
        assert_eq!(wait["stack"][0]["function"], "waiter", "{wait:#}");
        assert_eq!(wait["holders"][0]["stack"][0]["function"], "holder", "{wait:#}");
        assert_eq!(wait["process"], 0);
        // Also where lockmeter alone watches, which records no names.
        for thread in [&wait["thread"], &wait["holders"][0]["thread"]] {
            assert!(!thread["name"].as_str().unwrap_or_default().is_empty(), "{wait:#}");
        }
        let schema =
            load(if command == "meter" { "meter.schema.json" } else { "report.schema.json" });
        let mut document = run.report().clone();
        // The harness looks for some in each document.
        document
            .as_object_mut()
            .unwrap()
            .retain(|name, value| name != "findings" || !value.is_null());
        assert_eq!(errors(&schema, &schema, &document, ""), Vec::<String>::new());
        assert!(wait["waited_ns"].as_u64() >= Some(200_000_000), "{wait:#}");
        assert_eq!(run.code(), 0, "it is no finding: {}", run.stderr);
    }
}

/// Advice comes at the end, with the lock's name; of a program whose locks are not waited for there is none.
#[test]
fn a_command_gets_advice_on_a_measurement() {
    let scratch = Scratch::new();
    let events = scratch.join("events");
    let on_finding = format!("--on-finding=cat >> {}", events.display());
    let run = under("meter", &[on_finding.as_str()], program("timeline.c")).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let advice = run.report()["advice"].as_array().unwrap().clone();
    let told = objects(&events);
    assert!(!advice.is_empty() && told.len() == advice.len(), "{told:#?} {advice:#?}");
    for (told, advice) in told.iter().zip(&advice) {
        assert_eq!((&told["event"], &told["text"]), (&"advice".into(), &advice["text"]));
        let lock = &run.report()["locks"][advice["lock"].as_u64().unwrap() as usize];
        assert_eq!(told["lock_name"], lock["name"]);
    }
    let none = scratch.join("none");
    let on_finding = format!("--on-finding=cat >> {}", none.display());
    let run = under("meter", &[on_finding.as_str()], program("abba.c")).run();
    assert_eq!(run.report()["advice"], serde_json::json!([]));
    assert!(!none.exists(), "{}", run.stderr);
}

#[test]
fn idle_threads_are_no_long_waits() {
    for command in ["check", "meter"] {
        for what in ["idle", "joined"] {
            let pipe = Pipe::new();
            let options = ["--wait-threshold=20ms", "--interval=0.3"];
            let running = pipe.start(command, &options, what);
            running.await_stderr("1 thread waiting");
            let run = pipe.end(running);
            assert!(long_waits(run.report()).is_empty(), "{}", run.stderr);
            assert!(!run.stderr.contains("waiting for more than"), "{}", run.stderr);
            let options = ["--wait-threshold=20ms", "--wait-events"];
            let running = pipe.start(command, &options, what);
            running.await_stderr("waiting for more than 20 ms:");
            let run = pipe.end(running);
            let [wait] = long_waits(run.report()) else { panic!("{:#}", run.report()) };
            let kind = if what == "idle" { "condition" } else { "thread" };
            assert_eq!(wait["kind"], kind, "{wait:#}");
        }
    }
}

#[test]
fn a_join_with_a_lock_held_is_a_long_wait() {
    let pipe = Pipe::new();
    let running = pipe.start("check", &["--wait-threshold=50ms"], "joined-holding");
    running.await_stderr("waits to join thread 2");
    let run = pipe.end(running);
    assert_eq!(long_waits(run.report()).len(), 1, "{}", run.stderr);
}

#[test]
fn the_first_finding_of_a_grade_ends_the_run() {
    for what in ["both-orders", "stubborn"] {
        let pipe = Pipe::new();
        let running = pipe.start("check", &["--abort-on=likely", "--fail-on=deadlocked"], what);
        let pid = running.program_id();
        let run = running.wait();
        assert_eq!(run.code(), FOUND, "{}", run.stderr);
        assert!(!is_alive(pid) && !run.text().contains("the end"));
        assert!(run.stderr.contains(CYCLE), "{}", run.stderr);
        let note = "note: the run is ended (--abort-on likely)";
        assert!(run.stderr.contains(note), "{}", run.stderr);
        let signal = if what == "stubborn" { libc::SIGKILL } else { libc::SIGTERM };
        assert_eq!(run.report()["processes"][0]["end"]["signal"], signal, "{}", run.stderr);
    }
    let pipe = Pipe::new();
    let options = ["--abort-on=deadlocked", "--exit-code=9"];
    let running = pipe.start("check", &options, "both-orders");
    running.await_stderr("the program runs");
    assert_eq!(pipe.end(running).code(), 9, "it ended by itself");
}

#[test]
fn a_run_ends_after_a_time() {
    for command in ["check", "meter", "run"] {
        let pipe = Pipe::new();
        let run = pipe.start(command, &["--seconds=1"], "held").wait();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        assert!(!run.text().contains("the end"));
        assert_eq!(run.report()["processes"][0]["end"]["signal"], libc::SIGTERM, "{}", run.stderr);
    }
    let run = check_with(&["--seconds=100"], program("inorder.c")).run();
    assert_eq!(run.code(), 0, "it ended before: {}", run.stderr);
}

#[test]
fn a_line_tells_what_the_program_does() {
    for command in ["check", "meter", "run"] {
        let pipe = Pipe::new();
        let running = pipe.start(command, &["--interval=0.2"], "busy");
        running.await_stderr("hottest `left` (");
        running.await_stderr("held by worker");
        let run = pipe.end(running);
        let line = run.stderr.lines().find(|line| line.contains("hottest")).unwrap();
        assert!(
            line.starts_with("lockwright: after ") && line.contains("acquisitions/s"),
            "{line}"
        );
        let is_measured = line.contains("of waits a second") || line.contains("1 thread waiting");
        assert!(is_measured, "{line}");
    }
}

#[test]
fn a_page_is_opened() {
    let scratch = Scratch::new();
    let (folder, page, opened) =
        (scratch.join("bin"), scratch.join("p.html"), scratch.join("opened"));
    fs::create_dir(&folder).unwrap();
    let open = |options: &[&str]| {
        let run = check_with(options, program("abba.c"))
            .env("PATH", folder.as_os_str())
            .env("TMPDIR", scratch.path().as_os_str())
            .run();
        assert_eq!(run.code(), FOUND, "{}", run.stderr);
        run.stderr
    };
    let said = open(&["--html", page.to_str().unwrap(), "--open"]);
    assert!(said.contains("note: there is no xdg-open to open the page with (--open)"), "{said}");
    let script = format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display());
    let opener = folder.join("xdg-open");
    fs::write(&opener, script).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&opener).status().unwrap().success());
    open(&["--html", page.to_str().unwrap(), "--open"]);
    assert_eq!(fs::read_to_string(&opened).unwrap().trim(), page.to_str().unwrap());
    let said = open(&["--open"]);
    let made = fs::read_to_string(&opened).unwrap();
    assert!(said.contains(format!("note: the page is {made}").trim()), "{said}");
    assert!(fs::read_to_string(made.trim()).unwrap().contains("<html"));
}

#[test]
fn a_kind_is_explained() {
    let explain = |command: &str, kind: &str| {
        let mut tool = tool();
        tool.args([command, "--explain", kind]);
        run(tool)
    };
    for command in ["check", "report"] {
        let run = explain(command, "lost-wakeup");
        assert_eq!(run.code(), 0, "{}", run.stderr);
        assert!(run.text().starts_with("lost-wakeup\n\nA condition variable"), "{}", run.text());
        let run = explain(command, "likely");
        assert_eq!(run.code(), 0, "{}", run.stderr);
    }
    let run = explain("check", "lost-wakup");
    assert_eq!(run.code(), 2);
    assert!(run.stderr.contains("kinds: circular-dependency, "), "{}", run.stderr);
    assert!(run.stderr.contains("grades: deadlocked, likely"), "{}", run.stderr);
}

#[test]
fn without_the_options_nothing_is_said_before_the_end() {
    let run = check(program("abba.c")).run();
    assert!(run.report().get("long_waits").is_none());
    assert!(!run.stderr.contains("the program runs") && !run.stderr.contains("so far"));
}
