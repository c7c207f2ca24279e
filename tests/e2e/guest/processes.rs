//! More than one process: each has its ledger.

use crate::executable;
use crate::harness::{
    FOUND, Scratch, build, check, check_with, ledgers, lock_names, program, run, skip, tool, under,
    until,
};

#[test]
fn a_forked_child_has_its_own_ledger() {
    let mut running = check_with(&["--keep"], program("forking.c")).spawn();
    let folder = running.ledger_dir();
    until("the end", || (!running.is_running()).then_some(()));
    assert_eq!(ledgers(&folder).len(), 2, "one ledger each");
    let run = running.wait();
    let (child, code) = run
        .text()
        .trim()
        .strip_prefix("child ")
        .and_then(|rest| rest.split_once(" exited with "))
        .map(|(pid, code)| (pid.parse::<u64>().unwrap(), code.to_owned()))
        .unwrap_or_else(|| panic!("stdout: {}", run.text()));
    assert_eq!(code, "5");
    assert_eq!(run.count("processes"), 2);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(run.finding()["pid"].as_u64(), Some(child));
    assert_eq!(lock_names(run.finding()), ["left", "right"]);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_forked_child_holds_what_its_parent_held() {
    let run = check(program("fork_held.c")).arg("kept").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["cache", "index_lock"]);
    let steps = run.finding()["steps"].as_array().unwrap();
    let numbers: Vec<_> = steps.iter().map(|step| step["thread"]["number"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(2)], "its main thread, and another: {steps:#?}");
    assert_eq!(run.code(), FOUND);
}

/// Each page of a ledger costs a child microseconds, and its fork takes a hundred of them.
#[test]
fn a_forked_child_that_takes_one_lock_writes_few_pages() {
    use std::os::unix::fs::MetadataExt;
    for command in ["check", "meter", "run"] {
        let mut running =
            under(command, &["--keep"], program("fork_inherited.c")).arg("unmapped").spawn();
        let folder = running.ledger_dir();
        until("the end", || (!running.is_running()).then_some(()));
        let ledgers = ledgers(&folder);
        assert_eq!(ledgers.len(), 2, "{command}: one ledger each");
        for ledger in ledgers {
            let bytes = ledger.metadata().unwrap().blocks() * 512;
            assert!(bytes <= 96 << 10, "{command}: {bytes} bytes in {}", ledger.display());
        }
        assert_eq!(running.wait().code(), 0, "{command}");
    }
}

/// It was forked, and executed nothing since.
#[test]
fn a_forked_child_is_described_as_its_parent() {
    let run = check(program("fork_inherited.c")).arg("left-out").run();
    let processes = run.report()["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 2, "{processes:#?}");
    for what in ["exe", "command"] {
        assert_eq!(processes[0][what], processes[1][what], "{processes:#?}");
    }
    assert!(processes[1]["exe"].as_str().is_some_and(|exe| exe.ends_with("fork_inherited")));
}

#[test]
fn a_thread_that_its_creator_names_has_that_name() {
    let run = check_with(&["--all"], program("naming.c")).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "single-thread")], "{}", run.stderr);
    assert_eq!(crate::harness::thread_names(run.finding()), ["christened"; 2], "{}", run.stderr);
}

#[test]
fn findings_of_several_processes_that_are_the_same_can_be_shown_apart() {
    let script = format!("{0}; {0}", program("abba.c").display());
    let job = |options: &[&str]| check_with(options, "/bin/sh").args(["-c", &script]).run();
    let run = job(&[]);
    assert_eq!(run.finding()["also"], 1, "{}", run.stderr);
    assert!(run.stderr.contains("folded into it: --all-instances shows it"), "{}", run.stderr);
    let run = job(&["--all-instances"]);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely"); 2], "{}", run.stderr);
    assert!(run.findings().iter().all(|finding| finding["also"] == 0), "{}", run.stderr);
    assert!(!run.stderr.contains("folded"), "{}", run.stderr);
    assert_eq!(run.report()["summary"]["all_instances"], true);
}

