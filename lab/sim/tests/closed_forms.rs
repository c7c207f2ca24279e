//! Results that can be worked out by hand, and rules for every simulation.

use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use lockwright::platform::{Atomic, Platform};
use lockwright_sim::machine::{Machine, named};
use lockwright_sim::simulate;
use lockwright_sim::workload::{Figures, Run, Workload};
use lockwright_sim::{
    Cell, Config, MICROSECOND, MILLISECOND, NANOSECOND, SECOND, Sim, Spent, Time,
};

fn machine() -> Machine {
    named("e5-2699v3").expect("a preset")
}

/// All transfers take as long as the average.
fn exact() -> Machine {
    let mut machine = machine();
    machine.line.spread = 0.0;
    machine
}

fn picoseconds(machine: &Machine, cycles: f64) -> Time {
    (machine.cycles(cycles) * NANOSECOND as f64).round() as Time
}

fn nanoseconds(time: f64) -> Time {
    (time * NANOSECOND as f64).round() as Time
}

/// More than half a transfer, in which an owner could write again, and less than a whole one.
const NOT_TWICE: Time = 30 * NANOSECOND;

/// The first socket of the machine, on which threads begin on one CPU after the other.
fn one_socket(machine: Machine) -> Config {
    Config { cpus: Some(18), ..Config::new(machine) }
}

/// `threads` threads add to one word, so often each, and compute in between. Returns the times at
/// which they end.
fn adders(config: &Config, threads: u32, times: u32, between: Time) -> Vec<Time> {
    simulate(config.clone(), |setup| {
        let word: &Cell<AtomicU32> = setup.place("the word", Cell::new(0));
        for _ in 0..threads {
            setup.spawn(move || {
                for _ in 0..times {
                    word.fetch_add(1, Relaxed);
                    Sim::compute(between);
                }
            });
        }
        let outcome = setup.run(SECOND);
        assert!(outcome.stuck.is_empty());
        assert_eq!(word.load(Relaxed), threads * times);
        outcome.clocks
    })
}

#[test]
fn a_line_between_two_cores_takes_a_transfer_for_each_addition() {
    let machine = exact();
    let each =
        nanoseconds(machine.line.complex) + picoseconds(&machine, machine.instruction.locked);
    let end = *adders(&one_socket(machine), 2, 1_000, NOT_TWICE).iter().max().expect("two");
    let ideal = 2 * 1_000 * each;
    // But for the begin.
    assert!(end.abs_diff(ideal) < 3 * MICROSECOND, "{end} {ideal}");
}

#[test]
fn cores_that_count_at_one_word_wait_for_all_others() {
    let machine = exact();
    let each =
        nanoseconds(machine.line.complex) + picoseconds(&machine, machine.instruction.locked);
    for threads in [3, 9, 18] {
        let config = one_socket(machine.clone());
        let end = *adders(&config, threads, 500, NOT_TWICE).iter().max().expect("some");
        let ideal = u64::from(threads) * 500 * each;
        assert!(end.abs_diff(ideal) < 3 * MICROSECOND, "{threads}: {end} {ideal}");
    }
}

#[test]
fn a_core_alone_pays_for_its_instructions() {
    let machine = machine();
    let Machine { instruction, line, .. } = &machine;
    let each = picoseconds(&machine, instruction.step) + picoseconds(&machine, instruction.locked);
    let switch = (machine.scheduler.switch_us * MICROSECOND as f64) as Time;
    let ideal = switch + nanoseconds(line.memory) + 10_000 * each;
    let end = adders(&Config::new(machine.clone()), 1, 10_000, 0)[0];
    // It begins within a microsecond.
    assert!((ideal..ideal + MICROSECOND).contains(&end), "{end} {ideal}");
}

/// Two threads store to a word each and load the other's, with a fence in between or without. Returns
/// what they have loaded.
fn store_and_load(fence: bool) -> [u32; 2] {
    let seen = Rc::new([const { AtomicU32::new(7) }; 2]);
    simulate(Config::new(exact()), |setup| {
        let words = [0, 1].map(|_| setup.place::<Cell<AtomicU32>>("a word", Cell::new(0)));
        for me in [0, 1] {
            let seen = Rc::clone(&seen);
            setup.spawn(move || {
                // Both have copies of both, and come to the same time.
                let _ = words.map(|word| word.load(Relaxed));
                Sim::compute(5 * MICROSECOND - Sim::time());
                words[me].store(1, Relaxed);
                if fence {
                    Sim::fence(SeqCst);
                }
                seen[me].store(words[1 - me].load(Relaxed), Relaxed);
            });
        }
        assert!(setup.run(SECOND).stuck.is_empty());
    });
    [0, 1].map(|me: usize| seen[me].load(Relaxed))
}

