//! Errors are reported plainly, with the remedy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::executable;
use crate::harness::{Run, Scratch, build, kept_ledger, program, run, skip, tool};

/// `lockwright check` with these arguments, and the checks that hold for every error.
fn fails(arguments: &[&str], code: i32) -> Run {
    let mut command = tool();
    command.arg("check").args(arguments);
    let run = run(command);
    assert_eq!(run.code(), code, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    assert!(run.stderr.contains("help: "), "the remedy is named: {}", run.stderr);
    assert!(run.stdout.is_empty());
    run
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn program_not_found() {
    let run = fails(&["--", "no-such-program-anywhere"], 127);
    assert!(run.stderr.contains("no-such-program-anywhere"), "{}", run.stderr);
    let run = fails(&["--", "/no/such/file"], 127);
    assert!(run.stderr.contains("/no/such/file"), "{}", run.stderr);
}

#[test]
fn program_not_executable() {
    let scratch = Scratch::new();
    let file = scratch.join("notes.txt");
    fs::write(&file, "no program\n").unwrap();
    let run = fails(&["--", text(&file)], 126);
    assert!(run.stderr.contains("chmod +x"), "{}", run.stderr);
    let run = fails(&["--", text(scratch.path())], 126);
    assert!(run.stderr.contains("directory"), "{}", run.stderr);
}

/// The exit codes are those of shells, and of env(1) except the last.
#[test]
fn files_that_are_no_programs() {
    let scratch = Scratch::new();
    let elf = fs::read(program("ending.c")).unwrap();
    for (name, content, code, said) in [
        (
            "interpreter",
            &b"#!/no/such/interpreter -x\n"[..],
            127,
            "no interpreter `/no/such/interp",
        ),
        ("directory", b"#!/etc\n", 126, "Permission denied"),
        ("damaged", &elf[..40], 126, "neither a program for this system nor a script"),
        ("binary", b"\x00\x01\x02", 126, "neither a program for this system nor a script"),
    ] {
        let file = scratch.join(name);
        executable::write(&file, content);
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", "\"$0\"", text(&file)]);
        assert_eq!(run(shell).code(), code, "{name}");
        let run = fails(&["--", text(&file)], code);
        assert!(run.stderr.contains(said), "{name}: {}", run.stderr);
    }
    // Text without a first line that says what it is: the shell's.
    let file = scratch.join("text");
    executable::write(&file, b"echo ran $1\nexit 4\n");
    let mut command = tool();
    command.args(["check", "--", text(&file), "once"]);
    let run = run(command);
    assert_eq!((run.code(), run.text().as_str()), (4, "ran once\n"), "{}", run.stderr);
}

/// A mistake in a file is reported with its line before the program runs, and the file stays as it
/// is.
#[test]
fn files_with_mistakes() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    let baseline = br#"{"schema": "lockwright-baseline", "version": 3,
"findings": [{"fingerprint": "x", "grade": "sure"}]}"#;
    for (option, content, said) in [
        (
            "--suppressions",
            &b"[a]\nkind: *\n\nclas: b\n"[..],
            "file:4: `clas:` is no part of a rule",
        ),
        ("--suppressions", b"[a]\nclass: \xff\n", "file:2: this is no text in UTF-8"),
        ("--baseline", b"root:x:0:0\n", "is not JSON: expected value at line 1 column 1"),
        ("--baseline", baseline, "is damaged: unknown variant `sure`"),
        ("--baseline", baseline, "at line 2 column"),
    ] {
        fs::write(&file, content).unwrap();
        let run = fails(&[option, text(&file), "--", "sh", "-c", "echo ran"], 2);
        assert!(run.stderr.contains(said), "{said} in {}", run.stderr);
        assert_eq!(fs::read(&file).unwrap(), content);
    }
    // Not somebody else's file is to be overwritten.
    fs::write(&file, "root:x:0:0\n").unwrap();
    let run = fails(&["--baseline", text(&file), "--", "true"], 2);
    assert!(run.stderr.contains("name a file that --write-baseline wrote"), "{}", run.stderr);
    assert!(!run.stderr.contains("write it again"), "{}", run.stderr);
}

