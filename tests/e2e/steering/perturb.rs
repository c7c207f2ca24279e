//! Random delays before locks are taken.

use serde_json::Value;

use crate::harness::{Run, check, check_with, program};

/// Runs that a fault has to show itself in; each alone is a matter of chance.
const SEEDS: u32 = 20;

fn perturbed(seed: u32, what: &str) -> Run {
    let options = ["--perturb", &seed.to_string()];
    check_with(&options, program("confirmed.c")).arg(what).run()
}

fn is_deadlocked(run: &Run) -> bool {
    run.findings().iter().any(|finding: &Value| finding["grade"] == "deadlocked")
}

#[test]
fn an_inversion_without_a_pause_deadlocks() {
    let seed = (1..=SEEDS).find(|&seed| is_deadlocked(&perturbed(seed, "at_once")));
    assert!(seed.is_some());
}

#[test]
fn a_wakeup_between_look_and_wait_is_lost() {
    let seed = (1..=SEEDS).find(|&seed| is_deadlocked(&perturbed(seed, "lost_at_once")));
    assert!(seed.is_some());
}

#[test]
fn what_is_in_order_stays_so() {
    for seed in 1..=3 {
        let run = check_with(&["--perturb", &seed.to_string()], program("inorder.c")).run();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        assert_eq!(run.findings(), [] as [Value; 0]);
    }
}

#[test]
fn the_seed_is_said() {
    let run = perturbed(7, "flag");
    assert!(run.stderr.contains("note: threads were delayed at random: "), "{}", run.stderr);
    assert!(run.stderr.contains(", seed 7\n"), "{}", run.stderr);
    assert!(run.stderr.contains("--perturb 7 draws the same delays again"), "{}", run.stderr);
    let run = check_with(&["--perturb"], program("confirmed.c")).arg("flag").run();
    assert!(run.stderr.contains(", seed "), "{}", run.stderr);
    let run = check(program("confirmed.c")).arg("flag").run();
    assert!(!run.stderr.contains("delayed"), "{}", run.stderr);
}
