//! The program must not notice: streams, exit codes, signals, return codes, errno.

use std::os::unix::process::ExitStatusExt;

use crate::harness::{
    Scratch, check, check_with, is_alive, native, program, run, signal, spawn, tool, until,
};

#[test]
fn exit_codes() {
    for code in [0, 1, 3, 42, 65, 255] {
        let run = check(program("ending.c")).args(["exit", &code.to_string()]).run();
        assert_eq!(run.status.code(), Some(code), "{}", run.stderr);
        assert!(run.findings().is_empty());
    }
}

#[test]
fn deaths_by_signal() {
    for number in
        [libc::SIGSEGV, libc::SIGTERM, libc::SIGKILL, libc::SIGABRT, libc::SIGINT, libc::SIGPIPE]
    {
        let run = check(program("ending.c")).args(["signal", &number.to_string()]).run();
        assert_eq!(run.status.signal(), Some(number), "{:?} {}", run.status, run.stderr);
        assert_eq!(run.count("acquisitions"), 2, "what it did before is in the report");
    }
}

#[test]
fn streams_byte_for_byte() {
    // All byte values, no final newline, longer than any pipe's buffer.
    let input: Vec<u8> =
        (0..1_000_003u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let run = check(program("ending.c")).arg("copy").stdin(input.clone()).run();
    assert!(run.stdout == input, "{} bytes came out", run.stdout.len());
    assert!(
        run.stderr.starts_with("1000003 bytes\n"),
        "the program's stderr comes first: {}",
        run.stderr
    );
    assert_eq!(run.code(), 0);
}

#[test]
fn arguments_and_environment() {
    let arguments = ["environment", "--json", "", "a b", "--", "-o", "$HOME", "\u{e4}"];
    let job = check(program("ending.c")).args(arguments).env("GREETING", "good morning");
    assert_eq!(
        job.run().text(),
        "[--json]\n[]\n[a b]\n[--]\n[-o]\n[$HOME]\n[\u{e4}]\ngood morning\n"
    );
}

/// The tool has its times from the C library, and not from a program that fakes them.
#[test]
fn a_clock_of_the_programs_own_is_not_asked() {
    let program = program("own_clock.c");
    assert_eq!(native(&program).run().text(), "asked 1 times\n");
    for command in ["check", "meter", "run"] {
        for clock in ["tsc", "monotonic"] {
            let mut job = tool();
            job.args([command, "--"]).arg(&program).env("LOCKWRIGHT_CLOCK", clock);
            let run = run(job);
            assert_eq!((run.code(), run.text().as_str()), (0, "asked 1 times\n"), "{}", run.stderr);
        }
    }
}

#[test]
fn return_codes_and_errno() {
    let program = program("returns.c");
    let natively = native(&program).run();
    assert!(natively.text().lines().count() > 90 && natively.text().contains("EOWNERDEAD"));
    // It misuses its locks on purpose, to see what glibc says to that: the tool tells, too.
    let watched = check_with(&["--exit-code", "0"], &program).run();
    assert_eq!(watched.text(), natively.text());
    assert_eq!(watched.code(), natively.code(), "{}", watched.stderr);
    let on_purpose = ["held-lock-destroyed", "bad-unlock-balance", "unlock-inconsistent"];
    assert!(
        watched
            .verdicts()
            .iter()
            .all(|verdict| verdict.1 == "possible" || on_purpose.contains(&verdict.0)),
        "{}",
        watched.stderr
    );
}

#[test]
fn a_signal_sent_to_the_tool_reaches_the_program() {
    let running = check(program("ending.c")).arg("wait").spawn();
    let pid = running.program_id();
    signal(running.id(), libc::SIGTERM);
    let run = running.wait();
    assert!(run.text().ends_with("terminated\n"), "its handler ran: {}", run.text());
    assert_eq!(run.status.code(), Some(7), "{}", run.stderr);
    assert_eq!(run.count("acquisitions"), 2);
    assert!(!is_alive(pid));
}

/// timeout(1) signals its command, and then its process group, which the program is in.
#[test]
fn a_signal_sent_to_both_reaches_the_program_once() {
    // By chance it is once even if it is handed on, too: the kernel keeps one that waits.
    for _ in 0..5 {
        let scratch = Scratch::new();
        let mut command = std::process::Command::new("timeout");
        command.args(["300", env!("CARGO_BIN_EXE_lockwright"), "check", "--ledger-dir"]);
        command.arg(scratch.path()).arg("--").arg(program("signalled.c"));
        let running = spawn(command);
        let pid = running.program_id();
        // timeout does as if its time were over.
        signal(running.id(), libc::SIGTERM);
        let has_come = || String::from_utf8_lossy(&running.stdout()).contains("term");
        until("the signal", || has_come().then_some(()));
        // Some time for what must not come.
        std::thread::sleep(std::time::Duration::from_millis(200));
        signal(pid, libc::SIGUSR1);
        let run = running.wait();
        assert_eq!(run.text().matches("term").count(), 1, "{} {}", run.text(), run.stderr);
    }
}

#[test]
fn nothing_is_printed_while_it_runs() {
    let running = check(program("ending.c")).arg("wait").spawn();
    let pid = running.program_id();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(running.stderr(), "");
    signal(pid, libc::SIGKILL);
    assert_eq!(running.wait().status.signal(), Some(libc::SIGKILL));
}

#[test]
fn the_terminal_is_the_programs() {
    // script(1) gives it one; without, all three streams are pipes.
    let piped = check(program("ending.c")).arg("terminal").run();
    assert_eq!(piped.text(), "000\n");
    let Some(script) = crate::harness::installed(&["script"], "bsdutils") else { return };
    let mut command = std::process::Command::new(script);
    command.env("TERM", "xterm").args(["-q", "-e", "-c"]);
    let line = format!(
        "{} check -- {} terminal",
        env!("CARGO_BIN_EXE_lockwright"),
        program("ending.c").display()
    );
    command.arg(line).arg("/dev/null");
    let on_terminal = run(command);
    assert!(on_terminal.text().starts_with("111"), "{}", on_terminal.text());
}

#[test]
fn a_program_without_locks() {
    let run = check(program("ending.c")).arg("nolocks").run();
    assert_eq!(run.code(), 0);
    assert!(run.findings().is_empty());
    assert_eq!(run.count("acquisitions"), 0);
    assert!(run.stderr.lines().count() <= 3, "one line is enough: {}", run.stderr);
}

#[test]
fn no_finding_is_one_line_that_says_what_was_watched() {
    let run = check(program("inorder.c")).run();
    assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
    for word in ["lock", "class", "chain", "thread", "acquisition"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    let run = check(program("abba.c")).run();
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    let mut command = tool();
    command.args(["check", "--color", "always", "--"]).arg(program("abba.c"));
    let run = crate::harness::run(command);
    assert!(run.stderr.contains('\u{1b}'), "{}", run.stderr);
}
