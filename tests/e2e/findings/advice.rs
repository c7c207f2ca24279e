//! The advice of `meter`: for each rule a program that it is for, and one like it that it is not
//! for.

use serde_json::Value;

use crate::harness::{Run, Scratch, program, under};

/// `advice.cc` in one of its cases, under a command that measures.
fn measured(command: &str, case: &str) -> Run {
    let scratch = Scratch::new();
    // What is found is not judged here.
    let options: &[&str] = if command == "run" { &["--exit-code", "0"] } else { &[] };
    under(command, options, program("advice.cc")).current_dir(scratch.path()).arg(case).run()
}

/// The measurement, which is a part of the report of `run`.
fn measurement(run: &Run) -> &Value {
    run.report().get("meter").unwrap_or(run.report())
}

/// A rule's advice on a run.
fn says<'r>(run: &'r Run, rule: &str) -> Vec<&'r str> {
    let advice = measurement(run)["advice"].as_array().expect("advice");
    let of_rule = advice.iter().filter(|advice| advice["rule"] == rule);
    of_rule.filter_map(|advice| advice["text"].as_str()).collect()
}

#[test]
fn one_saturated_place_is_named() {
    const RULE: &str = "one saturated place";
    let run = measured("meter", "saturated");
    let said = says(&run, RULE);
    assert!(said.len() == 1 && said[0].contains("saturated ("), "{}", run.stderr);
    assert!(run.stderr.contains("do less under it in saturated"), "{}", run.stderr);
    let run = measured("meter", "divided");
    assert_eq!(says(&run, RULE), [""; 0], "{}", run.stderr);
}

#[test]
fn writers_that_wait_for_readers_are_told_and_not_to_hold_it_for_less_time() {
    const RULE: &str = "writers wait for readers";
    for command in ["meter", "run"] {
        let run = measured(command, "starved");
        let said = says(&run, RULE);
        assert!(said.len() == 1 && said[0].contains("less time in reader ("), "{}", run.stderr);
        assert_eq!(says(&run, "hold dominated by one place"), [""; 0], "{}", run.stderr);
    }
    let run = measured("meter", "writers");
    assert_eq!(says(&run, RULE), [""; 0], "{}", run.stderr);
}

#[test]
fn a_holder_that_waits_when_the_process_ends_is_not_running() {
    for command in ["meter", "run"] {
        let run = measured(command, "in_join");
        let measured = measurement(&run);
        let waits = measured["waits"].as_array().expect("waits");
        let join = waits.iter().position(|wait| wait["kind"] == "join").expect("a join");
        let sites = measured["locks"][0]["sites"].as_array().expect("sites");
        let holder = sites.iter().find(|site| site["numbers"]["held"] == 1).expect("a holder");
        assert_eq!(holder["nested"][0]["wait"], join, "{}", run.stderr);
        assert!(run.stderr.contains("joining a thread in in_join"), "{}", run.stderr);
        assert!(!run.stderr.contains("s, running"), "{}", run.stderr);
        let said = says(&run, "lock held across a sleep");
        assert!(said.len() == 1 && said[0].contains("the join in in_join"), "{}", run.stderr);
    }
}

#[test]
fn the_call_that_a_holder_sleeps_in_is_named_and_its_caller() {
    const RULE: &str = "lock held across a sleep";
    for (case, call, place) in [
        ("fsync", "the call of `fsync` in sleeps_in_fsync", "sleeping call `fsync`"),
        ("sleep_for", "nanosleep` in sleeps_in_sleep_for", "sleeping call `"),
        (
            "thread_join",
            "the join in sleeps_in_thread_join",
            "end of a thread: sleeps_in_thread_join",
        ),
    ] {
        let run = measured("meter", case);
        let said = says(&run, RULE);
        assert!(said.iter().any(|text| text.contains(call)), "{case}: {said:?}\n{}", run.stderr);
        assert!(run.stderr.contains(place), "{case}: {}", run.stderr);
        assert!(!run.stderr.contains("call that may sleep"), "{case}: {}", run.stderr);
    }
}

#[test]
fn calls_that_return_to_one_place_are_told_apart() {
    let run = measured("meter", "two_calls");
    let waits = measurement(&run)["waits"].as_array().expect("waits");
    let count = |call: &str| {
        waits.iter().filter(|wait| wait["call"] == call).map(|w| w["waits"].as_u64()).next()
    };
    assert_eq!([count("nanosleep"), count("usleep")], [Some(Some(9)); 2], "{waits:#?}");
}
