//! A thread's stack is the program's: little of it is used.

use crate::harness::{Run, build, native, under};

/// What more may be used than natively, bytes: mostly less than a page. Where chance gives two return addresses one place in the cache
/// of what the unwind tables say, that is read again further down, which takes 1.5 kB.
const MOST: i64 = 4096 + 2048;

/// As threads with the least stack have it: what the loader uses to bind a function at its first
/// call would hide much.
const BOUND: &[&str] = &["-Wl,-z,now"];

fn used(run: &Run) -> i64 {
    run.text().trim().parse().unwrap_or_else(|_| panic!("{:?}: {}", run.text(), run.stderr))
}

#[test]
fn little_more_of_a_threads_stack_is_used() {
    let program = build("stack_use.c", BOUND);
    for scenario in ["lock", "nested", "misuse", "wait", "spawn", "read", "many", "destroy", "fork"]
    {
        let natively = used(&native(&program).args([scenario]).run());
        for command in ["check", "meter", "run"] {
            let run = under(command, &[] as &[&str], &program).args([scenario]).run();
            let more = used(&run) - natively;
            // What does without the tool's code would be natively.
            assert!((256..=MOST).contains(&more), "{command} {scenario}: {more} bytes more");
        }
    }
}

/// Its stack has to do for the unwinding by the C library, too.
#[test]
fn a_thread_with_the_least_stack_is_cancelled() {
    let program = build("stack_use.c", BOUND);
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], &program).args(["cancelled"]).run();
        assert_eq!(run.text(), "cancelled\n", "{command}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{command}: {}", run.stderr);
    }
}
