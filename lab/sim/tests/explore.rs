//! The explorer finds each planted fault, and nothing in the locks that are sound.

use lockwright_sim::explore::{Exploration, FAULTS, KINDS, Kind, Schedule, Search, What, Wrong};

fn random(threads: u32, count: u64) -> Exploration {
    Exploration { threads, operations: 3, search: Search::Random { seed: 1 }, count }
}

fn bounded(deviations: u32) -> Exploration {
    bounded_by(1, deviations)
}

/// The seed decides which threads read, which have a deadline, and the like.
fn bounded_by(seed: u64, deviations: u32) -> Exploration {
    let search = Search::Bounded { seed, deviations };
    Exploration { threads: 3, operations: 2, search, count: 20_000 }
}

fn is_of(wrong: &Wrong, fault: &str) -> bool {
    match wrong {
        Wrong::NotExcluded(_) => fault.starts_with("exclusion"),
        Wrong::Asleep(_) => fault == "lost wake-up",
        Wrong::NoProgress(_) => fault.ends_with("no progress"),
        Wrong::Overtaken(..) => fault == "overtaking",
        Wrong::Torn(..) => fault == "torn read",
        Wrong::GaveUp(..) => fault == "early refusal",
        Wrong::Panicked(..) => false,
    }
}

/// The failure is found again by its schedule alone.
fn is_replayed(exploration: &Exploration, kind: &Kind) {
    let found = exploration.explore(kind, &mut |_| {});
    let failure = found
        .failure
        .unwrap_or_else(|| panic!("{}: nothing found in {} schedules", kind.name, found.schedules));
    assert!(
        is_of(&failure.wrong, kind.fault.expect("planted")),
        "{}: {:?}",
        kind.name,
        failure.wrong
    );
    assert!(!failure.steps.is_empty());
    let search = Search::Given { seed: failure.seed, schedule: failure.schedule.clone() };
    let again = Exploration { search, count: 1, ..exploration.clone() }.explore(kind, &mut |_| {});
    let again = again.failure.unwrap_or_else(|| panic!("{}: not replayed", kind.name));
    assert_eq!((again.wrong, again.schedule), (failure.wrong, failure.schedule), "{}", kind.name);
}

#[test]
fn planted_faults_are_found_at_random() {
    for kind in FAULTS {
        is_replayed(&random(4, 2_000), kind);
        is_replayed(&random(8, 2_000), kind);
    }
}

#[test]
fn planted_faults_are_found_with_few_deviations() {
    for kind in FAULTS {
        let is_found =
            |seed: &u64| bounded_by(*seed, 2).explore(kind, &mut |_| {}).failure.is_some();
        let seed = (1..=8).find(is_found).unwrap_or_else(|| panic!("{}: not found", kind.name));
        is_replayed(&bounded_by(seed, 2), kind);
    }
}

#[test]
fn sound_locks_pass() {
    for kind in KINDS {
        for exploration in [random(8, 1_000), random(3, 2_000), bounded(2)] {
            let found = exploration.explore(kind, &mut |_| {});
            let wrong = found.failure.map(|failure| (failure.wrong, failure.schedule));
            assert_eq!(wrong, None, "{}", kind.name);
            assert!(found.distinct > 1, "{}", kind.name);
        }
    }
}

/// Two threads of a word that is looked at once by each: all orders.
#[test]
fn a_bounded_search_is_complete() {
    let kind = Kind::named("ticket").expect("there is one");
    let search = Search::Bounded { seed: 1, deviations: 2 };
    let all = Exploration { threads: 2, operations: 1, search, count: u64::MAX };
    let found = all.explore(kind, &mut |_| {});
    assert!(found.is_complete && found.failure.is_none(), "{found:?}");
    let few = Exploration { count: 3, ..all }.explore(kind, &mut |_| {});
    assert!(!few.is_complete && few.schedules == 3, "{few:?}");
}

/// Each role, deadlines and sleeps that end early are really tried: what the steps of a failure
/// show, in locks that fail by it.
#[test]
fn what_is_new_is_tried() {
    for (lock, what) in [
        ("busted_deadline", What::Refused),
        ("busted_late_wake", What::Refused),
        ("busted_early", What::Early),
        ("busted_upgrade", What::Upgrade),
        ("busted_seqlock", What::Peek),
    ] {
        let kind = Kind::named(lock).expect("there is one");
        let found = random(4, 2_000).explore(kind, &mut |_| {}).failure.expect(lock);
        assert!(found.steps.iter().any(|step| step.what == what), "{lock}: {:?}", found.steps);
    }
}

#[test]
fn a_seed_is_a_schedule_of_its_own() {
    let kind = Kind::named("lock_busted").expect("there is one");
    let found = random(4, 2_000).explore(kind, &mut |_| {}).failure.expect("no lock");
    let search = Search::Random { seed: found.seed };
    let again = Exploration { search, ..random(4, 1) }.explore(kind, &mut |_| {});
    assert_eq!(again.failure.expect("the same").schedule, found.schedule);
    assert_ne!(found.schedule, Schedule::default());
}
