//! glibc's layouts: findings by the bytes of objects are right for the C library that is there, and
//! there are none where its layout is not known.

use serde_json::Value;

use crate::harness::{FOUND, Run, build, check, check_with, program, under};
use crate::output::doctor::doctor_under;

const RIGHT: [&str; 9] = [
    "twice",
    "twice_heap",
    "twice_cnd",
    "pingpong",
    "broadcast",
    "timed",
    "monotonic",
    "shared",
    "reused",
];

/// Cases with what is found.
const WRONG: [(&str, &str); 4] = [
    ("destroyed", "use-after-destroy"),
    ("destroyed_broadcast", "use-after-destroy"),
    ("destroyed_twice", "use-after-destroy"),
    ("garbage", "object-uninitialised"),
];

#[test]
fn cond_twice_and_cond_pingpong_are_clean() {
    for how in RIGHT {
        let run = check_with(&["--all"], program("cond_lives.c")).arg(how).run();
        assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{how}: {}", run.stderr);
    }
    let run = check(program("cond_lives.cc")).run();
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0, "{}", run.stderr);
}

#[test]
fn cond_destroyed_is_found() {
    for (how, kind) in WRONG {
        let run = check(program("cond_lives.c")).arg(how).run();
        assert_eq!(run.verdicts(), [(kind, "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}: {}", run.stderr);
    }
}

/// A library that stands for a C library of another layout.
fn other_layout() -> std::path::PathBuf {
    build("other_layout.c", &["-shared", "-fPIC"])
}

const NOTE: &str = "condition variables and barriers of glibc";

#[test]
fn another_layout_is_noticed_and_nothing_is_said_by_its_bytes() {
    let library = other_layout();
    let run = |how: &str, source: &str| -> Run {
        check(program(source)).env("LD_PRELOAD", &library).arg(how).run()
    };
    for how in RIGHT.into_iter().chain(WRONG.map(|(how, _)| how)) {
        // The library has changed what the C library itself made of these.
        if matches!(how, "monotonic" | "shared") {
            continue;
        }
        let run = run(how, "cond_lives.c");
        assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{how}: {}", run.stderr);
        assert!(run.stderr.contains(NOTE), "{how}: {}", run.stderr);
    }
    // The bytes of other types are unchanged, and waits are seen without any.
    for (how, kind) in [
        ("dead_sem", "use-after-destroy"),
        ("again_rwlock", "use-after-destroy"),
        ("active_cond", "object-initialised-active"),
        ("freed_cond", "object-gone-active"),
    ] {
        let run = run(how, "objects.c");
        assert_eq!(run.verdicts(), [(kind, "likely")], "{how}: {}", run.stderr);
        assert!(run.stderr.contains(NOTE), "{how}: {}", run.stderr);
    }
}

#[test]
fn layouts_as_known_need_no_note() {
    let run = check(program("cond_lives.c")).arg("twice").run();
    assert!(!run.stderr.contains("laid out in a way"), "{}", run.stderr);
}

#[test]
fn the_doctor_notices_another_layout() {
    let (run, json) = doctor_under(&other_layout(), program("abba.c"));
    assert_eq!(json["verdict"], "part", "{}", run.text());
    let is_it = |finding: &&Value| finding["id"] == "object-layout";
    let finding = json["findings"].as_array().unwrap().iter().find(is_it).unwrap();
    assert!(finding["what"].as_str().unwrap().starts_with(NOTE), "{finding:#}");
}

/// A condition variable that the C library shares among processes stays its own, wherever it keeps
/// the mark.
#[test]
fn swap_recognises_shared_condition_variables() {
    let run = under("swap", &[] as &[&str], program("cond_shared.c")).run();
    assert_eq!((run.text().as_str(), run.code()), ("9 rounds\n", 0), "{}", run.stderr);
}
