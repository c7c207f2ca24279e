//! All locks under torture, for a short time; and the broken ones, which it must find.

use std::time::{Duration, Instant};

use lockwright_lab::torture::{
    Fault, Freed, MAX_NESTED_LOCKS, Parameters, RtBoost, Statistics, TYPES, Type, Watcher, freed,
    stress, ww,
};

const SHORT: Parameters =
    Parameters { shutdown_secs: Duration::from_millis(250), ..Parameters::calm() };

fn broken(fault: Fault) -> &'static Type {
    TYPES.iter().find(|one| one.fault == Some(fault)).expect("one of each")
}

fn sound() -> impl Iterator<Item = &'static Type> {
    TYPES.iter().filter(|one| one.fault.is_none())
}

/// Tortures all that should stand it.
fn all_stand(parameters: &Parameters) {
    for one in sound() {
        let mut writes = 0;
        // On a busy machine the time may be over before a writer has run. The loop ends: a thread
        // that waits for a lock that no thread can get stalls.
        while writes == 0 {
            let statistics = stress(one, parameters, &mut ());
            println!("{}:\n{statistics}", one.name);
            assert!(statistics.is_ok(), "{}:\n{statistics}", one.name);
            writes = statistics.writes.total();
        }
    }
}

#[test]
fn every_lock_stands_a_few_threads() {
    all_stand(&SHORT);
}

#[test]
fn every_lock_stands_64_threads_that_come_and_go() {
    all_stand(&Parameters { nwriters_stress: 40, nreaders_stress: 24, restart_after: 20, ..SHORT });
}

#[test]
fn every_lock_stands_a_storm_of_signals() {
    all_stand(&Parameters { nwriters_stress: 4, signals: true, ..SHORT });
}

/// On one CPU a round of signals lasts longer than the time to the next: these must not keep the
/// threads from all else.
#[test]
fn a_storm_of_signals_lets_threads_work_on_one_cpu() {
    // SAFETY: zeros are a set without CPUs; all of it is this thread's own, and those that it starts
    // have it from there.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap(), &mut one);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &raw const one), 0);
    }
    let storm = Parameters { nwriters_stress: 4, signals: true, ..SHORT };
    let statistics = stress(Type::find("spin_lock_irq").unwrap(), &storm, &mut ());
    assert!(statistics.is_ok(), "{statistics}");
}

/// Whatever else there is, at once, until each thread has had the lock so many times.
#[test]
fn every_lock_stands_all_disturbances() {
    all_stand(&Parameters {
        acquisitions: 300,
        shutdown_secs: Duration::ZERO,
        onoff_interval: Duration::from_millis(20),
        shuffle_interval: Duration::from_millis(30),
        stutter: Duration::from_millis(25),
        nested_locks: MAX_NESTED_LOCKS,
        rt_boost: RtBoost::RtMutex,
        acq_writer_lim: Duration::from_secs(600),
        stops: true,
        ..SHORT
    });
}

#[test]
fn a_thread_ends_when_it_has_its_acquisitions() {
    let bounded = Parameters { acquisitions: 50, shutdown_secs: Duration::ZERO, ..SHORT };
    let statistics = stress(Type::find("spin_lock").unwrap(), &bounded, &mut ());
    assert_eq!(statistics.writes.acquired, [50; 2]);
}

/// As one of somebody who wants to see statistics, and ends it.
#[test]
fn a_watcher_sees_statistics_and_ends_it() {
    struct Ends(u32);
    impl Watcher for Ends {
        fn goes_on(&mut self, _now: &Statistics) -> bool {
            self.0 < 2
        }
        fn show(&mut self, now: &Statistics) {
            assert!(now.to_string().starts_with("Writes:  Total: "), "{now}");
            self.0 += 1;
        }
    }
    let endless = Parameters {
        shutdown_secs: Duration::ZERO,
        stat_interval: Duration::from_millis(1),
        ..SHORT
    };
    let mut watcher = Ends(0);
    stress(Type::find("mutex_lock").unwrap(), &endless, &mut watcher);
    assert!(watcher.0 >= 2);
}

const WW: ww::Parameters =
    ww::Parameters { stress: Duration::ZERO, acquisitions: 20, seed: 1, cpus: 4 };

#[test]
fn the_ww_mutex_stands_the_kernels_cases() {
    let outcomes = ww::run(&WW, &mut |_| ());
    assert_eq!(outcomes.len(), 18);
    assert!(outcomes.iter().all(|outcome| outcome.faults.is_empty()), "{outcomes:#?}");
}

#[test]
fn each_of_the_kernels_cases_finds_a_ww_mutex_that_is_none() {
    let found = |case: &str| {
        let outcomes = ww::run_busted(&WW, &mut |_| ());
        outcomes.iter().any(|outcome| outcome.case == case && !outcome.faults.is_empty())
    };
    let outcomes = ww::run_busted(&WW, &mut |_| ());
    for outcome in outcomes.iter().filter(|outcome| outcome.faults.is_empty()) {
        // A fault may have gone unnoticed by luck of timing, so it gets more chances. The cases
        // that give no refusals need no luck.
        assert!((0..20).any(|_| found(outcome.case)), "{outcome:?}");
    }
}

/// A limit that nobody keeps.
#[test]
fn a_writer_that_waits_for_too_long_is_found() {
    let strict = Parameters { acq_writer_lim: Duration::from_nanos(1), ..SHORT };
    let statistics = stress(Type::find("mutex_lock").unwrap(), &strict, &mut ());
    assert!(statistics.late > 0 && !statistics.is_ok(), "{statistics}");
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
    let mut statistics = stress(broken(fault), parameters, &mut ());
    while statistics.is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not found:\n{statistics}");
        statistics = stress(broken(fault), parameters, &mut ());
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
fn a_handler_that_waits_for_its_own_thread_is_found() {
    let storm = Parameters { signals: true, stall: Duration::from_secs(2), ..SHORT };
    is_found(Fault::Irq, &storm);
}

#[test]
fn a_touch_after_the_release_is_found() {
    let result = freed(broken(Fault::Touch), 3, 500);
    assert_ne!(result.touched, 0, "{result:?}");
}
