//! Locks that are tried first, and waited for only if that fails: they count as waited for in a run in which no try failed,
//! if the code after the try says so. And functions that take several locks together.

use crate::harness::{FOUND, build, check, due};

/// How the compiler optimises; the last is without symbols, too.
const LEVELS: [&[&str]; 5] = [&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-O2", "-s"]];
const LIKELY: (&str, &str) = ("circular-dependency", "likely");

/// Each of these ways gives these verdicts and this exit code, however the program is optimised.
fn finds(ways: &[&str], verdicts: &[(&str, &str)], code: i32) {
    for level in LEVELS {
        let program = build("try_first.c", level);
        for how in ways {
            let run = check(&program).arg(how).run();
            assert_eq!(run.verdicts(), verdicts, "{level:?} {how}: {}", run.stderr);
            assert_eq!(run.code(), code, "{level:?} {how}: {}", run.stderr);
        }
    }
}

#[test]
fn locks_that_try_first_wait() {
    finds(&["waits", "spins", "elsewhere", "semaphores"], &[LIKELY], FOUND);
}

#[test]
fn those_that_wait_for_a_time_may() {
    finds(&["timed"], &[(LIKELY.0, "possible")], 0);
}

#[test]
fn those_that_give_up_or_back_off_do_not() {
    finds(&["gives-up", "backs-off", "sometimes", "unsure"], &[], 0);
}

#[test]
fn locks_that_are_taken_together_are_each_waited_for() {
    // Without symbols, what is inlined looks like what the caller takes itself.
    for level in due(&LEVELS[..4], 4) {
        let program = build("lock_together.cc", &[&["-std=c++20"], *level].concat());
        let run = check(&program).run();
        assert_eq!(
            (run.verdicts(), run.code()),
            (vec![LIKELY], FOUND),
            "{level:?}: {}",
            run.stderr
        );
        for how in ["fixed", "apart"] {
            let run = check(&program).arg(how).run();
            let found = (run.verdicts(), run.code());
            assert_eq!(found, (vec![], 0), "{level:?} {how}: {}", run.stderr);
        }
    }
}
