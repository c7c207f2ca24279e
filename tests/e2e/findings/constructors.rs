//! Constructors that take another lock with the new object locked: harmless as long as nobody else
//! can know the object, a deadlock to come as soon as somebody can.

use crate::golden::golden;
use crate::harness::{FOUND, check, check_with, program};

#[test]
fn nobody_waits_for_what_nobody_knows() {
    let run = check(program("constructor.c")).arg("new").run();
    assert_eq!(run.text(), "the end\n");
    assert_eq!(run.verdicts(), [("circular-dependency", "ordered")], "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

#[test]
fn what_others_may_know_they_may_wait_for() {
    for how in ["released", "handed"] {
        let run = check(program("constructor.c")).arg(how).run();
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}");
    }
}

#[test]
fn golden_new() {
    golden("constructor-new", check_with(&["--all"], program("constructor.c")).arg("new"));
}

#[test]
fn golden_released() {
    golden("constructor-released", check(program("constructor.c")).arg("released"));
}
