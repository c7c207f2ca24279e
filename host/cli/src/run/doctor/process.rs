//! A process that runs: whether it is watched, and what it would take.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::diagnosis::{Diagnosis, Effect, Finding, Process};
use super::modules::Modules;
use super::{program, room};
use lockwright_ledger::layout::{LEAST_WITH_ANNEXES, own_bytes};

use crate::ledger_dir::EXTENSION;
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
    let ledger = maps.lines().find_map(ledger_in).filter(|ledger| is_own(ledger, &status, &maps));
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

/// The path of a mapped ledger.
fn ledger_in(line: &str) -> Option<String> {
    let path = &line[line.find('/')?..];
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    (Path::new(path).extension()? == EXTENSION).then(|| path.to_owned())
}

/// Whether a mapped ledger is the process's own: a forked child has its parent's, too, and may have
/// an annex of that.
fn is_own(ledger: &str, status: &str, maps: &str) -> bool {
    let name = Path::new(ledger).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    // The last is that in the innermost namespace, which is the process's own.
    let own = ids.split_whitespace().last().unwrap_or_default();
    let is_named = name.split('-').next() == Some(own);
    is_named
        || maps.lines().any(|line| ledger_in(line).as_deref() == Some(ledger) && in_annex(line))
}

/// Whether a mapping is one of an annex: written to, and in the part of the file that is for those.
fn in_annex(line: &str) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let is_written = fields.next().is_some_and(|mode| mode.starts_with("rw"));
    let offset = fields.next().and_then(|offset| u64::from_str_radix(offset, 16).ok());
    is_written && offset.is_some_and(|offset| offset >= own_bytes(LEAST_WITH_ANNEXES))
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
    fn ledgers_by_their_mapping() {
        let line = "7f0 r--s 0 00:19 7  /dev/shm/lockwright-0/1-2/34-00.lwl";
        assert_eq!(ledger_in(line).as_deref(), Some("/dev/shm/lockwright-0/1-2/34-00.lwl"));
        assert_eq!(
            ledger_in("7f0 r--s 0 00:19 7  /a b.lwl (deleted)").as_deref(),
            Some("/a b.lwl")
        );
        assert_eq!(ledger_in("7f0 r-xp 0 00:19 7  /lib/libc.so.6"), None);
        assert_eq!(ledger_in("7f0 rw-p 0 00:00 0"), None);
    }

    #[test]
    fn a_parents_ledger_is_not_a_childs() {
        let maps = "7f0-7f1 rw-s 00000000 00:1b 7 /r/1-2/42-00.lwl\n\
                    7f1-7f2 ---s 00400000 00:1b 7 /r/1-2/42-00.lwl\n";
        let is = |status: &str, maps: &str| is_own("/r/1-2/42-00.lwl", status, maps);
        assert!(is("NSpid:\t42\n", maps));
        assert!(is("Pid:\t7\nNSpid:\t7\t42\n", maps), "in a namespace");
        assert!(!is("NSpid:\t43\n", maps) && !is("", maps));
        let annex = maps.to_owned() + "7f2-7f3 rw-s 800000000 00:1b 7 /r/1-2/42-00.lwl\n";
        assert!(is("NSpid:\t43\n", &annex));
    }

    #[test]
    fn commands_can_be_typed_again() {
        let words: Vec<_> = command_of(b"./a\0b c\0it's\0\0").iter().map(|w| quoted(w)).collect();
        assert_eq!(words, ["./a", "'b c'", r"'it'\''s'", "''"]);
    }
}
