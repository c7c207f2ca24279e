//! What a check predicts is made to happen, or the report says what was in the way.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{FOUND, Job, Run, Scratch, check_with, ledgers, program, run, tool, under};
use crate::outside::by_kernel::schema::{errors, load};

/// As patient as a busy machine needs: the first run holds threads up for an eighth of it, which ends once they meet.
const PATIENT: &[&str] = &["--pause", "60s", "--runs", "3"];

/// Enough where nothing is to come.
const SHORT: &[&str] = &["--pause", "40ms", "--runs", "2"];

fn confirm(options: &[&str], what: &str) -> Job {
    under("confirm", options, program("confirmed.c")).arg(what)
}

fn confirmation(run: &Run) -> &Value {
    &run.finding()["confirmation"]
}

/// What the report says first of why the finding has its grade.
fn evidence(run: &Run) -> String {
    let lines = run.finding()["evidence"].as_array().unwrap();
    lines.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The finding of this kind comes, in at least one of three runs.
fn comes(kind: &str, what: &str) -> Run {
    comes_with(PATIENT, kind, what)
}

fn comes_with(options: &[&str], kind: &str, what: &str) -> Run {
    let run = confirm(options, what).run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert_eq!(run.verdicts(), [(kind, "deadlocked")], "{}", run.stderr);
    let deadlocked = confirmation(&run)["deadlocked"].as_u64().unwrap();
    assert!(deadlocked >= 1, "{}", run.stderr);
    let said = format!("confirmed by steering: deadlocked in {deadlocked} of 3 runs");
    assert!(evidence(&run).starts_with(&said), "{}", run.stderr);
    run
}

/// It does not come, and keeps its grade; the reasons.
fn does_not_come(grade: &str, job: Job) -> (Run, String) {
    let run = job.run();
    assert_eq!(run.verdicts(), [("circular-dependency", grade)], "{}", run.stderr);
    assert_eq!(confirmation(&run)["deadlocked"], 0);
    assert_eq!(confirmation(&run)["runs"], 2);
    let said = evidence(&run);
    let first = "not reached in 2 runs in which its threads were held up for each other, because:";
    assert!(said.starts_with(first), "{said}");
    (run, said)
}

#[test]
fn two_mutexes_deadlock_once_a_thread_is_held_up_between_them() {
    let run = comes("circular-dependency", "mutexes");
    let said =
        "note: confirming 1 of 1 (`left` and `right` are taken in both orders), run 3 of 3: ";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let paths = confirmation(&run)["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 2);
    assert!(paths.iter().all(|path| path["met"].as_u64() >= Some(1)), "{paths:#?}");
}

#[test]
fn so_do_reader_writer_locks() {
    comes("circular-dependency", "rwlocks");
}

#[test]
fn so_do_spinlocks() {
    comes("circular-dependency", "spinlocks");
}

#[test]
fn so_do_semaphores_that_are_locks() {
    comes("circular-dependency", "semaphores");
}

#[test]
fn so_do_locks_taken_by_a_function_of_the_programs_own() {
    comes("circular-dependency", "wrapped");
}

#[test]
fn so_do_three_threads_with_three_locks() {
    let run = comes("circular-dependency", "three");
    assert_eq!(run.finding()["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn so_do_threads_of_which_the_later_one_needs_the_others_lock_before() {
    comes_with(&["--pause", "8s", "--runs", "3"], "circular-dependency", "phases");
}

#[test]
fn one_that_is_in_somebodys_way_meets_the_other_before_it_goes_on() {
    let run = comes("circular-dependency", "hot");
    let paths = confirmation(&run)["paths"].as_array().unwrap();
    assert!(paths.iter().all(|path| path["met"].as_u64() >= Some(1)), "{paths:#?}");
}

#[test]
fn a_run_that_deadlocks_ends_though_another_thread_goes_on() {
    comes("circular-dependency", "spins");
}

#[test]
fn so_do_a_thread_and_the_one_that_joins_it() {
    comes("join-with-lock-held", "joined");
}

#[test]
fn so_does_a_reader_that_reads_again_behind_a_writer() {
    comes("recursive-locking", "read_again");
}

#[test]
fn a_wakeup_is_lost_once_the_waiter_is_held_up_before_its_wait() {
    // Nothing ends such a pause early.
    comes_with(&["--pause", "4s", "--runs", "3"], "lost-wakeup", "lost");
}

#[test]
fn a_signal_comes_while_its_handlers_lock_is_held() {
    let run = under("confirm", &["--runs", "2"], program("signals.c")).arg("same").run();
    assert_eq!(run.verdicts(), [("inconsistent-state", "deadlocked")], "{}", run.stderr);
    let said = "deadlocked in 2 of 2 runs: the signal came while a thread held the lock";
    assert!(evidence(&run).contains(said), "{}", run.stderr);
    let run = under("confirm", &["--runs", "2"], program("signals.c")).arg("blocked").run();
    assert_eq!(run.verdicts(), [], "{}", run.stderr);
}

#[test]
fn threads_that_a_flag_keeps_apart_never_meet() {
    let (_, said) = does_not_come("likely", confirm(SHORT, "flag"));
    assert!(said.contains("the threads were never at their places at the same time"), "{said}");
}

#[test]
fn a_lock_that_the_other_path_needs_first_is_named() {
    let (run, said) = does_not_come("likely", confirm(&["--pause", "2s", "--runs", "2"], "gate"));
    assert!(said.contains("a thread waited for a lock that it held, at confirmed.c:"), "{said}");
    assert!(said.contains("(gate_second)"), "{said}");
    assert!(confirmation(&run)["paths"][0]["in_the_way"].as_u64() >= Some(1));
}

#[test]
fn other_locks_of_the_same_classes_are_no_deadlock() {
    let (run, said) = does_not_come("possible", confirm(PATIENT_TWICE, "others"));
    assert!(said.contains("at the same time, but with other locks of these classes"), "{said}");
    assert_eq!(run.code(), 0);
}

/// As [`PATIENT`], of two runs; both threads are held up for all of it.
const PATIENT_TWICE: &[&str] = &["--pause", "4s", "--runs", "2"];

#[test]
fn a_place_that_no_thread_comes_to_again_is_named() {
    let scratch = Scratch::new();
    let (run, said) = does_not_come("likely", confirm(SHORT, "once").arg(scratch.join("made")));
    assert!(said.contains("no thread came to the place of thread 3"), "{said}");
    assert!(run.stderr.contains("no thread came to one of the places"), "{}", run.stderr);
}

#[test]
fn findings_of_kept_ledgers_are_confirmed() {
    let scratch = Scratch::new();
    let mut check = tool();
    check.args(["check", "--keep", "--ledger-dir"]).arg(scratch.path());
    check.arg("--").arg(program("confirmed.c")).arg("mutexes");
    assert_eq!(run(check).code(), FOUND);
    let ledger = ledgers(scratch.path()).remove(0);
    let from = ledger.parent().unwrap().to_str().unwrap();
    let run = confirm(&[PATIENT, &["--from", from]].concat(), "mutexes").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert!(ledger.exists());
}

#[test]
fn those_that_a_baseline_knows_are_confirmed() {
    let scratch = Scratch::new();
    let (known, other) = (scratch.join("known"), scratch.join("other"));
    for (file, what) in [(&known, "flag"), (&other, "three")] {
        let options = ["--write-baseline", file.to_str().unwrap()];
        check_with(&options, program("confirmed.c")).arg(what).run();
    }
    let from = |file: &std::path::Path| {
        let options = ["--from", file.to_str().unwrap()];
        confirm(&[SHORT, &options].concat(), "flag").run()
    };
    assert_eq!(from(&known).finding()["confirmation"]["runs"], 2);
    let run = from(&other);
    assert!(run.finding().get("confirmation").is_none(), "{}", run.stderr);
    assert!(run.stderr.contains("there is no finding to confirm"), "{}", run.stderr);
    fs::write(&other, "{}").unwrap();
    let run = from(&other);
    assert_eq!(run.code(), 2);
    assert!(run.stderr.contains("is no baseline"), "{}", run.stderr);
}

#[test]
fn one_finding_is_chosen_by_its_fingerprint() {
    let check = check_with(&[] as &[&str], program("confirmed.c")).arg("flag").run();
    let fingerprint = check.finding()["fingerprint"].as_str().unwrap().to_owned();
    let chosen = |digits: &str| confirm(&[SHORT, &["--finding", digits]].concat(), "flag").run();
    assert_eq!(chosen(&fingerprint[..6]).finding()["confirmation"]["runs"], 2);
    let run = chosen("zz");
    assert_ne!(run.code(), 0);
    assert!(run.stderr.contains("no finding has the fingerprint zz"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("there are {fingerprint}")), "{}", run.stderr);
}

#[test]
fn a_budget_that_is_used_up_says_what_was_not_tried() {
    let run = confirm(&["--budget", "1ns"], "flag").run();
    assert!(run.stderr.contains("were not tried: the time was up"), "{}", run.stderr);
    assert!(run.finding().get("confirmation").is_none());
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")]);
}

/// A script that has the program's finding, and does this before.
fn script(scratch: &Scratch, before: &str) -> PathBuf {
    let (file, program) = (scratch.join("script"), program("confirmed.c"));
    let text = format!(
        "#!/bin/sh\ncd {}\n{before}\n{} flag\n",
        scratch.path().display(),
        program.display()
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn what_was_found_is_reported_though_the_program_is_gone() {
    let scratch = Scratch::new();
    let run = under("confirm", SHORT, script(&scratch, "rm script")).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_ne!(run.code(), FOUND);
    assert!(run.stderr.contains("/script"), "{}", run.stderr);
}

#[test]
fn a_run_that_is_interrupted_is_the_last() {
    let scratch = Scratch::new();
    let before = "[ -e second ] && { touch third; kill -INT $$; }\ntouch second";
    let run = under("confirm", &["--runs", "9"], script(&scratch, before)).run();
    assert!(scratch.join("third").exists(), "{}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(confirmation(&run)["runs"], 1);
}

#[test]
fn check_confirms_in_the_same_command() {
    let scratch = Scratch::new();
    let file = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (junit, sarif, html) = (file("junit"), file("sarif"), file("html"));
    let files = ["--junit", &junit, "--sarif", &sarif, "--html", &html];
    let options = [&["--confirm", "10m"][..], &files].concat();
    let run = check_with(&options, program("confirmed.c")).arg("mutexes").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    for file in [junit, sarif, html] {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("confirmed by steering"), "{file}");
    }
}

#[test]
fn its_report_follows_the_schema() {
    let schema = load("report.schema.json");
    for what in ["flag", "three"] {
        let run = confirm(SHORT, what).run();
        assert_eq!(errors(&schema, &schema, run.report(), ""), Vec::<String>::new());
    }
}

#[test]
fn a_program_without_findings_is_run_once() {
    let run = under("confirm", SHORT, program("inorder.c")).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("there is no finding to confirm"), "{}", run.stderr);
    assert!(!run.stderr.contains("confirming"), "{}", run.stderr);
}

#[test]
fn nothing_is_left_behind() {
    let job = confirm(SHORT, "flag");
    let dir = job.ledger_dir();
    job.run();
    let left: Vec<_> = fs::read_dir(&dir).map(|it| it.flatten().collect()).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}
