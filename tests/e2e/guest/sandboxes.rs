//! Children that are made where no file can be created, behind a filter of system calls or in
//! another root directory, are watched all the same: their ledgers are in their parent's file. A
//! browser's are of that sort.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::executable;
use crate::harness::{
    FOUND, Run, Scratch, check, due, installed, lock_names, program, run, signal, skip, tests_dir,
    tool, under, until,
};
use crate::kinds::annotations::CIRCULAR;
use crate::output::doctor::doctor;

fn acquisitions(run: &Run) -> Vec<u64> {
    let processes = run.report()["processes"].as_array().unwrap();
    processes.iter().map(|process| process["acquisitions"].as_u64().unwrap()).collect()
}

/// However they are made: also by calls that run no handlers of forks.
#[test]
fn children_that_can_open_no_file() {
    // The program's one, and each child's own.
    for (way, expected) in [
        ("fork", vec![1, 4, 4]),
        ("clone", vec![1, 4, 4]),
        ("_Fork", vec![1, 4, 4]),
        ("grandchild", vec![1, 1, 4, 1, 4]),
    ] {
        let run = check(program("sandboxed.c")).args([way, "2"]).run();
        assert_eq!(run.text(), "7\n", "{way}: {}", run.stderr);
        assert_eq!(run.verdicts(), [CIRCULAR], "{way}: {}", run.stderr);
        assert_eq!(lock_names(run.finding()), ["left", "right"], "{way}: {}", run.stderr);
        assert_eq!(run.finding()["also"], 1, "{way}: in both children: {:#}", run.finding());
        assert_eq!(acquisitions(&run), expected, "{way}: {:#}", run.report()["processes"]);
        assert_eq!((run.count("lost"), run.code()), (0, FOUND), "{way}: {}", run.stderr);
        let executable = program("sandboxed.c");
        for process in run.report()["processes"].as_array().unwrap() {
            assert_eq!(process["exe"], executable.to_str().unwrap(), "{way}");
            assert_eq!(process["command"][1], way, "{process:#}");
        }
    }
}

/// As its parent's ledger does, a child's grows: also where the program limits the address space.
#[test]
fn ledgers_of_children_grow() {
    for way in ["many", "confined"] {
        let run = check(program("sandboxed.c")).args([way, "2"]).run();
        assert_eq!(run.text(), "7\n", "{way}: {}", run.stderr);
        assert_eq!((run.count("lost"), run.code()), (0, 0), "{way}: {}", run.stderr);
        assert_eq!(acquisitions(&run), [1, 100_000, 100_000], "{way}: {}", run.stderr);
    }
}

#[test]
fn they_are_measured_and_kept_alike() {
    for command in ["meter", "run"] {
        let run = under(command, &[] as &[&str], program("sandboxed.c")).args(["clone", "2"]).run();
        assert_eq!(run.text(), "7\n", "{command}: {}", run.stderr);
        let of_meter = run.report().get("meter").unwrap_or(run.report());
        let processes = of_meter["processes"].as_array().unwrap();
        let acquired: Vec<&Value> = processes.iter().map(|p| &p["acquisitions"]).collect();
        assert_eq!(acquired, [1, 4, 4], "{command}: {:#}", run.report());
    }
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["check", "--keep", "--ledger-dir"]).arg(scratch.path());
    command.arg("--").arg(program("sandboxed.c")).args(["fork", "2"]);
    let kept = run(command);
    let dir = kept.stderr.split("ledgers kept in ").nth(1).unwrap().lines().next().unwrap();
    let mut report = tool();
    report.args(["report", dir]);
    let report = run(report);
    assert_eq!(report.code(), FOUND, "{}", report.stderr);
    assert!(report.stderr.contains("in 3 processes"), "{}", report.stderr);
}

