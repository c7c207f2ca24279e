//! Findings that are known beforehand: suppressions and baselines.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{
    FOUND, Run, Scratch, build, check, check_with, installed, ledgers, program, run, signal,
    tests_dir, tool, under,
};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Programs with findings of several kinds, and arguments for them.
const FAULTY: &[(&str, &str)] = &[
    ("abba.c", "threads"),
    ("abbcca.c", "threads"),
    ("instances.c", "classes"),
    ("instances.c", "same"),
    ("rwlock.c", "mixed"),
    ("condvar.c", "inverted"),
    ("cxx_locks.cc", "guard"),
    ("bad_unlock.c", "other"),
    ("objects.c", "twice_mutex"),
    ("objects.c", "freed_cond"),
];

#[test]
fn generated_rules_leave_nothing() {
    let scratch = Scratch::new();
    for &(source, argument) in FAULTY {
        let rules = scratch.join("known.supp");
        let generate = format!("--gen-suppressions={}", text(&rules));
        let first = check_with(&["--all", generate.as_str()], program(source)).arg(argument).run();
        let found = first.findings().len();
        assert!(found > 0, "{source} {argument}: {}", first.stderr);

        let options = ["--all", "--fail-on", "single-thread", "--suppressions", text(&rules)];
        let again = check_with(&options, program(source)).arg(argument).run();
        let rules = fs::read_to_string(&rules).expect("rules");
        assert_eq!(again.code(), 0, "{rules}\n{}", again.stderr);
        assert!(again.stderr.contains("suppressed by"), "{}", again.stderr);
        assert!(!again.stderr.contains("suppresses nothing"), "{rules}\n{}", again.stderr);
        assert!(again.findings().iter().all(|f| f["suppressed"]["line"].is_u64()));
        let used = again.report()["suppressions"].as_array().expect("rules");
        assert!(used.iter().all(|rule| rule["matched"].as_u64() > Some(0)), "{used:?}");
        assert_eq!(again.findings().len(), found);
    }
}

#[test]
fn rules_go_after_the_report_where_no_file_is_named() {
    let run = check_with(&["--gen-suppressions"], program("abba.c")).run();
    let (report, rules) = run.stderr.split_once("\n[").expect("rules");
    assert!(report.contains("lockwright: 1 finding (1 likely)"), "{report}");
    assert!(rules.contains("kind: circular-dependency\nclass: A\nclass: B\n"), "{rules}");
    // Nothing is shown, so there is nothing to write.
    let run = check_with(&["--gen-suppressions"], program("inorder.c")).run();
    assert!(!run.stderr.contains('['), "{}", run.stderr);
}

#[test]
fn a_rule_is_for_what_it_matches() {
    let scratch = Scratch::new();
    let rules = scratch.join("known.supp");
    fs::write(&rules, "[one]\nclass: A\nfunction: turn_1\n[two]\nmodule: no-such\n")
        .expect("rules");
    let run = check_with(&["--suppressions", text(&rules)], program("abba.c")).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let line = run.stderr.trim();
    assert!(line.starts_with("lockwright: no findings; "), "{line}");
    assert!(line.ends_with(&format!("; 1 suppressed by {}:1", text(&rules))), "{line}");
    assert_eq!(run.finding()["suppressed"]["name"], "one");

    let run = check_with(&["--all", "--suppressions", text(&rules)], program("abba.c")).run();
    assert!(run.stderr.contains(":4: the rule [two] suppresses nothing here"), "{}", run.stderr);

    let run = check_with(&["--suppressions", text(&rules)], program("aa.c")).arg("normal").run();
    assert!(run.stderr.contains("recursive-locking"), "another finding is shown: {}", run.stderr);
}

#[test]
fn a_known_deadlock_is_ended_all_the_same() {
    let scratch = Scratch::new();
    let rules = scratch.join("known.supp");
    fs::write(&rules, "[yes]\nkind: *\n").expect("rules");
    let run = check_with(&["--suppressions", text(&rules)], program("deadlock.c")).run();
    assert_eq!(run.code(), 128 + libc::SIGKILL, "{}", run.stderr);
    assert!(run.stderr.contains("has deadlocked: killed"), "{}", run.stderr);
    assert!(!run.stderr.contains("error["), "{}", run.stderr);
    assert!(run.stderr.contains("1 suppressed by"), "{}", run.stderr);
}

