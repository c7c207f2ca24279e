//! Objects on a stack that are initialised where one was: the same one again, or another.

use crate::harness::{build, check};

#[test]
fn a_variable_that_lasts_as_long_as_its_thread_is_initialised_twice_and_others_are_new() {
    let twice = vec![("object-initialised-twice", "possible")];
    for level in ["-O0", "-O1", "-O2"] {
        let program = build("initialised_twice.c", &[level]);
        for (case, expected) in [
            ("again", &twice),
            ("loops", &twice),
            ("block-in-loop", &vec![]),
            ("blocks", &vec![]),
            ("calls", &vec![]),
            ("inlined-calls", &vec![]),
            ("destroys", &vec![]),
        ] {
            let run = check(&program).arg(case).run();
            assert_eq!(run.verdicts(), *expected, "{level} {case}: {}", run.stderr);
        }
    }
}
