//! All locks under torture, for a short time; and the broken ones, which it must find.

use std::time::{Duration, Instant};

use lockwright_lab::torture::{Fault, Freed, Parameters, TYPES, Type, freed, stress};

const SHORT: Parameters = Parameters {
    nwriters_stress: 2,
    nreaders_stress: 2,
    shutdown: Duration::from_millis(250),
    onoff_interval: 0,
    long_hold: Duration::from_millis(1),
    signals: false,
    stall: Duration::from_secs(60),
};

fn broken(fault: Fault) -> &'static Type {
    TYPES.iter().find(|one| one.fault == Some(fault)).expect("one of each")
}

fn sound() -> impl Iterator<Item = &'static Type> {
    TYPES.iter().filter(|one| one.fault.is_none())
}

/// Tortures all that should stand it.
fn all_stand(parameters: &Parameters) {
    for one in sound() {
        let statistics = stress(one, parameters);
        println!("{}:\n{statistics}", one.name);
        assert!(statistics.is_ok(), "{}:\n{statistics}", one.name);
        assert!(statistics.writes.total() > 0, "{}: nobody ever got it", one.name);
    }
}

#[test]
fn every_lock_stands_a_few_threads() {
    all_stand(&SHORT);
}

#[test]
fn every_lock_stands_64_threads_that_come_and_go() {
    all_stand(&Parameters {
        nwriters_stress: 40,
        nreaders_stress: 24,
        onoff_interval: 20,
        ..SHORT
    });
}

#[test]
fn every_lock_stands_a_storm_of_signals() {
    all_stand(&Parameters { nwriters_stress: 4, signals: true, ..SHORT });
}

#[test]
fn every_lock_can_be_freed_by_its_next_holder() {
    for one in sound().filter(|one| one.frees) {
        let result = freed(one, 3, 1000);
        assert_eq!(result, Freed { objects: 1000, touched: 0, fail: 0 }, "{}", one.name);
    }
}

/// Tortures a broken lock until that is seen.
fn is_found(fault: Fault, parameters: &Parameters) {
    let begin = Instant::now();
    let mut statistics = stress(broken(fault), parameters);
    while statistics.is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not found:\n{statistics}");
        statistics = stress(broken(fault), parameters);
    }
}

#[test]
fn lock_busted_is_found() {
    assert_eq!(TYPES[0].name, "lock_busted", "the table begins with it");
    is_found(Fault::Exclusion, &SHORT);
}

#[test]
fn readers_beside_a_writer_are_found() {
    is_found(Fault::Readers, &SHORT);
}

#[test]
fn a_lost_wake_is_found() {
    is_found(Fault::Wake, &Parameters { stall: Duration::from_secs(2), ..SHORT });
}

#[test]
fn a_deadline_taken_for_the_lock_is_found() {
    is_found(Fault::Deadline, &SHORT);
}

#[test]
fn a_lock_that_signals_confuse_is_found() {
    let storm = Parameters { signals: true, stall: Duration::from_secs(2), ..SHORT };
    is_found(Fault::Signal, &storm);
}

#[test]
fn a_touch_after_the_release_is_found() {
    let result = freed(broken(Fault::Touch), 3, 500);
    assert_ne!(result.touched, 0, "{result:?}");
}
