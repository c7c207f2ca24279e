//! Objects of programs' own: C and C++ through include/lockwright/objects.h, Rust through
//! `lockwright::objects`. Each program does the same without the tool.

use std::path::{Path, PathBuf};

use crate::golden::golden;
use crate::harness::{FOUND, Run, build, check, check_with, example, functions, native, tests_dir};

fn include() -> String {
    tests_dir().join("../include").canonicalize().expect("include folder").display().to_string()
}

fn own(source: &str) -> PathBuf {
    build(source, &["-I", &include()])
}

/// Runs a program under the tool, and without it, with the same result.
fn told(program: &Path, what: &str) -> Run {
    let alone = native(program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = check(program).arg(what).run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    run
}

fn told_in_c(what: &str) -> Run {
    told(&own("own_objects.c"), what)
}

/// The only finding: its kind, and what its title says.
fn finds(run: &Run, kind: &str, title: &str) {
    assert_eq!(run.verdicts(), [(kind, "likely")], "{}", run.stderr);
    let is = run.finding()["title"].as_str().expect("title");
    assert!(is.contains(title), "{title:?} in {is:?}");
    assert_eq!(run.code(), FOUND);
}

fn clean(run: &Run) {
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

/// Whether a fixup has put right what was found.
fn is_fixed(run: &Run) -> bool {
    run.finding()["evidence"].to_string().contains("fixup")
}

#[test]
fn what_is_done_in_the_right_state_is_silent() {
    for what in ["clean", "asserted", "states", "given-back", "static", "types", "same-type"] {
        clean(&told_in_c(what));
    }
}

#[test]
fn what_is_done_in_the_wrong_state_is_found() {
    for (what, kind, title) in [
        ("init-active", "object-initialised-active", "initialised again while it is active"),
        ("init-destroyed", "use-after-destroy", "after it was destroyed"),
        ("unknown", "object-uninitialised", "without ever having been initialised"),
        ("activate-active", "object-wrong-state", "activated while it is active"),
        ("activate-destroyed", "use-after-destroy", "after it was destroyed"),
        ("deactivate-destroyed", "use-after-destroy", "after it was destroyed"),
        ("deactivate-unknown", "object-uninitialised", "without ever having been initialised"),
        ("destroy-active", "object-destroyed-active", "destroyed while it is active"),
        ("destroy-twice", "use-after-destroy", "destroyed twice"),
        ("free-active", "object-gone-active", "while it is active"),
        ("assert", "object-uninitialised", "without ever having been initialised"),
        ("state", "object-wrong-state", "in state 7 where the program expects state 3"),
        ("counting", "object-wrong-state", "deactivated"),
        ("heap", "object-gone-active", "while it is active"),
        ("realloc", "object-gone-active", "moved by realloc"),
        ("mapping", "object-gone-active", "unmapped"),
        ("pool", "object-gone-active", "while it is active"),
        ("hinted", "object-destroyed-active", "destroyed while it is active"),
    ] {
        let run = told_in_c(what);
        finds(&run, kind, title);
        let hints = run.finding()["evidence"].to_string().contains("`rings`");
        assert_eq!(hints, what == "hinted", "{what}: {}", run.stderr);
    }
}

#[test]
fn an_objects_history_is_told() {
    let run = told_in_c("threads");
    finds(&run, "object-destroyed-active", "destroyed while it is active");
    let finding = run.finding();
    let named = functions(finding);
    assert!(["end", "make", "arm"].iter().all(|f| named.contains(f)), "{named:?}");
    assert_eq!(finding["locks"][0]["kind"], "timer");
    // What the header inlines is no place to show.
    assert!(!run.stderr.contains("in lw_object"), "{}", run.stderr);
    let numbers: Vec<_> = finding["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["thread"]["number"].as_u64().expect("number"))
        .collect();
    assert!(numbers.contains(&1) && numbers.contains(&2), "{numbers:?}");
}

#[test]
fn a_types_rules_go_beyond_the_kernels() {
    let run = told_in_c("once");
    assert_eq!(run.verdicts(), [("object-initialised-twice", "possible")], "{}", run.stderr);
    finds(&told_in_c("reinit-not"), "use-after-destroy", "after it was destroyed");
    let run = told_in_c("must-destroy");
    let untidy: Vec<_> = run.untidy().iter().map(|finding| &finding["kind"]).collect();
    assert_eq!(untidy, ["object-never-destroyed"], "{}", run.stderr);
    for what in ["once-not", "reinit", "must-destroy-not"] {
        let run = told_in_c(what);
        clean(&run);
        assert!(run.untidy().is_empty(), "{what}: {}", run.stderr);
    }
}

#[test]
fn fixups_put_right_what_was_wrong_after_it_was_found() {
    for (what, kind) in [
        ("fixup-init", "object-initialised-active"),
        ("fixup-activate", "object-wrong-state"),
        ("fixup-unknown", "object-uninitialised"),
        ("fixup-destroy", "object-destroyed-active"),
        ("fixup-free", "object-gone-active"),
        ("fixup-heap", "object-gone-active"),
        ("fixup-mapping", "object-gone-active"),
        ("fixup-assert", "object-uninitialised"),
    ] {
        let run = told_in_c(what);
        finds(&run, kind, "");
        assert!(is_fixed(&run), "{what}: {}", run.stderr);
    }
    let run = told_in_c("fixup-refuses");
    finds(&run, "object-initialised-active", "");
    assert!(!is_fixed(&run), "{}", run.stderr);
}

#[test]
fn activations_say_whether_they_may_be() {
    let program = own("own_objects.c");
    let alone = native(&program).arg("results").run();
    assert_eq!(alone.text(), "0 0 0 0 0, 0 fixups\nresults: done\n");
    let run = check(&program).arg("results").run();
    let refused = -libc::EINVAL;
    let says = format!("{refused} 0 {refused} {refused} 0, 1 fixups\nresults: done\n");
    assert_eq!(run.text(), says, "{}", run.stderr);
}

/// The numbers are those of lib/debugobjects.c.
#[test]
fn the_kernels_selftest_passes() {
    let program = own("own_objects_selftest.c");
    assert_eq!(native(&program).run().text(), "0 0 0 0\n");
    let run = check_with(&["--stats"], &program).run();
    assert_eq!(run.text(), format!("0 0 {} 0\n", -libc::EINVAL), "{}", run.stderr);
    let mut kinds: Vec<_> = run.verdicts().iter().map(|verdict| verdict.0).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            "object-gone-active",
            "object-initialised-active",
            "object-wrong-state",
            "use-after-destroy",
        ],
        "uses after one destruction are one finding: {}",
        run.stderr
    );
    let fixed = run.findings().iter().filter(|f| f["evidence"].to_string().contains("fixup"));
    assert_eq!(fixed.count(), 3, "{}", run.stderr);
    for line in ["warnings", "fixups"] {
        assert!(run.stderr.contains(line), "{line}: {}", run.stderr);
    }
}

#[test]
fn a_forked_child_goes_on_with_its_parents_objects() {
    let run = told_in_c("fork");
    finds(&run, "object-destroyed-active", "destroyed while it is active");
}

#[test]
fn cxx_classes_tell_of_themselves() {
    let program = own("own_objects.cc");
    clean(&told(&program, "clean"));
    for what in ["gone", "deleted", "repaired"] {
        let run = told(&program, what);
        finds(&run, "object-gone-active", "while it is active");
        assert_eq!(is_fixed(&run), what == "repaired", "{}", run.stderr);
    }
}

#[test]
fn rust_programs_tell_of_their_objects() {
    let program = example("objects");
    clean(&told(&program, "clean"));
    let run = told(&program, "gone");
    finds(&run, "object-gone-active", "while it is active");
    for place in ["objects::arm", "objects::forget"] {
        assert!(functions(run.finding()).contains(&place), "{place}: {}", run.stderr);
    }
    finds(&told(&program, "destroyed"), "use-after-destroy", "after it was destroyed");
    let run = told(&program, "repaired");
    finds(&run, "object-gone-active", "while it is active");
    assert!(is_fixed(&run), "{}", run.stderr);

    let alone = native(&program).arg("results").run();
    assert_eq!(alone.text(), "[(true, true), (true, true)], 0 fixups\nresults: done\n");
    let run = check(&program).arg("results").run();
    assert_eq!(run.text(), "[(true, false), (true, true)], 1 fixups\nresults: done\n");
}

#[test]
fn types_of_a_module_that_was_unloaded_have_names_but_no_functions() {
    let flags = ["-I", &include(), "-DMODULE", "-shared", "-fPIC"];
    let module = build("own_objects_plugin.c", &flags);
    let host = own("own_objects_plugin.c");
    assert_eq!(native(&host).arg(&module).run().text(), "the end\n");
    let run = check(&host).arg(&module).run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    finds(&run, "object-gone-active", "while it is active");
    assert!(!is_fixed(&run), "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(finding["locks"][0]["kind"], "module's timer");
    assert!(functions(finding).contains(&"module_arm"), "{}", run.stderr);
}

/// Constructors of a program's libraries run before the tool's.
#[test]
fn what_was_initialised_before_the_tool_began_is_known() {
    let flags = ["-I", &include(), "-DLIBRARY", "-shared", "-fPIC"];
    let library = build("own_objects_early.c", &flags);
    let library = library.to_str().expect("a path of ours");
    let program = build("own_objects_early.c", &["-I", &include(), library]);
    assert_eq!(native(&program).run().text(), "0\n");
    let run = check(&program).run();
    assert_eq!(run.text(), "0\n", "{}", run.stderr);
    clean(&run);
}

/// docs/objects.md shows these programs, and the report on the first.
#[test]
fn the_programs_of_the_page_do_what_it_says() {
    let request = own("own_request.c");
    assert_eq!(native(&request).run().text(), "done\n");
    finds(&check(&request).run(), "object-destroyed-active", "destroyed while it is active");
    golden("own-request", check(&request));

    let timer = build("own_timer.cc", &["-std=c++11", "-I", &include()]);
    assert_eq!(native(&timer).run().text(), "1 timer runs\n");
    let run = check(&timer).run();
    finds(&run, "object-gone-active", "while it is active");
    assert!(!is_fixed(&run), "{}", run.stderr);

    let fixup = own("own_fixup.c");
    assert_eq!(native(&fixup).run().text(), "");
    let run = check(&fixup).run();
    assert_eq!(run.text(), "stopped just in time\n");
    finds(&run, "object-gone-active", "while it is active");
    assert!(is_fixed(&run), "{}", run.stderr);
}