#[test]
fn processes_without_locks_are_counted_and_not_listed() {
    let abba = program("abba.c");
    let script = format!("{0} --version; {0} --version; {1}", "/bin/true", abba.display());
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], "/bin/sh").args(["-c", &script]).run();
        // The shell and what it starts besides.
        let (_, table) = run.stderr.split_once("\nprocesses:\n").expect("a table");
        let table: Vec<&str> = table.lines().take_while(|line| line.starts_with(' ')).collect();
        assert_eq!(table.len(), 3, "titles, one process and the others: {}", run.stderr);
        assert!(table[1].ends_with(abba.to_str().expect("UTF-8")), "{}", run.stderr);
        assert!(
            table[2].starts_with("  and ") && table[2].ends_with(" processes without locks"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn missing_symbols_are_noted_once_a_module_and_of_findings_alone() {
    let scratch = Scratch::new();
    let [faulty, fine] = ["abba.c", "inorder.c"].map(|source| {
        let stripped = scratch.join(source);
        executable::copy(&program(source), &stripped);
        let status = std::process::Command::new("strip").arg(&stripped).status();
        assert!(status.expect("strip: install binutils").success());
        stripped
    });
    let script = format!("{0}; {0}; {1}", faulty.display(), fine.display());
    let run = check_with(&["--all-instances"], "/bin/sh").args(["-c", &script]).run();
    let note = |of: &std::path::Path| format!("{} has no symbols", of.display());
    assert_eq!(run.stderr.matches(&note(&faulty)).count(), 1, "{}", run.stderr);
    assert_eq!(run.stderr.matches(&note(&fine)).count(), 0, "{}", run.stderr);
    let modules = run.report()["modules"].as_array().expect("modules");
    assert!(modules.iter().any(|note| note["module"].as_str() == faulty.to_str()), "{modules:?}");
    assert!(modules.iter().all(|note| note["module"].as_str() != fine.to_str()), "{modules:?}");
}

#[test]
fn programs_started_by_the_program_are_watched() {
    let abba = program("abba.c");
    let ending = program("ending.c");
    let script =
        format!("{} exit 4; echo $?; {} >/dev/null; exit 6", ending.display(), abba.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    assert_eq!(run.text(), "4\n");
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let commands: Vec<_> = run.report()["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["exe"].as_str().unwrap().to_owned())
        .collect();
    for exe in [&abba, &ending] {
        assert!(
            commands.iter().any(|c| c == exe.to_str().unwrap()),
            "{} in {commands:?}",
            exe.display()
        );
    }
    assert_eq!(run.code(), FOUND);
}

/// Before and after an exec a process has one id, and a ledger each.
#[test]
fn a_finding_names_the_program_that_its_process_was_then() {
    let abba = program("abba.c");
    // dash takes no locks, and becomes abba, which does.
    let script = format!("exec '{}'", abba.display());
    let sarif = Scratch::new();
    let sarif = sarif.join("report.sarif");
    let run =
        check_with(&["--sarif", sarif.to_str().unwrap()], "/bin/sh").args(["-c", &script]).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let processes = run.report()["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2, "{processes:#?}");
    assert_eq!(processes[0]["pid"], processes[1]["pid"]);
    assert_ne!(processes[0]["exe"], processes[1]["exe"]);
    let abba = abba.to_str().unwrap();
    let of = run.finding()["process"].as_u64().expect("one process") as usize;
    assert_eq!(processes[of]["exe"], abba);
    let named = format!("in process {} ({abba})", processes[of]["pid"]);
    assert!(run.stderr.contains(&named), "{named} in {}", run.stderr);
    let sarif: serde_json::Value = serde_json::from_slice(&std::fs::read(sarif).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["exe"], abba, "{sarif:#}");
}

#[test]
fn a_server_that_drops_its_privileges_is_watched_on() {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can become somebody else");
    }
    // The default place: a folder of the build's may be closed to others.
    let scratch = Scratch::new();
    let json = scratch.join("report.json");
    let mut command = tool();
    command.args(["check", "--json"]).arg(&json).arg("--").arg(program("privileges.c"));
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["summary"]["processes"], 2, "{report:#}");
    assert_eq!(report["summary"]["acquisitions"], 6, "{report:#}");
}

/// Each has a ledger of its own from its first lock on, and no finding is about the other's. A
/// child has the first 64 of the locks that its thread holds at the fork, too.
#[test]
fn a_child_is_told_apart_however_it_was_forked() {
    let library = build("forks_first.c", &["-shared", "-fPIC"]);
    let library = library.to_str().expect("its path");
    let program = build("forks_unseen.c", &["-Wl,--no-as-needed", library]);
    for (how, parents, childs) in
        [("handlers", 292, 64 + 228), ("_Fork", 128, 64), ("clone", 128, 64)]
    {
        for command in ["check", "run"] {
            let run = under(command, &["--exit-code", "0"], &program).arg(how).run();
            assert_eq!(run.text(), "the child ended with 7\n", "{how}: {}", run.stderr);
            assert_eq!(run.verdicts(), [], "{how}: {}", run.stderr);
            assert_eq!(run.count("lost"), 0, "{how}: {}", run.stderr);
            let processes = run.report()["processes"].as_array().expect("a list");
            let locks: Vec<_> = processes.iter().map(|p| p["locks"].as_u64()).collect();
            assert_eq!(locks, [Some(parents), Some(childs)], "{how}: {processes:#?}");
        }
    }
}

#[test]
fn children_that_nobody_tells_of_leave_their_parent_alone() {
    for way in ["_Fork", "clone", "syscall"] {
        let run = check(program("children_untold.c")).arg(way).run();
        assert_eq!(run.text(), "3 children\n", "{way}: {}", run.stderr);
        assert!(run.findings().is_empty(), "{way}: {}", run.stderr);
        assert_eq!(run.count("processes"), 4, "{way}: {}", run.stderr);
    }
}
