//! What a short program pays for the tool around it: no process more than its own, no copy of the tool's process, and
//! no library written in each run.

use std::process::Command;

use crate::TOOL;
use crate::harness::{Scratch, native, program, run, skip};

#[test]
fn no_process_is_made_but_the_programs_own() {
    let tracer = program("executions.c");
    for command in ["check", "meter", "run"] {
        let scratch = Scratch::new();
        let ledgers = scratch.join("ledgers");
        let traced = native(&tracer)
            .args([TOOL, command, "--ledger-dir"])
            .arg(&ledgers)
            .args(["--", "/bin/true"])
            .run();
        assert_eq!(traced.code(), 0, "{}", traced.stderr);
        let counts = String::from_utf8(traced.stdout).expect("UTF-8");
        // The program takes no lock, and what it needs is the system's: that is known without its loader's list.
        assert!(traced.stderr.contains("no locks were seen"), "{}", traced.stderr);
        assert_eq!(counts.trim(), "0 1 2", "{command}: forks, vforks, executions");
    }
}

#[test]
fn the_library_is_written_in_the_first_run_alone() {
    let script = r#"
        mount -t tmpfs -o mode=1777 none /dev/shm || exit 77
        for run in 1 2; do
            "$1" check -- /bin/sh -c 'stat -c "%i %h" "${LD_PRELOAD%%:*}"'
        done
        ls /dev/shm/lockwright-* | grep -c '^liblockwright-.*\.so$'
    "#;
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "/bin/sh", "-c", script, "sh", TOOL]);
    unshare.env_remove("XDG_RUNTIME_DIR").env_remove("LD_PRELOAD");
    let ended = run(unshare);
    if ended.code() == 1 && ended.stderr.contains("unshare") || ended.code() == 77 {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{}", ended.stderr);
        return skip("mounting in a namespace of its own is not allowed here");
    }
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    let text = String::from_utf8(ended.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0] == lines[1] && lines[0].ends_with(" 2"), "one file, of two names: {text}");
    assert_eq!(lines[2], "1", "{text}");
}
