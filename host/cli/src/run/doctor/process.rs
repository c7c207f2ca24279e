//! A process that runs: whether it is watched, and what it would take.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::diagnosis::{Diagnosis, Effect, Finding, Process};
use super::modules::Modules;
use super::{program, room};

use crate::ledger_dir::own_ledger;
use crate::run::target::{self, Obstacle};
use lockwright_analysis::symbolize::PRELOAD_FILE_NAME;
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::shell::quoted;

/// Mappings that watching adds: the library's segments, and a ledger in two parts.
const OWN_MAPPINGS: usize = 16;

/// System calls that the preload library makes in a process that it watches.
const CALLS: &[&str] = &[
    "clock_gettime",
    "close",
    "fcntl",
    "fstat",
    "futex",
    "getrusage",
    "gettid",
    "lseek",
    "getitimer",
    "madvise",
    "timer_gettime",
    "mmap",
    "faccessat",
    "mprotect",
    "mremap",
    "remap_file_pages",
    "munlock",
    "munmap",
    "nanosleep",
    "openat",
    "prctl",
    "prlimit64",
    "process_vm_readv",
    "read",
    "rt_sigprocmask",
    "sched_yield",
    "sigaltstack",
    "rt_sigaction",
    "tgkill",
    "writev",
];

/// Those that it makes in a forked child besides.
const CALLS_OF_CHILDREN: &[&str] =
    &["ftruncate", "geteuid", "getpid", "getppid", "getrandom", "readlinkat", "unlinkat"];

/// What the argument means if it is a number: a program of that name is found as `./4242`.
pub fn id(argument: &OsStr) -> Option<u32> {
    argument.to_str()?.parse().ok()
}

/// Diagnoses the process.
///
/// # Errors
/// If there is none, or it is not ours to look at.
pub fn diagnose(pid: u32) -> Result<Diagnosis> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let closed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Error::with_code(
            exit::NOT_FOUND,
            format!("there is no process {pid}, or none with a program"),
        )
        .help("for a program of that name, give its path: `./`"),
        _ => Error::new(format!("cannot look into process {pid}: {error}"))
            .help("run lockwright as the user that the process runs as, or as root"),
    };
    let file = fs::read_link(proc.join("exe")).map_err(closed)?;
    let maps = fs::read(proc.join("maps")).map_err(closed)?;
    let maps = String::from_utf8_lossy(&maps);
    let status = fs::read_to_string(proc.join("status")).map_err(closed)?;
    let command = command_of(&fs::read(proc.join("cmdline")).map_err(closed)?);

    let elsewhere = is_elsewhere(&proc);
    let ledger = own_ledger(&status, &maps);
    let has_library = maps.contains(PRELOAD_FILE_NAME);
    let mut findings = Vec::new();
    if ledger.is_none() {
        findings.push(started_without(has_library, &command));
    }
    // Read through /proc, it is the file that runs, wherever and whatever has become of its name.
    let mut obstacle = target::find(&proc.join("exe"))?.obstacle;
    if elsewhere {
        // Whether its loader is there is not to be seen from here.
        obstacle = obstacle.filter(|obstacle| !matches!(obstacle, Obstacle::NoLoader(_)));
        findings.push(
            Finding::new(
                "other-root",
                Effect::Note,
                "it runs in another root directory or mount namespace: a container or chroot",
            )
            .help(
                "run lockwright in there; or name a directory that is there, too: --ledger-dir DIR",
            ),
        );
    }
    // What is watched has nothing in its way.
    let obstacle = obstacle.filter(|_| ledger.is_none());
    findings.extend(obstacle.iter().map(|obstacle| program::of_obstacle(obstacle, &file)));

    let modules = Modules::of_maps(&maps);
    let root = if elsewhere { Some(proc.join("root")) } else { None };
    let libraries: Vec<PathBuf> = modules
        .files
        .iter()
        .filter(|library| **library != file)
        .map(|library| in_root(root.as_deref(), library))
        .collect();
    findings.extend(program::of_modules(&proc.join("exe"), &libraries, obstacle.is_some()));
    findings.extend(limits(&proc, &status, &maps));
    Ok(Diagnosis {
        name: format!("process {pid}"),
        file,
        scripts: Vec::new(),
        libraries: libraries.len(),
        process: Some(Process { pid, ledger, command }),
        findings,
    })
}