/// `hotspot_names.cc` as a program, and as a library called libjvm.so.
fn hotspot_names(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let library = build("hotspot_names.cc", &["-shared", "-fPIC"]);
    let named = scratch.join("libjvm.so");
    fs::copy(library, &named).expect("a copy of the library");
    (build("hotspot_names.cc", &["-DMAIN", "-ldl"]), named)
}

#[test]
fn rules_that_ship_suppress_hotspots_faults_and_are_counted() {
    let scratch = Scratch::new();
    let (program, library) = hotspot_names(&scratch);
    let job = |options: &[&str]| check_with(options, &program).arg(&library).run();
    let run = job(&["--fail-on", "possible"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("2 suppressed by rules that ship with lockwright"),
        "{}",
        run.stderr
    );
    assert_eq!(run.report()["suppressed"], serde_json::json!({ "file": 0, "default": 2 }));
    assert_eq!(run.findings().len(), 2);
    assert!(run.findings().iter().all(|finding| finding["suppressed"]["source"] == "default"));
    assert_eq!(run.report()["suppressions"].as_array().map(Vec::len), Some(2), "those of use");

    let run = job(&["--all"]);
    assert!(run.stderr.contains("note: default:"), "{}", run.stderr);

    let run = job(&["--no-default-suppressions"]);
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert!(run.findings().iter().all(|finding| finding["suppressed"].is_null()));
    assert_eq!(run.report()["suppressions"].as_array().map(Vec::len), Some(0));
    // A user who names them wants them.
    let run = job(&["--no-default-suppressions", "--suppressions", "default"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);

    // The user's own rules go first.
    let rules = scratch.join("known.supp");
    fs::write(&rules, "[mine]\nkind: exit-with-lock-held\n").expect("rules");
    let run = job(&["--suppressions", text(&rules)]);
    assert_eq!(run.report()["suppressed"], serde_json::json!({ "file": 1, "default": 1 }));

    let sarif = scratch.join("locks.sarif");
    job(&["--sarif", text(&sarif)]);
    let log: Value = serde_json::from_slice(&fs::read(sarif).expect("a log")).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        let suppression = &result["suppressions"][0];
        assert!(suppression["justification"].as_str().is_some_and(|why| why.contains("HotSpot")));
        assert!(suppression.get("location").is_none(), "it stands in no file: {suppression}");
    }
}

#[test]
fn rules_that_ship_hide_no_such_fault_of_the_programs_own() {
    let scratch = Scratch::new();
    let (program, library) = hotspot_names(&scratch);
    // Functions of the same names, but in another module.
    let run = check_with(&["--fail-on", "ordered"], &program).run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert_eq!(run.report()["suppressed"]["default"], 0, "{}", run.stderr);
    assert!(run.verdicts().contains(&("exit-with-lock-held", "likely")), "{}", run.stderr);
    assert!(run.verdicts().contains(&("wait-with-lock-held", "ordered")), "{}", run.stderr);
    // The wait is the library's, but the lock held meanwhile is the program's.
    let run =
        check_with(&["--fail-on", "ordered"], &program).arg(&library).arg("own lock held").run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    let counted = run.findings().iter().filter(|finding| finding["suppressed"].is_null());
    let counted: Vec<&str> = counted.filter_map(|finding| finding["kind"].as_str()).collect();
    assert_eq!(counted, ["wait-with-lock-held"], "{}", run.stderr);
}

#[test]
fn rules_that_ship_are_printed_where_nothing_is_to_be_run() {
    for command in ["check", "run", "report", "merge"] {
        let mut job = tool();
        job.args([command, "--suppressions", "default"]);
        let run = run(job);
        assert_eq!(run.code(), 0, "{}", run.stderr);
        let printed = run.text();
        assert!(printed.contains("\n[HotSpot ") && printed.starts_with("# "), "{printed}");
        assert_eq!(run.stderr, "");
    }
    let mut job = tool();
    job.args(["check", "--suppressions", "other"]);
    assert_eq!(run(job).code(), 2, "a program is missing");
}

/// A Java program fails for what it does itself, not for what every Java program's VM does.
#[test]
fn a_java_program_without_findings_exits_as_it_does_natively() {
    let (Some(java), Some(_)) = (
        installed(&["java"], "openjdk-17-jdk-headless"),
        installed(&["javac"], "openjdk-17-jdk-headless"),
    ) else {
        return;
    };
    let source = tests_dir().join("programs/real/Threads.java");
    for command in ["check", "run"] {
        let run = under(command, &["--fail-on", "likely"], &java).arg(&source).run();
        assert_eq!(run.code(), 0, "{}", run.stderr);
    }
}

/// Its VM ends in another way then than at the return from main.
#[test]
fn a_java_program_that_sigterm_ends_has_no_findings() {
    let (Some(java), Some(_)) = (
        installed(&["java"], "openjdk-17-jdk-headless"),
        installed(&["javac"], "openjdk-17-jdk-headless"),
    ) else {
        return;
    };
    let source = tests_dir().join("programs/real/Idles.java");
    let running = check_with(&["--fail-on", "possible"], &java).arg(&source).spawn();
    signal(running.program_id(), libc::SIGTERM);
    let run = running.wait();
    let shown = run.findings().iter().filter(|finding| finding["suppressed"].is_null());
    let shown: Vec<&str> = shown.filter_map(|finding| finding["grade"].as_str()).collect();
    assert!(!shown.contains(&"possible") && !shown.contains(&"likely"), "{}", run.stderr);
    assert_eq!(run.code(), 128 + libc::SIGTERM, "{}", run.stderr);
}

#[test]
fn a_wait_for_ocamls_master_lock_is_suppressed_and_for_another_lock_is_not() {
    let run = check_with(&["--fail-on", "ordered"], program("ocaml_names.c")).run();
    assert_eq!(run.report()["suppressed"]["default"], 1, "{}", run.stderr);
    assert!(run.stderr.contains("no findings"), "{}", run.stderr);
    let run = check_with(&["--fail-on", "ordered"], build("ocaml_names.c", &["-DOWN"])).run();
    assert_eq!(run.verdicts(), [("wait-with-lock-held", "ordered")], "{}", run.stderr);
}

#[test]
fn the_order_of_ocamls_own_two_locks_is_suppressed_and_of_others_is_not() {
    let run = check(program("ocaml_domains.c")).run();
    assert_eq!(run.report()["suppressed"]["default"], 1, "{}", run.stderr);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let run = check(build("ocaml_domains.c", &["-DOWN"])).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
}

#[test]
fn wrong_files_are_told_before_the_program_runs() {
    let scratch = Scratch::new();
    let rules = scratch.join("known.supp");
    fs::write(&rules, "[a]\nknd: x\n").expect("rules");
    let none = scratch.join("none");
    let unwritable = scratch.join("none/known");
    let generate = format!("--gen-suppressions={}", text(&unwritable));
    for (options, code, told) in [
        (vec!["--suppressions", text(&rules)], 2, "known.supp:2: `knd:` is no part of a rule"),
        (vec!["--suppressions", text(&none)], 2, "cannot read"),
        (vec!["--baseline", text(&none)], 2, "--write-baseline"),
        (vec!["--write-baseline", text(&unwritable)], 125, "cannot write"),
        (vec![&generate], 125, "cannot write"),
    ] {
        let mut command = tool();
        command.arg("check").args(&options).arg("--").arg(program("abba.c"));
        let run = run(command);
        assert_eq!(run.code(), code, "{}", run.stderr);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert_eq!(run.text(), "", "it ran");
    }
}

fn states(run: &Run) -> Vec<&str> {
    run.findings().iter().map(|f| f["baseline"].as_str().expect("a baseline")).collect()
}

#[test]
fn a_baseline_fails_what_is_new() {
    let scratch = Scratch::new();
    let known = scratch.join("known.json");
    let first = check_with(&["--write-baseline", text(&known)], program("abba.c")).run();
    assert_eq!(first.code(), FOUND);

    let again = check_with(&["--baseline", text(&known)], program("abba.c")).run();
    assert_eq!(again.code(), 0, "{}", again.stderr);
    assert_eq!(states(&again), ["known"]);
    assert!(again.stderr.contains("no findings;"), "{}", again.stderr);
    assert!(again.stderr.contains("; 1 in the baseline"), "{}", again.stderr);

    // The same source otherwise compiled is another build, with other addresses.
    let rebuilt = build("abba.c", &["-O0", "-DREBUILT"]);
    let rebuilt = check_with(&["--baseline", text(&known)], rebuilt).run();
    assert_eq!((rebuilt.code(), states(&rebuilt)), (0, vec!["known"]), "{}", rebuilt.stderr);

    let other = check_with(&["--baseline", text(&known)], program("abbcca.c")).run();
    assert_eq!((other.code(), states(&other)), (FOUND, vec!["new"]));
    assert!(other.stderr.contains("1 finding of the baseline not found any more"));
    let gone = other.report()["baseline"]["gone"].as_array().expect("gone");
    assert_eq!(gone.len(), 1);
    let named = check_with(&["--all", "--baseline", text(&known)], program("inorder.c")).run();
    assert_eq!(named.code(), 0);
    assert!(named.stderr.contains("`A` and `B` are taken in both orders"), "{}", named.stderr);
}

/// Locks that nobody initialises are named by the place that takes them first.
#[test]
fn which_thread_comes_first_makes_no_new_finding() {
    let scratch = Scratch::new();
    let known = scratch.join("known.json");
    let rules = scratch.join("known.supp");
    // With the names of members, and without.
    for options in [&["-g"], &["-g0"]] {
        let program = build("first_taker.cc", options);
        let generated = format!("--gen-suppressions={}", text(&rules));
        let write = ["--write-baseline", text(&known), &generated];
        let first = check_with(&write, &program).arg("put").run();
        assert_eq!(first.verdicts(), [("circular-dependency", "likely")], "{}", first.stderr);
        let read = ["--baseline", text(&known)];
        let other = check_with(&read, &program).arg("get").run();
        assert_eq!((other.code(), states(&other)), (0, vec!["known"]), "{}", other.stderr);
        let quiet = check_with(&["--suppressions", text(&rules)], &program).arg("get").run();
        assert_eq!(quiet.code(), 0, "{}", quiet.stderr);
        assert!(quiet.stderr.contains("; 1 suppressed by "), "{}", quiet.stderr);
    }
}

#[test]
fn what_gets_worse_is_new_and_known_from_then_on() {
    let scratch = Scratch::new();
    let known = scratch.join("known.json");
    let path = text(&known);
    let options = ["--all", "--write-baseline", path];
    check_with(&options, program("abba.c")).arg("ordered").run();
    let both = ["--baseline", path, "--write-baseline", path];
    let worse = check_with(&both, program("abba.c")).run();
    assert_eq!((worse.code(), states(&worse)), (FOUND, vec!["worse"]), "{}", worse.stderr);
    let known = check_with(&both, program("abba.c")).run();
    assert_eq!((known.code(), states(&known)), (0, vec!["known"]), "{}", known.stderr);
}

#[test]
fn a_later_report_knows_them_too() {
    let scratch = Scratch::new();
    let folder = scratch.join("kept");
    let mut now = tool();
    now.args(["check", "--keep", "--ledger-dir"]).arg(&folder).arg("--").arg(program("abba.c"));
    assert_eq!(run(now).code(), FOUND);
    let kept = &ledgers(&folder)[0];
    let rules = scratch.join("known.supp");
    fs::write(&rules, "[yes]\nclass: ?\n").expect("rules");
    let report = |options: &[&str]| {
        let mut later = tool();
        later.arg("report").args(options).arg(kept);
        run(later)
    };
    let suppressed = report(&["--suppressions", text(&rules)]);
    assert_eq!(suppressed.code(), 0, "{}", suppressed.stderr);
    let known = scratch.join("known.json");
    assert_eq!(report(&["--write-baseline", text(&known)]).code(), FOUND);
    assert_eq!(report(&["--baseline", text(&known)]).code(), 0);
}

#[test]
fn the_findings_of_a_run_as_sarif() {
    let scratch = Scratch::new();
    let sarif = scratch.join("locks.sarif");
    let root = tests_dir().join("..").canonicalize().expect("the source tree");
    let job = check_with(&["--sarif", text(&sarif)], program("abba.c")).current_dir(&root);
    let run = job.run();
    let log: Value = serde_json::from_slice(&fs::read(&sarif).expect("SARIF")).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{log:#}");
    assert_eq!(results[0]["ruleId"], "circular-dependency");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "tests/programs/abba.c", "below where it runs");
    assert_eq!(place["artifactLocation"]["uriBaseId"], "SRCROOT");
    let fingerprint = &results[0]["partialFingerprints"]["lockwright/v2"];
    assert_eq!(*fingerprint, run.finding()["fingerprint"]);
    let flows = results[0]["codeFlows"][0]["threadFlows"].as_array().expect("flows");
    assert_eq!(flows.len(), 2);
}
