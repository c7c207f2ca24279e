//! How many instructions a pair of lock and unlock takes there: the emulator traces each one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::tools::{Tools, compile};
use crate::workspace::target_dir;

/// The program, whose loop number 0 is such pairs.
const PROGRAM: &str = "instructions.c";

/// The lengths of its loop: in their difference is neither start nor end.
const LENGTHS: [u64; 2] = [1_000, 2_000];

/// A library to preload, and the variable that says what it does.
type Preloaded = (&'static str, &'static str, &'static str);

/// What the program runs under.
const ARMS: &[(&str, Option<Preloaded>)] = &[
    ("without us", None),
    ("check", Some(("liblockwright_preload.so", "LOCKWRIGHT_ENGINES", "lockdep"))),
    ("meter", Some(("liblockwright_preload.so", "LOCKWRIGHT_ENGINES", "lockmeter"))),
    ("run", Some(("liblockwright_preload.so", "LOCKWRIGHT_ENGINES", "lockdep,lockmeter"))),
    ("swap hybrid", Some(("liblockwright_swap.so", "LOCKWRIGHT_SWAP", "hybrid"))),
];

/// Prints the counts as `processor`.
///
/// # Errors
/// When the program cannot be run, or nothing can be counted.
pub fn print(tools: &Tools, processor: &str) -> Result<(), String> {
    let dir = target_dir().join("aarch64-check/instructions");
    let ledgers = dir.join("ledgers");
    let program = dir.join("program");
    let failed = |e| format!("{}: {e}", ledgers.display());
    fs::create_dir_all(&ledgers).map_err(failed)?;
    compile(&tools.gcc(), &["-O1"], PROGRAM, &program)?;
    let mut counts = Vec::new();
    for (name, preloaded) in ARMS {
        let count = |length: u64| {
            let mut emulator = tools.emulator(processor);
            emulator.args([one_by_one(tools)?, "-d", "exec,nochain", "-D", "/dev/stdout"]);
            if let Some((library, variable, value)) = preloaded {
                let library = Tools::built("library", library);
                emulator.env("LD_PRELOAD", library).env(variable, value);
            }
            emulator.env("LOCKWRIGHT_DIR", &ledgers);
            traced(&mut emulator, &program, length)
        };
        let [short, long] = LENGTHS;
        let more = count(long)?.saturating_sub(count(short)?);
        if more < long - short {
            return Err(format!("{PROGRAM} as {processor}: {more} instructions in {short} pairs"));
        }
        counts.push(format!("{name} {:.0}", more as f64 / (long - short) as f64));
    }
    eprintln!("instructions of a lock and its unlock as {processor}: {}", counts.join(", "));
    Ok(())
}

/// The emulator's option to trace each instruction: it was renamed.
fn one_by_one(tools: &Tools) -> Result<&'static str, String> {
    let mut help = tools.emulator("max");
    let out = help.arg("-h").output().map_err(|e| format!("{help:?}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout);
    Ok(if text.contains("-one-insn-per-tb") { "-one-insn-per-tb" } else { "-singlestep" })
}

/// The instructions of the whole program, which prints nothing itself.
fn traced(emulator: &mut Command, program: &Path, length: u64) -> Result<u64, String> {
    emulator.arg(program).args(["0", &length.to_string()]).stdout(Stdio::piped());
    let failed = |e| format!("cannot trace {}: {e}", program.display());
    let mut child = emulator.spawn().map_err(failed)?;
    let mut trace = BufReader::new(child.stdout.take().expect("it is piped"));
    let (mut line, mut count) = (Vec::new(), 0);
    while trace.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        count += u64::from(line.starts_with(b"Trace "));
        line.clear();
    }
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(count),
        false => Err(format!("{emulator:?}: {status}")),
    }
}