fn started_without(has_library: bool, command: &[String]) -> Finding {
    if has_library {
        return Finding::new(
            "no-ledger",
            Effect::Note,
            "lockwright's library is in it, but it has no ledger: --follow left it out, it has used no lock since it was forked, or none could be created",
        );
    }
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    Finding::new(
        "running",
        Effect::Note,
        "it was started without lockwright; a library cannot be preloaded into what runs already",
    )
    .help(format!("end it, and start it so: `lockwright check -- {}`", words.join(" ")))
}

fn command_of(cmdline: &[u8]) -> Vec<String> {
    let cmdline = cmdline.strip_suffix(b"\0").unwrap_or(cmdline);
    cmdline.split(|&b| b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Whether paths mean something else to the process than to us.
fn is_elsewhere(proc: &Path) -> bool {
    let own = Path::new("/proc/self");
    let differs = |what: &str| match (fs::read_link(proc.join(what)), fs::read_link(own.join(what)))
    {
        (Ok(theirs), Ok(ours)) => theirs != ours,
        _ => false,
    };
    differs("root") || differs("ns/mnt")
}

fn in_root(root: Option<&Path>, path: &Path) -> PathBuf {
    match (root, path.strip_prefix("/")) {
        (Some(root), Ok(below)) => root.join(below),
        _ => path.to_owned(),
    }
}

/// What the kernel allows it.
fn limits(proc: &Path, status: &str, maps: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    if field("Seccomp") == Some("2") {
        let (own, children) = (CALLS.join(", "), CALLS_OF_CHILDREN.join(", "));
        let help = format!(
            "if it fails under lockwright only: allow it {own}; children that it forks, too: {children}"
        );
        let what = "it filters its system calls (seccomp)";
        findings.push(Finding::new("seccomp", Effect::Note, what).help(help));
    }
    if let Ok(text) = fs::read_to_string(proc.join("limits")) {
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let space = of("Max address space").unwrap_or(u64::MAX);
        let file = of("Max file size").unwrap_or(u64::MAX);
        findings.extend(room::room(space, file));
    }
    let most = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let most: Option<usize> = most.and_then(|text| text.trim().parse().ok());
    let mappings = maps.lines().count();
    if most.is_some_and(|most| mappings + OWN_MAPPINGS > most) {
        findings.push(
            Finding::new(
                "mappings",
                Effect::Note,
                format!("it has {mappings} mappings, close to what the kernel allows a process"),
            )
            .help("raise the limit: `sysctl vm.max_map_count`"),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_system_calls_of_the_library_are_named() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/preload/src/os/sys.rs");
        let source = fs::read_to_string(source).unwrap();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let made = source.split("libc::SYS_").skip(1);
        let made = made.map(|rest| rest.split(|c| !is_of_name(c)).next().unwrap());
        let named: Vec<&str> = [CALLS, CALLS_OF_CHILDREN].concat();
        // That one the program makes.
        let made = made.filter(|call| *call != "fork");
        let unnamed: Vec<&str> = made.filter(|call| !named.contains(call)).collect();
        assert_eq!(unnamed, [] as [&str; 0]);
    }

    #[test]
    fn numbers_are_processes() {
        assert_eq!(id(OsStr::new("4242")), Some(4242));
        assert_eq!(id(OsStr::new("./4242")), None);
        assert_eq!(id(OsStr::new("-1")), None);
    }

    #[test]
    fn commands_can_be_typed_again() {
        let words: Vec<_> = command_of(b"./a\0b c\0it's\0\0").iter().map(|w| quoted(w)).collect();
        assert_eq!(words, ["./a", "'b c'", r"'it'\''s'", "''"]);
    }
}