#[test]
fn those_beyond_what_there_is_room_for_are_counted() {
    let run = check(program("sandboxed.c")).args(["fork", "67"]).run();
    assert_eq!(run.text(), "7\n", "{}", run.stderr);
    assert_eq!(run.count("processes"), 65, "{}", run.stderr);
    let notes = &run.report()["processes"][0]["notes"];
    let told = "3 children that it forked were not watched";
    assert!(
        notes.as_array().unwrap().iter().any(|n| n.as_str().unwrap().contains(told)),
        "{notes}"
    );
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

/// The child is ended, not the process that waits for it.
#[test]
fn a_child_that_deadlocks_is_ended() {
    let run = check(program("sandboxed.c")).args(["deadlock", "1"]).run();
    assert_eq!(run.text(), format!("{}\n", 128 + libc::SIGKILL), "{}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.stderr.matches("has deadlocked: killed").count(), 1, "{}", run.stderr);
}

/// A child has its parent's ledger mapped, which makes it none that is watched.
#[test]
fn doctor_knows_a_childs_ledger_from_its_parents() {
    let running = check(program("sandboxed.c")).args(["fork", "1", "wait"]).spawn();
    let child = running.program_id();
    let (text, json) = doctor(child.to_string());
    assert_eq!(json["process"]["ledger"], Value::Null, "{}", text.text());
    assert!(
        json["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "no-ledger")
    );
    signal(child, libc::SIGUSR1);
    until("its second line", || {
        (running.stdout().iter().filter(|&&byte| byte == b'\n').count() == 2).then_some(())
    });
    let (text, json) = doctor(child.to_string());
    assert!(text.text().contains("is being watched"), "{}", text.text());
    assert!(json["process"]["ledger"].is_string(), "{json:#}");
    signal(child, libc::SIGUSR1);
    assert_eq!(running.wait().verdicts(), [CIRCULAR]);
}

/// Nobody's user id: a browser in its sandbox is not to be root's.
const NOBODY: u32 = 65534;

/// A place that an ordinary user may work in.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lw-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let place = Self { folder };
        place.give(&place.folder);
        place
    }

    /// Makes it the user's.
    fn give(&self, path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its mode");
        if is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("another's");
        }
    }

    /// Has the command run as that user, at home there.
    fn of_user(&self, mut command: Command) -> Command {
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        for name in ["XDG_RUNTIME_DIR", "LD_PRELOAD", "LOCKWRIGHT_DIR", "LOCKWRIGHT_FOLLOW"] {
            command.env_remove(name);
        }
        command.env("HOME", &self.folder).current_dir(&self.folder);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    // SAFETY: it takes no argument and touches no memory of ours.
    unsafe { libc::geteuid() == 0 }
}

/// What a browser is to do with a page: show what became of it.
fn browse(command: &mut Command, place: &Place, profile: &str, sandbox: &[&str]) {
    command.args(["--headless", "--disable-gpu", "--disable-dev-shm-usage"]).args(sandbox);
    command.arg(format!("--user-data-dir={}", place.folder.join(profile).display()));
    command.args(["--dump-dom", &format!("file://{}", place.folder.join("page.html").display())]);
}

/// Chromium's renderers are forked in namespaces of their own, in an empty root directory, and
/// filter their system calls.
#[test]
fn chromium_in_its_sandbox() {
    let Some(chromium) = installed(&["chromium"], "chromium") else { return };
    let place = Place::new("chromium");
    fs::copy(tests_dir().join("programs/real/page.html"), place.folder.join("page.html")).unwrap();
    place.give(&place.folder.join("page.html"));
    // Where it was built others may not look.
    let lockwright = place.folder.join("lockwright");
    executable::copy(Path::new(env!("CARGO_BIN_EXE_lockwright")), &lockwright);
    place.give(&lockwright);

    // The one by namespaces, then the one by a set-user-id program, if that is there.
    let sandboxes = [("namespaces", &[] as &[&str]), ("setuid", &["--disable-namespace-sandbox"])];
    for (name, sandbox) in due(sandboxes, sandboxes.len()) {
        let mut alone = Command::new(&chromium);
        browse(&mut alone, &place, "alone", sandbox);
        let alone = run(place.of_user(alone));
        if alone.code() != 0 {
            skip(&format!("chromium does not run with its sandbox by {name} here"));
            continue;
        }
        let json = place.folder.join(format!("{name}.json"));
        let mut command = Command::new(&lockwright);
        command.args(["check", "--exit-code", "0", "--json"]).arg(&json);
        command.arg("--").arg(&chromium);
        browse(&mut command, &place, name, sandbox);
        let watched = run(place.of_user(command));
        assert_eq!(watched.code(), 0, "{name}: {}", watched.stderr);
        assert_eq!(watched.text(), alone.text(), "{name}: {}", watched.stderr);

        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let processes = report["processes"].as_array().unwrap();
        let is_forked_in_there = |process: &&Value| {
            let mut words = process["command"].as_array().unwrap().iter();
            words.any(|word| word == "--type=zygote") && process["threads"].as_u64() > Some(2)
        };
        let forked = processes.iter().filter(is_forked_in_there).count();
        assert!(forked > 0, "{name}: no renderer was watched: {processes:#?}");
        assert!(!watched.stderr.contains("were not watched"), "{name}: {}", watched.stderr);
        // A process that the browser ends at once may come to leave none.
        let not_killed = |process: &&Value| process["reason"] != "no-ledger";
        for process in report["unwatched"].as_array().unwrap().iter().filter(not_killed) {
            assert_eq!(process["reason"], "secure-execution", "{name}: {process:#}");
            assert!(process["exe"].as_str().unwrap().ends_with("/chrome-sandbox"), "{process:#}");
        }
    }
}
