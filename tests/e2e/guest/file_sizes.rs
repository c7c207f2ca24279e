//! Where files may not grow (RLIMIT_FSIZE): the kernel ends a process whose file grows too far,
//! unless it ignores SIGXFSZ. The tool says what is in the way, and the program fares as it does
//! without.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use crate::harness::{Run, Scratch, kept_ledger, program, run, tool};

/// The least that a ledger needs.
const LEDGER: u64 = 32 << 20;

/// Runs a command that may not have files of more than `bytes`, and ignores being told so or not.
fn limited(mut command: Command, bytes: u64, ignores: bool) -> Run {
    // SAFETY: both calls are async-signal-safe, and change the child alone.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            libc::signal(libc::SIGXFSZ, if ignores { libc::SIG_IGN } else { libc::SIG_DFL });
            Ok(())
        });
    }
    run(command)
}

/// `lockwright check` with options, of a shell that runs `script`.
fn checked(scratch: &Scratch, options: &[&str], script: &str) -> Command {
    let mut command = tool();
    command.arg("check").args(options).arg("--ledger-dir").arg(scratch.join("ledgers"));
    command.args(["--", "/bin/sh", "-c", script]);
    command
}

#[test]
fn no_room_for_the_library_is_an_error_with_its_remedy() {
    let scratch = Scratch::new();
    for bytes in [0, 64 << 10] {
        let run = limited(checked(&scratch, &[], "echo ran"), bytes, false);
        assert_eq!((run.code(), run.text().as_str()), (125, ""), "{}", run.stderr);
        assert!(run.stderr.contains("File too large"), "{}", run.stderr);
        assert!(run.stderr.contains("file size leave no room for a ledger"), "{}", run.stderr);
        assert!(run.stderr.contains("help: raise the limit: `ulimit "), "{}", run.stderr);
    }
}

#[test]
fn no_room_for_the_report_is_an_error() {
    let scratch = Scratch::new();
    let json = scratch.join("report.json");
    let mut report = tool();
    report.args(["report", "--json"]).arg(&json).arg(kept_ledger(&scratch));
    let run = limited(report, 16, false);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("cannot write ") && run.stderr.contains("File too large"));
    assert!(!json.exists());
}

#[test]
fn a_program_without_room_for_a_ledger_runs_all_the_same() {
    let scratch = Scratch::new();
    let script =
        format!("ulimit -f 1000; '{}' exit 3; echo $?; exit 4", program("ending.c").display());
    let run = limited(checked(&scratch, &[], &script), LEDGER + 1, false);
    assert_eq!((run.code(), run.text().as_str()), (4, "3\n"), "{}", run.stderr);
    // A process that is not watched leaves a record, where it can.
    let script = "ulimit -f 0; /bin/true; echo $?; exit 4";
    for options in [&[] as &[&str], &["--follow=none"]] {
        let run = limited(checked(&scratch, options, script), LEDGER + 1, false);
        assert_eq!((run.code(), run.text().as_str()), (4, "0\n"), "{options:?}: {}", run.stderr);
    }
}

#[test]
fn a_program_whose_own_file_grows_too_far_is_told_as_without_the_tool() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    let script = format!("exec truncate -s {} '{}'", 2 * LEDGER, file.display());
    for (ignores, signal, code) in [(false, Some(libc::SIGXFSZ), None), (true, None, Some(1))] {
        let mut native = Command::new("/bin/sh");
        native.args(["-c", &script]);
        for command in [native, checked(&scratch, &[], &script)] {
            let run = limited(command, LEDGER + 1, ignores);
            let end = (run.status.signal(), run.status.code());
            assert_eq!(end, (signal, code), "{ignores}: {}", run.stderr);
        }
    }
}
