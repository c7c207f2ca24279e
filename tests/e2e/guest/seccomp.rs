//! Threads that forbid themselves all system calls but four (SECCOMP_MODE_STRICT) go on as
//! natively.

use crate::harness::{native, program, under};

#[test]
fn seccomp_mode_strict_is_survived() {
    let program = program("seccomp_strict.c");
    for how in ["prctl", "seccomp", "syscall"] {
        for place in [&[] as &[&str], &["thread"]] {
            let alone = native(&program).arg(how).args(place).run();
            assert_eq!(alone.code(), 0, "{how} {place:?}: {}", alone.text());
            for command in ["check", "meter", "run"] {
                let run = under(command, &[] as &[&str], &program).arg(how).args(place).run();
                assert_eq!(run.text(), alone.text(), "{command} {how} {place:?}: {}", run.stderr);
                assert_eq!(
                    run.status.code().is_some(),
                    alone.status.code().is_some(),
                    "{command} {how} {place:?}"
                );
                // The report says what was not seen.
                assert!(run.stderr.contains("system calls"), "{command}: {}", run.stderr);
            }
        }
    }
}