#[test]
fn ledgers_that_are_none() {
    let scratch = Scratch::new();
    let pipe = scratch.join("pipe.lwl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    fs::create_dir(scratch.join("folder")).unwrap();
    for (what, said) in [
        (text(&pipe), "not a lockwright ledger"),
        ("/dev/zero", "not a lockwright ledger"),
        (text(&scratch.join("folder")), "no ledger in"),
        ("/no/such", "No such file"),
    ] {
        for command in ["report", "merge"] {
            let mut tool = tool();
            tool.args([command, what]);
            let run = run(tool);
            assert_eq!(run.code(), 125, "{command} {what}: {}", run.stderr);
            assert!(run.stderr.contains(said) && run.stderr.contains("help: "), "{}", run.stderr);
        }
    }
}

/// The tool never waits for a writer of a named pipe, wherever one is given instead of a file.
#[test]
fn named_pipes_in_place_of_files() {
    let scratch = Scratch::new();
    let pipe = scratch.join("pipe");
    let make = |path: &Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    make(&pipe);
    for option in ["--suppressions", "--baseline"] {
        let run = fails(&[option, text(&pipe), "--", "sh", "-c", "echo ran"], 2);
        assert!(run.stderr.contains("not a regular file"), "{}", run.stderr);
    }
    // Such as the shell hands on is the user's own.
    let script = "\"$0\" check --ledger-dir \"$2\" --suppressions <(echo '# none') -- \"$1\"";
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", script, env!("CARGO_BIN_EXE_lockwright"), text(&program("nothing.c"))]);
    let given = run({
        bash.arg(scratch.join("given"));
        bash
    });
    assert_eq!(given.code(), 0, "{}", given.stderr);

    let mut command = tool();
    command.args(["run", "--keep", "--ledger-dir"]).arg(scratch.join("ledgers"));
    command.arg("--").arg(program("nothing.c"));
    let kept = run(command);
    let dir = kept.stderr.split("ledgers kept in ").nth(1).unwrap().lines().next().unwrap();
    for name in ["end.json", "cost.json", "run", "executed", "unwatched", "unwatched-7"] {
        let path = Path::new(dir).join(name);
        let _ = fs::remove_file(&path);
        make(&path);
    }
    make(&Path::new(dir).join("1-0011223344556677.lwl"));
    let mut report = tool();
    report.args(["report", dir]);
    let report = run(report);
    assert_eq!(report.code(), 0, "{}", report.stderr);
}

#[test]
fn errors_are_coloured_as_asked_for() {
    for (options, coloured) in [(&[] as &[&str], false), (&["--color=always"], true)] {
        let mut command = tool();
        command.arg("check").args(options).args(["--", "no-such-program-anywhere"]);
        let run = run(command);
        assert_eq!(run.stderr.contains("\x1b["), coloured, "{options:?}: {}", run.stderr);
    }
}

/// The reader of a report may stop before its end.
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let scratch = Scratch::new();
    for pipe in ["-o - -- \"$1\"", "--json - -- \"$1\"", "-- \"$1\" 2>&1 >/dev/null"] {
        let script =
            format!("{{ \"$0\" check --ledger-dir \"$2\" {pipe}; echo $? >\"$2/code\"; }} | true",);
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_lockwright"), text(&program("abba.c"))]);
        shell.arg(scratch.path());
        run(shell);
        let code = fs::read_to_string(scratch.join("code")).unwrap();
        assert_eq!(code.trim(), crate::harness::FOUND.to_string(), "{pipe}");
    }
}

#[test]
fn static_binary() {
    let binary = build("ending.c", &["-static"]);
    let run = fails(&["--", text(&binary), "exit", "0"], 126);
    assert!(run.stderr.contains("static"), "{}", run.stderr);
}

#[test]
fn thirty_two_bit_binary() {
    let scratch = Scratch::new();
    let file = scratch.join("old");
    let mut elf = vec![0; 128];
    elf[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    elf[16] = 2; // ET_EXEC
    elf[18] = 3; // EM_386
    elf[20] = 1; // EV_CURRENT
    executable::write(&file, &elf);
    let run = fails(&["--", text(&file)], 126);
    assert!(run.stderr.contains("32-bit"), "{}", run.stderr);
}

#[test]
fn foreign_machine() {
    let scratch = Scratch::new();
    let file = scratch.join("foreign");
    let mut elf = fs::read(program("ending.c")).unwrap();
    elf[18..20].copy_from_slice(&[22, 0]); // EM_S390
    executable::write(&file, &elf);
    fails(&["--", text(&file)], 126);
}

#[test]
fn setuid_binary() {
    let scratch = Scratch::new();
    let file = scratch.join("privileged");
    executable::copy(&program("ending.c"), &file);
    // Another owner than the user that runs it, where we may: only then does the bit change
    // anything.
    let _ = std::os::unix::fs::chown(&file, Some(65534), None);
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    let run = fails(&["--", text(&file), "exit", "0"], 126);
    let said = run.stderr.to_lowercase();
    assert!(said.contains("setuid") || said.contains("set-user-id"), "{}", run.stderr);
}

#[test]
fn ledger_directory_unwritable() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    fs::write(&file, "").unwrap();
    let below_a_file = file.join("ledgers");
    let run = fails(&["--ledger-dir", text(&below_a_file), "--", text(&program("ending.c"))], 125);
    assert!(run.stderr.contains(text(&below_a_file)), "{}", run.stderr);
    assert!(run.stderr.contains("--ledger-dir"), "{}", run.stderr);
}

