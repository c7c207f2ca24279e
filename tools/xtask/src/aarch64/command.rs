//! The command itself, of that machine: it runs in the emulator, and starts programs of its machine.
//!
//! It executes them, so the kernel has to start the emulator for what is of that machine: binfmt_misc. A namespace of its own
//! has a list of its own (since Linux 6.7), so nothing is registered on this machine, and nothing is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::same::{counts, without_places};
use super::tools::{Tools, compile};
use crate::skips::skip;
use crate::workspace::target_dir;

/// Registers the emulator (`$1`) for ELF files of 64-bit Arm in a new namespace, and executes the rest.
const REGISTER: &str = r#"
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
printf '%s' ":lockwright:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$1:F" >/proc/sys/fs/binfmt_misc/register &&
shift && exec "$@""#;

/// What is run on both machines.
struct Case {
    command: &'static [&'static str],
    /// Its source, in tests/programs.
    source: &'static str,
    code: i32,
    /// Both say this.
    says: &'static str,
    /// What of their text is the same.
    part: fn(&str) -> String,
}

const CASES: &[Case] = &[
    // A planted inversion, and its twin that has none.
    Case {
        command: &["check"],
        source: "abba.c",
        code: 66,
        says: "error[circular-dependency]: `A` and `B` are taken in both orders",
        part: findings,
    },
    Case {
        command: &["check"],
        source: "inorder.c",
        code: 0,
        says: "no findings; watched 4 locks",
        part: findings,
    },
    Case {
        command: &["run"],
        source: "abba.c",
        code: 66,
        says: "help: at abba.c:15 (turn_2), take `A` before `B`, or release `B` first",
        part: counts,
    },
    Case {
        command: &["meter"],
        source: "two_counted.c",
        code: 0,
        says: "4,200 acquisitions, none of them contended",
        part: counts,
    },
    Case {
        command: &["swap", "--lock", "tas"],
        source: "swap_sums.c",
        code: 0,
        says: "note: ran on `tas`: 1 mutex, 1 reader-writer lock, 1 spinlock",
        part: str::to_owned,
    },
    Case {
        command: &["doctor"],
        source: "inorder.c",
        code: 0,
        says: "can be watched",
        part: |_| String::new(),
    },
];

/// Runs all cases as `processor`.
///
/// # Errors
/// When a command says something else than this machine's, or not what it has to.
pub fn check(tools: &Tools, processor: &str) -> Result<(), String> {
    let commands = [target_dir().join("debug/lockwright"), Tools::built("debug", "lockwright")];
    let start = |side: usize| match side {
        0 => Command::new(&commands[0]),
        _ => {
            let mut start = registered(tools, processor);
            start.arg(&commands[1]);
            start
        }
    };
    let mut version = start(1);
    let out = version.arg("--version").output().map_err(|e| format!("{version:?}: {e}"))?;
    if !out.status.success() {
        let why = format!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr).trim());
        return skip("aarch64: the command", &why);
    }
    for case in CASES {
        let mut texts = Vec::new();
        for side in 0..commands.len() {
            let program = case.build(tools, side)?;
            let mut command = start(side);
            command.args(case.command).arg(&program);
            let text = said(&mut command, case.code)?;
            let text = text.replace(&*program.to_string_lossy(), "PROGRAM");
            if !text.contains(case.says) {
                return Err(format!("{command:?}: {:?} is missing\n{text}", case.says));
            }
            texts.push((case.part)(&text));
        }
        let [here, there] = &texts[..] else { unreachable!("two sides") };
        if here != there {
            return Err(format!(
                "{:?} {} as {processor}: the texts differ\nof this machine:\n{here}\nof the other:\n{there}",
                case.command, case.source
            ));
        }
        eprintln!("{:?} of {} by the command as {processor}: as here", case.command, case.source);
    }
    reads_each_others(start)?;
    names_inlined_locks(tools, start)?;
    // What is missing is refused by name.
    let mut attach = start(1);
    attach.args(["check", "--pid", &std::process::id().to_string()]);
    let text = said(&mut attach, 126)?;
    let says = "running processes cannot be looked into on 64-bit Arm";
    match text.contains(says) {
        true => Ok(()),
        false => Err(format!("{attach:?}: {says:?} is missing\n{text}")),
    }
}

/// Either command reports the same of ledgers that the other's programs have made.
fn reads_each_others(start: impl Fn(usize) -> Command) -> Result<(), String> {
    for side in 0..2 {
        let ledgers = target_dir().join("aarch64-check").join(side.to_string()).join("ledgers");
        let mut texts = Vec::new();
        for reader in 0..2 {
            let mut command = start(reader);
            command.args(["report", "--all"]).arg(&ledgers);
            texts.push(said(&mut command, 0)?);
        }
        if texts[0] != texts[1] {
            return Err(format!("the reports of {} differ: {texts:?}", ledgers.display()));
        }
    }
    Ok(())
}

/// A program of Rust whose locks are inlined: they are not watched, and a report and `doctor` say so.
fn names_inlined_locks(tools: &Tools, start: impl Fn(usize) -> Command) -> Result<(), String> {
    let program = target_dir().join("aarch64-check/command/std_mutex");
    tools.rustc("std_mutex.rs", &loaded(tools), &program)?;
    for (command, code, says) in [
        (
            "check",
            0,
            "std_mutex are not watched (Rust's std::sync, parking_lot): lockwright finds them in code for x86-64 only",
        ),
        // 1: it can be watched in part.
        ("doctor", 1, "the locks of Rust's std::sync are futexes of its own"),
    ] {
        let mut command_line = start(1);
        command_line.arg(command).arg(&program);
        let text = said(&mut command_line, code)?;
        if !text.contains(says) {
            return Err(format!("{command_line:?}: {says:?} is missing\n{text}"));
        }
    }
    Ok(())
}

/// The linker's options for a program that is executed: its loader and its libraries are not where they are installed.
fn loaded(tools: &Tools) -> [String; 2] {
    let lib = tools.libraries().join("lib");
    [
        format!("-Wl,--dynamic-linker={}", lib.join("ld-linux-aarch64.so.1").display()),
        format!("-Wl,-rpath,{}", lib.display()),
    ]
}

/// What starts the emulator for what is executed.
fn registered(tools: &Tools, processor: &str) -> Command {
    let mut start = Command::new("unshare");
    start.args(["--user", "--map-root-user", "--mount", "sh", "-c", REGISTER, "sh"]);
    start.arg(tools.emulator_itself());
    start.env("QEMU_CPU", processor).env("QEMU_LD_PREFIX", tools.libraries());
    start
}

/// What a command prints, if it ends with `code`.
fn said(command: &mut Command, code: i32) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    match status.code() == Some(code) {
        true => Ok(text.into_owned()),
        false => Err(format!("{command:?}: {status}, not {code}\n{text}")),
    }
}

/// The findings of a report, and what was watched, without what it cost.
fn findings(text: &str) -> String {
    let text = without_places(text);
    text.split("; the tool took").next().unwrap_or_default().to_owned()
}

impl Case {
    /// Compiles the program for this machine, or that one.
    fn build(&self, tools: &Tools, side: usize) -> Result<PathBuf, String> {
        let dir = target_dir().join("aarch64-check/command").join(side.to_string());
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let program = dir.join(Path::new(self.source).file_stem().unwrap_or_default());
        if side == 0 {
            compile(Path::new("cc"), &[], self.source, &program)?;
        } else {
            let options = loaded(tools);
            compile(&tools.gcc(), &options.each_ref().map(String::as_str), self.source, &program)?;
        }
        Ok(program)
    }
}
