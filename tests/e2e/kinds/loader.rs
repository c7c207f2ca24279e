//! The loader's locks against locks of the program's.

use crate::golden::golden;
use crate::harness::{Job, build, check, lock_names, program};

fn job(how: &str) -> Job {
    let plugin = build("loader_lock_plugin.c", &["-shared", "-fPIC"]);
    check(build("loader_lock.c", &["-rdynamic"])).arg(plugin).arg(how)
}

#[test]
fn what_constructors_take_must_not_be_held_while_loading() {
    for how in ["inverted", "searched"] {
        let run = job(how).run();
        assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        let names = lock_names(run.finding());
        assert!(names.contains(&"the loader's lock (dlopen, dlclose)"), "{how}: {names:?}");
        assert!(names.contains(&"registry"), "{how}: {names:?}");
        for step in run.finding()["steps"].as_array().unwrap() {
            assert!(!step["stack"].as_array().unwrap().is_empty(), "{how}: {}", run.stderr);
        }
    }
    let run = job("ordered").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert!(run.findings().is_empty(), "{}", run.stderr);
}

#[test]
fn who_is_joined_by_a_destructor_must_not_load() {
    let run = job("joined").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("join-with-lock-held", "likely")], "{}", run.stderr);
    let run = job("idle").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert!(run.findings().is_empty(), "{}", run.stderr);
}

#[test]
fn reports_of_the_loaders_lock_read_well() {
    golden("loader-inverted", job("inverted"));
}

fn list(how: &str) -> Job {
    check(program("loader_list.cc")).arg(how)
}

#[test]
fn what_a_callback_takes_must_not_be_held_while_listing_objects() {
    let run = list("inverted").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let names = lock_names(run.finding());
    let list_lock = "the loader's list of objects (dl_iterate_phdr)";
    assert!(names.contains(&list_lock) && names.contains(&"registry"), "{names:?}");
    // A jump out of the callback leaves the lock taken, for good.
    let run = list("jumps").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    let verdicts = [("circular-dependency", "likely"), ("join-with-lock-held", "likely")];
    assert_eq!(run.verdicts(), verdicts, "{}", run.stderr);
    for how in ["ordered", "nested", "handled"] {
        list_is_clean(how);
    }
}

#[test]
fn an_exception_or_the_threads_end_releases_the_list_of_objects() {
    for how in ["throws", "ends"] {
        list_is_clean(how);
    }
}

fn list_is_clean(how: &str) {
    let run = list(how).run();
    assert!(run.text().ends_with("the end\n"), "{how}: {}", run.stderr);
    assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
    // Not silent because nothing was seen.
    assert!(run.stderr.contains("watched 2 locks"), "{how}: {}", run.stderr);
}

#[test]
fn reports_of_the_list_of_objects_read_well() {
    golden("loader-list-inverted", list("inverted"));
}

/// Whose RUNPATH is searched is the caller's, with the tool as without.
#[test]
fn the_search_for_a_library_is_the_callers() {
    let plugin = build("loader_lock_plugin.c", &["-shared", "-fPIC"]);
    let folder = plugin.parent().expect("a folder").to_str().expect("a plain path");
    let path = format!("-Wl,--enable-new-dtags,-rpath,{folder}");
    let program = build("loader_lock.c", &["-rdynamic", &path]);
    let run = check(program).args(["loader_lock_plugin", "ordered"]).run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert!(!run.stderr.contains("cannot open"), "{}", run.stderr);
    assert!(run.findings().is_empty(), "{}", run.stderr);
}
