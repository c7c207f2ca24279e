//! Processes that the program starts and that cannot be watched are in the table of processes, with
//! the reason.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::executable;
use crate::harness::{
    Run, Scratch, build, check, check_with, installed, program, run, skip, tool, under,
};

/// (executable, reason) of each process that was not watched, sorted, with how many there are.
fn unwatched(run: &Run) -> Vec<(String, String, usize)> {
    let text = |process: &Value, of: &str| process[of].as_str().unwrap().to_owned();
    let all = run.report()["unwatched"].as_array().unwrap();
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for process in all {
        let (exe, reason) = (text(process, "exe"), text(process, "reason"));
        match found.iter_mut().find(|(e, r, _)| *e == exe && *r == reason) {
            Some((_, _, count)) => *count += 1,
            None => found.push((exe, reason, 1)),
        }
    }
    found.sort();
    found
}

fn processes_of(run: &Run, exe: &Path) -> usize {
    let processes = run.report()["processes"].as_array().unwrap();
    processes.iter().filter(|process| process["exe"] == exe.to_str().unwrap()).count()
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// In each way that the C library has.
#[test]
fn however_it_is_executed() {
    let (executing, nothing) = (program("executing.c"), program("nothing.c"));
    let run = check(&executing).arg(&nothing).arg(&nothing).run();
    assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
    let ways: usize = run.text().trim().parse().unwrap();
    assert_eq!(processes_of(&run, &nothing), ways, "with its environment: {}", run.stderr);
    // Two ways are by the shell, of whose children nothing is known.
    let mut cleared = [
        (shown(&nothing), "environment".to_owned(), ways - 2),
        ("/bin/sh".to_owned(), "environment".to_owned(), 2),
    ];
    cleared.sort();
    assert_eq!(unwatched(&run), cleared, "{:#}", run.report()["unwatched"]);

    let fixed = build("nothing.c", &["-static"]);
    let run = check(&executing).arg(&fixed).run();
    assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
    assert_eq!(unwatched(&run), [(shown(&fixed), "static".to_owned(), ways)]);
    let line =
        format!("  not watched: {} ({ways} processes): it is statically linked\n", shown(&fixed));
    assert!(run.stderr.contains(&line), "{}", run.stderr);
}

#[test]
fn measured_and_kept_alike() {
    let fixed = build("nothing.c", &["-static"]);
    let script = format!("{}; true", fixed.display());
    let expected = [(shown(&fixed), "static".to_owned(), 1)];
    for command in ["meter", "run"] {
        let run = under(command, &[] as &[&str], "/bin/sh").args(["-c", &script]).run();
        assert!(run.stderr.contains("  not watched: "), "{command}: {}", run.stderr);
        assert_eq!(unwatched(&run), expected, "{command}");
    }
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["check", "--keep", "--ledger-dir"]).arg(scratch.path());
    command.args(["--", "/bin/sh", "-c", &script]);
    let kept = run(command);
    let dir = kept.stderr.split("ledgers kept in ").nth(1).unwrap().lines().next().unwrap();
    let mut report = tool();
    report.args(["report", dir]);
    let report = run(report);
    let line = format!("  not watched: {} (1 process): it is statically linked\n", shown(&fixed));
    assert!(report.stderr.contains(&line), "{}", report.stderr);
}

#[test]
fn where_the_environment_is_emptied() {
    let nothing = program("nothing.c");
    let script = format!("env -i {0}; LD_PRELOAD= {0}; true", nothing.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    assert_eq!(unwatched(&run), [(shown(&nothing), "environment".to_owned(), 2)]);
    assert!(run.stderr.contains("without LD_PRELOAD and LOCKWRIGHT_DIR"), "{}", run.stderr);
    // The remedy.
    let again = "LD_PRELOAD=$LD_PRELOAD LOCKWRIGHT_DIR=$LOCKWRIGHT_DIR";
    let script = format!("env -i {again} {}; true", nothing.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    assert_eq!(unwatched(&run), []);
    assert_eq!(processes_of(&run, &nothing), 1, "{}", run.stderr);
}

#[test]
fn what_gains_privileges_and_what_go_made() {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can make a file another user's");
    }
    let scratch = Scratch::new();
    let privileged = scratch.join("privileged");
    executable::copy(&program("nothing.c"), &privileged);
    std::os::unix::fs::chown(&privileged, Some(65534), None).unwrap();
    fs::set_permissions(&privileged, Permissions::from_mode(0o4755)).unwrap();
    let go = build("go_mark.c", &["-static"]);
    let script = format!("{}; {}; true", privileged.display(), go.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    let mut expected = [
        (shown(&privileged), "secure-execution".to_owned(), 1),
        (shown(&go), "static".to_owned(), 1),
    ];
    expected.sort();
    assert_eq!(unwatched(&run), expected, "{}", run.stderr);
    assert!(run.stderr.contains("it has set-user-id"), "{}", run.stderr);
    assert!(run.stderr.contains("it is a Go program, statically linked"), "{}", run.stderr);
}

#[test]
fn a_script_that_something_static_runs() {
    let scratch = Scratch::new();
    let fixed = build("nothing.c", &["-static"]);
    let script = scratch.join("script");
    executable::write(&script, format!("#!{}\n", fixed.display()).as_bytes());
    let run = check("/bin/sh").args(["-c", &format!("{}; true", script.display())]).run();
    assert_eq!(unwatched(&run), [(shown(&script), "static".to_owned(), 1)]);
    assert!(run.stderr.contains("which runs it: it is statically linked"), "{}", run.stderr);
}

#[test]
fn who_is_not_wanted_is_not_missed() {
    let fixed = build("nothing.c", &["-static"]);
    let script = format!("{}; true", fixed.display());
    let of =
        |follow: &str| unwatched(&check_with(&[follow], "/bin/sh").args(["-c", &script]).run());
    assert_eq!(of("--follow=none"), []);
    assert_eq!(of("--follow=other"), []);
    assert_eq!(of("--follow=noth*"), [(shown(&fixed), "static".to_owned(), 1)]);
}

#[test]
fn sudo_clears_the_environment() {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        return skip("for others than root sudo asks for a password");
    }
    let Some(sudo) = installed(&["sudo"], "sudo") else { return };
    let nothing = program("nothing.c");
    let script = format!("{} {}; true", sudo.display(), nothing.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    // Root gains nothing by it, so sudo itself is watched.
    assert_eq!(unwatched(&run), [(shown(&nothing), "environment".to_owned(), 1)], "{}", run.stderr);
}