/// The litmus test SB of x86-TSO.
#[test]
fn loads_pass_stores_unless_there_is_a_fence() {
    assert_eq!(store_and_load(false), [0, 0]);
    assert_ne!(store_and_load(true), [0, 0]);
}

#[test]
fn a_store_takes_a_cycle_and_a_locked_instruction_waits_for_it() {
    let machine = exact();
    let (cycles, complex) = (|n| picoseconds(&machine, n), nanoseconds(machine.line.complex));
    let took = Rc::new(std::cell::Cell::new((0, 0)));
    let noted = Rc::clone(&took);
    simulate(one_socket(machine.clone()), |setup| {
        let words =
            ["stored to", "its own"].map(|name| setup.place::<Cell<AtomicU32>>(name, Cell::new(0)));
        setup.spawn(move || {
            words[0].fetch_add(1, Relaxed);
        });
        setup.spawn(move || {
            words[1].fetch_add(1, Relaxed);
            Sim::compute(9 * MICROSECOND);
            let begin = Sim::time();
            words[0].store(1, Relaxed);
            let stored = Sim::time() - begin;
            words[1].fetch_add(1, Relaxed);
            let drained = Sim::time() - begin;
            noted.set((stored, drained));
        });
        setup.run(SECOND);
    });
    let (stored, drained) = took.get();
    let instruction = &machine.instruction;
    assert_eq!(stored, cycles(instruction.step) + cycles(instruction.store));
    // The line comes after the store's step; then the instruction is done.
    let ideal =
        cycles(instruction.step) + complex + cycles(instruction.store) + cycles(instruction.locked);
    assert!(drained.abs_diff(ideal) < NANOSECOND, "{drained} {ideal}");
}

/// Threads that only compute share CPUs evenly, to within one turn.
#[test]
fn the_slice_of_an_over_committed_virtual_cpu() {
    for (cpus, threads) in [(1, 3), (2, 4), (4, 12)] {
        let mut config = Config::new(machine());
        (config.cpus, config.guest) = (Some(cpus), true);
        let outcome = simulate(config, |setup| {
            let words: Vec<_> = (0..threads)
                .map(|_| setup.place::<Cell<AtomicU32>>("a word", Cell::new(0)))
                .collect();
            for word in words {
                setup.spawn(move || {
                    while !Sim::is_over() {
                        Sim::compute(10 * MICROSECOND);
                        word.load(Relaxed);
                    }
                });
            }
            setup.run(SECOND)
        });
        let share = SECOND * u64::from(cpus) / threads as u64;
        for times in &outcome.tasks {
            let computed = times.of(Spent::Computing);
            assert!(
                computed.abs_diff(share) < 30 * MILLISECOND,
                "{cpus} {threads}: {computed} {share}"
            );
        }
    }
}

fn run(workload: &str, lock: &str, threads: u32, parks: bool, seed: u64) -> Figures {
    run_on(machine(), workload, lock, threads, parks, seed)
}

fn run_on(
    machine: Machine,
    workload: &str,
    lock: &str,
    threads: u32,
    parks: bool,
    seed: u64,
) -> Figures {
    let mut config = Config::new(machine);
    (config.guest, config.parks, config.seed, config.cpus) = (true, parks, seed, Some(8));
    // Turns that end within what is simulated.
    (config.machine.scheduler.latency_ms, config.machine.scheduler.min_granularity_ms) =
        (0.2, 0.05);
    config.machine.scheduler.balance_ms = 0.3;
    let run = Run { config, threads, length: 3 * MILLISECOND, libraries: Vec::new() };
    Workload::named(workload).expect("a workload").run(&run, lock).expect("a lock")
}

/// All that a run has come to.
fn all(figures: &Figures) -> String {
    let outcome = &figures.outcome;
    format!(
        "{:?} {:?} {:?} {:?}",
        figures.operations, outcome.tasks, outcome.clocks, outcome.places
    )
}

const LOCKS: [&str; 11] = [
    "qspinlock",
    "hybrid",
    "unfair",
    "ticket",
    "mcs",
    "k42",
    "mutex",
    "hybrid_mutex",
    "glibc",
    "std",
    "parking_lot",
];

