//! Objects in use whose life ends, or whose memory goes: destroyed, moved, unmapped, unloaded with
//! their module; and once controls.

use std::path::PathBuf;

use crate::golden::golden;
use crate::harness::{FOUND, Job, Run, build, check, check_with, functions, native, program};

const SOURCE: &str = "object_ends.c";

fn run(how: &str) -> Run {
    check(program(SOURCE)).arg(how).run()
}

/// The one finding is of `kind`, is certain, and says `what`.
fn says(run: &Run, kind: &str, what: &str) {
    assert_eq!(run.verdicts(), [(kind, "likely")], "{}", run.stderr);
    let title = run.finding()["title"].as_str().expect("title");
    assert!(title.contains(what), "{title}");
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
}

/// There is no finding, and the program works as without the tool.
fn is_clean(job: impl Fn(&[&str]) -> Job) {
    let run = job(&["--all"]).run();
    assert!(run.findings().is_empty() && run.untidy().is_empty(), "{}", run.stderr);
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.code(), 0, "{}", run.stderr);
}

#[test]
fn destroyed_while_it_is_waited_on() {
    for how in ["destroyed_cond", "destroyed_barrier"] {
        let run = run(how);
        says(&run, "object-destroyed-active", "is destroyed while it is waited on");
        assert!(run.stderr.contains("waits on"), "who waits: {}", run.stderr);
    }
}

#[test]
fn memory_goes_while_it_is_waited_on() {
    says(&run("moved_cond"), "object-gone-active", "is moved");
    for how in ["unmapped_cond", "remapped_cond", "cut_cond", "covered_cond"] {
        says(&run(how), "object-gone-active", "is unmapped");
    }
}

#[test]
fn memory_that_stays_is_no_finding() {
    for how in ["grown_cond", "kept_cond", "done_once"] {
        is_clean(|options| check_with(options, program(SOURCE)).arg(how));
    }
}

#[test]
fn once_controls() {
    says(&run("freed_once"), "object-gone-active", "is freed");
    says(&run("garbage_once"), "object-uninitialised", "once control");
}

/// The module with objects in its data.
fn module() -> PathBuf {
    build("object_module.c", &["-DMODULE", "-shared", "-fPIC"])
}

fn host(options: &[&str], how: &str) -> Job {
    check_with(options, program("object_module.c")).arg(module()).arg(how)
}

#[test]
fn a_module_is_unloaded_with_an_object_in_use() {
    for how in ["waited", "static"] {
        let natively = native(program("object_module.c")).arg(module()).arg(how).run();
        assert_eq!(natively.text(), "the end\n");
        let run = host(&[], how).run();
        says(&run, "object-gone-active", "unloaded");
        assert!(functions(run.finding()).contains(&"waits"), "who waits: {}", run.stderr);
    }
}

#[test]
fn a_module_is_unloaded_with_an_undestroyed_object() {
    let run = host(&["--all"], "idle").run();
    assert!(run.findings().is_empty(), "{}", run.stderr);
    let [left] = run.untidy() else { panic!("{}", run.stderr) };
    assert_eq!(left["kind"], "object-never-destroyed");
    assert!(left["title"].as_str().is_some_and(|t| t.contains("unloaded")), "{left:#}");
    assert!(functions(left).contains(&"module_init"), "where it was initialised: {left:#}");
    is_clean(|options| host(options, "tidy"));
}

#[test]
fn reports_read_well() {
    for (name, how) in [
        ("object-destroyed-waited", "destroyed_cond"),
        ("object-barrier-destroyed", "destroyed_barrier"),
        ("object-moved", "moved_cond"),
        ("object-once-freed", "freed_once"),
        ("object-once-uninitialised", "garbage_once"),
    ] {
        golden(name, check(program(SOURCE)).arg(how));
    }
    golden("object-unloaded-active", host(&[], "waited"));
    golden("object-unloaded", host(&["--all"], "idle"));
}