/// A file system of `size`, mounted for one test; `None`, said plainly, where mounting is not
/// allowed.
pub struct Tmpfs(Scratch);

impl Tmpfs {
    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Mounts it; options may follow the size, with a comma.
    pub fn new(size: &str) -> Option<Self> {
        let scratch = Scratch::new();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(scratch.path());
        match mount.output() {
            Ok(done) if done.status.success() => Some(Self(scratch)),
            _ => {
                skip("mounting a small file system is not allowed here");
                None
            }
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn ledger_directory_full() {
    let Some(small) = Tmpfs::new("64k") else { return };
    fs::write(small.0.join("filler"), vec![1; 60 << 10]).unwrap();
    let mut command = tool();
    command.args(["check", "--ledger-dir"]).arg(small.0.path()).arg("--");
    command.arg(program("ending.c")).args(["exit", "3"]);
    let run = run(command);
    // Whether nothing fits or little: the program is not harmed, or was not started.
    assert!([3, 125].contains(&run.code()), "{:?} {}", run.status, run.stderr);
    assert!(run.stderr.contains("--ledger-dir"), "{}", run.stderr);
    assert!(run.stderr.contains("full") || run.stderr.contains("space"), "{}", run.stderr);
}

#[test]
fn ledger_directory_fills_up_while_the_program_runs() {
    // The library needs 6.5 MiB of it.
    let Some(small) = Tmpfs::new("8m") else { return };
    let mut command = tool();
    command.args(["check", "--ledger-dir"]).arg(small.0.path()).arg("--");
    // The rest has room for some 26,000 pairs of the four times 512 locks. The program goes on for as many again; SIGPIPE
    // ends it.
    command
        .args(["/bin/sh", "-c"])
        .arg(format!("{} | head -c 60000 | wc -c", program("pairs.c").display()));
    let run = run(command);
    assert_eq!(run.text().trim(), "60000", "the program went on unharmed: {}", run.stderr);
    assert!(run.stderr.contains("full") || run.stderr.contains("space"), "{}", run.stderr);
}

/// If one file cannot be written, the tool reports it; its old content stays, and all other output
/// is there.
#[test]
fn a_report_that_finds_no_space() {
    let Some(small) = Tmpfs::new("64k") else { return };
    let scratch = Scratch::new();
    let (old, new) = (small.0.join("old.json"), small.0.join("new.sarif"));
    fs::write(&old, "of before").unwrap();
    fs::write(small.0.join("filler"), vec![1; 56 << 10]).unwrap();
    let mut command = tool();
    command.args(["check", "--ledger-dir"]).arg(scratch.join("ledgers"));
    command.arg("--json").arg(&old).arg("--sarif").arg(&new);
    command.args(["--", text(&program("abba.c"))]);
    let run = run(command);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    for path in [&old, &new] {
        let told = format!(": cannot write {}: No space left on device", path.display());
        assert!(run.stderr.contains(&told), "{told} in {}", run.stderr);
    }
    assert!(run.stderr.contains("circular-dependency"), "the text is there: {}", run.stderr);
    assert_eq!(fs::read_to_string(&old).unwrap(), "of before");
    assert_eq!(fs::read_dir(small.0.path()).unwrap().count(), 2, "nothing half-written");
    // What was not reported can be: the ledgers were kept.
    let kept = crate::harness::ledgers(&scratch.join("ledgers"));
    assert_eq!(kept.len(), 1);
    assert!(run.stderr.contains("ledgers kept in "), "{}", run.stderr);
}

/// The same to standard output.
#[test]
fn standard_output_that_finds_no_space() {
    let scratch = Scratch::new();
    let ledger = &kept_ledger(&scratch);
    for options in [&["--json", "-"] as &[&str], &["-o", "-"], &["--classes"]] {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\" >/dev/full", "sh", env!("CARGO_BIN_EXE_lockwright")]);
        command.arg("report").args(options).arg(ledger);
        let run = run(command);
        assert_eq!(run.code(), 125, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains("cannot write standard output: No space"), "{}", run.stderr);
    }
}

#[test]
fn wrong_command_line() {
    for arguments in
        [&["check"] as &[&str], &["check", "--on-deadlock", "pray", "--", "true"], &["chekc"]]
    {
        let mut command = tool();
        command.args(arguments);
        let run = run(command);
        assert_eq!(run.code(), 2, "{}", run.stderr);
    }
}