#[test]
fn a_hand_over_of_a_ticket_lock_is_no_shorter_than_a_transfer_and_goes_round() {
    // The near threads take the lock more often in the beginning, before the others have come.
    let mut machine = machine();
    machine.line.hop = 0.0;
    let figures = run_on(machine.clone(), "micro", "ticket", 8, true, 1);
    let (least, most) = figures.least_and_most();
    // But for the first microsecond, in which they come.
    assert!(most - least <= 8, "first come, first served: {least} to {most}");
    let each = figures.seconds / figures.operations.iter().sum::<u64>() as f64 * 1e9;
    // The unlock, and the look of the next.
    assert!(each > 2.0 * machine.line.complex * (1.0 - machine.line.spread), "{each}");
    // Nobody needs more than each of the others' looks, twice, and its own.
    assert!(each < 3.0 * 8.0 * machine.line.complex, "{each}");
}

#[test]
fn parked_threads_come_to_what_those_come_to_who_look_each_round() {
    for lock in LOCKS {
        for threads in [8, 20] {
            let parked = run("micro", lock, threads, true, 7);
            let looking = run("micro", lock, threads, false, 7);
            assert_eq!(all(&parked), all(&looking), "{lock}, {threads} threads");
            assert_eq!(parked.intrusions, 0, "{lock}");
        }
    }
}

#[test]
fn time_is_conserved() {
    for lock in LOCKS {
        let figures = run("build", lock, 20, true, 3);
        let outcome = &figures.outcome;
        assert!(outcome.stuck.is_empty(), "{lock}: {:?}", outcome.stuck);
        for (times, clock) in outcome.tasks.iter().zip(&outcome.clocks) {
            assert_eq!(times.total(), *clock, "{lock}");
        }
    }
}

/// No more objects can be made than sections fit under the core's lock one after the other, however many
/// threads there are; what makes none is not held up.
#[test]
fn new_locks_below_an_engine_queue_for_its_core() {
    let rate = |name, threads| {
        let config = Config::new(exact());
        let run = Run { config, threads, length: 3 * MILLISECOND, libraries: Vec::new() };
        Workload::named("watched").expect("a workload").run(&run, name).expect("one of it").rate()
    };
    for (engine, core_ns) in [("check-new", 268.0 + 57.0), ("meter-new", 326.0 + 67.0)] {
        let rate = rate(engine, 36);
        assert!(rate < 1e9 / core_ns, "{engine}: {rate}");
        // As many as a few CPUs make that are not held up.
        assert!(rate > 0.25e6, "{engine}: {rate}");
    }
    assert!(rate("unwatched", 36) > 30e6);
    // One thread: a microsecond between two acquisitions, and what the engine takes.
    for (engine, cost_ns) in [
        ("check", 9.0),
        ("meter", 34.0),
        ("check-objects", 9.0 + 2_100.0 / 64.0),
        ("meter-objects", 34.0 + 1_793.0 / 64.0),
    ] {
        let ratio = rate("unwatched", 1) / rate(engine, 1);
        let ideal = 1.0 + cost_ns / 1_000.0;
        assert!((ratio - ideal).abs() < 0.01, "{engine}: {ratio} {ideal}");
    }
}

#[test]
fn a_lock_that_does_not_exclude_is_found() {
    assert!(run("micro", "busted", 8, true, 1).intrusions > 0);
}

#[test]
fn the_same_seed_gives_the_same_to_the_last_digit() {
    for lock in LOCKS {
        assert_eq!(all(&run("build", lock, 20, true, 5)), all(&run("build", lock, 20, true, 5)));
        assert_ne!(all(&run("build", lock, 20, true, 5)), all(&run("build", lock, 20, true, 6)));
    }
}

const CHILD: &str = "LOCKWRIGHT_SIM_TEST_CHILD";

/// A process of its own has other addresses of all that is not placed.
#[test]
fn two_processes_give_the_same() {
    let mine: String = LOCKS.iter().map(|lock| all(&run("micro", lock, 20, true, 5))).collect();
    if let Some(file) = std::env::var_os(CHILD) {
        std::fs::write(file, mine).expect("a file");
        return;
    }
    let file = std::env::temp_dir().join(format!("lockwright-sim-{}", std::process::id()));
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "two_processes_give_the_same"]).env(CHILD, &file);
    assert!(child.output().expect("it runs").status.success());
    let its = std::fs::read_to_string(&file).expect("the child's");
    let _ = std::fs::remove_file(&file);
    assert!(mine == its);
}
