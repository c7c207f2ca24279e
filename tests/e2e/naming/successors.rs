//! Modules that are loaded where others were: their locks and code have their own names, and are taken for nobody else's.

use crate::harness::{Job, Run, build, check, frames, program, under};

/// A run that loads two modules in turns, so many rounds of both before it does `what`.
fn finish(job: Job, rounds: u32, what: &str) -> Run {
    let shared = ["-shared", "-fPIC"];
    let modules = ["successor_first.c", "successor_second.c"].map(|source| build(source, &shared));
    let run = job.args(modules).args([&rounds.to_string(), what]).run();
    // Where the loader finds another place, what is reported is the same.
    let text = run.text();
    assert!(text == "the same place\n" || text == "elsewhere\n", "{}", run.stderr);
    run
}

fn checked(rounds: u32, what: &str) -> Run {
    finish(check(program("successors.c")), rounds, what)
}

/// The locks of each module are taken in one order. Modules that have each other's addresses have no class in common.
#[test]
fn locks_of_two_modules_at_one_place_are_not_of_one_class() {
    for rounds in [0, 3] {
        let run = checked(rounds, "two");
        assert!(run.verdicts().is_empty(), "{rounds}: {}", run.stderr);
    }
}

/// Locks that one module makes are of one class, though it was unloaded between.
#[test]
fn locks_of_one_module_that_is_loaded_again_are_of_one_class() {
    for rounds in [0, 3] {
        let run = checked(rounds, "again");
        let verdicts = [("circular-dependency", "possible")];
        assert_eq!(run.verdicts(), verdicts, "{rounds}: {}", run.stderr);
    }
}

/// However often modules come and go, there are the locks of two of them, and the host's and the loader's.
#[test]
fn classes_do_not_become_more_with_each_loading() {
    let classes = |rounds| checked(rounds, "two").count("classes");
    assert_eq!(classes(2), classes(40));
}

/// 70 rounds are more than the readings of the list of modules that are spent on what no module covers.
#[test]
fn locks_and_code_have_the_names_of_the_module_that_is_there() {
    for (rounds, what) in [0, 70]
        .into_iter()
        .flat_map(|rounds| ["made", "static", "given"].map(|what| (rounds, what)))
    {
        let run = checked(rounds, what);
        let verdicts = [("circular-dependency", "likely")];
        assert_eq!(run.verdicts(), verdicts, "{rounds} {what}: {}", run.stderr);
        let finding = &run.findings()[0];
        let files: Vec<&str> = frames(finding).filter_map(|frame| frame["file"].as_str()).collect();
        assert!(files.iter().any(|file| file.ends_with("successor_second.c")), "{files:?}");
        for shown in [&run.stderr, &finding.to_string()] {
            assert!(!shown.contains("successor_first.c"), "{rounds} {what}: {shown}");
        }
        if what == "static" {
            assert!(run.stderr.contains("`second_static`"), "{}", run.stderr);
        }
    }
}

/// Both modules take a lock of the host's once, by code of the same addresses.
#[test]
fn each_module_counts_its_own_acquisitions() {
    for rounds in [0, 3] {
        let job = under("meter", &[] as &[&str], program("successors.c"));
        let run = finish(job, rounds, "alike");
        let locks = run.report()["locks"].as_array().expect("locks");
        let host = locks.iter().find(|lock| lock["name"] == "host_lock").expect("it was taken");
        let sites = host["sites"].as_array().expect("sites");
        let counts = ["first_within", "second_within"].map(|name| {
            let site = sites.iter().find(|site| site["stack"][0]["function"] == name);
            site.map_or(0, |site| site["numbers"]["acquisitions"].as_u64().expect("a count"))
        });
        assert_eq!(counts, [1, 1], "{rounds}: {}", run.stderr);
    }
}
