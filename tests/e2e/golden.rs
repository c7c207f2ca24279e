//! The text of each kind of report, from real programs. What differs from run to run (process and
//! thread ids, addresses, costs, this machine's paths and libc) is made the same first.

use std::ffi::CStr;
use std::fs;

use lockwright_glibc::Version;

use crate::harness::{Job, build, check, check_with, program, tests_dir};

/// Holds the text report of a run to `tests/golden/e2e/<name>.txt`, or writes that.
pub fn golden(name: &str, job: Job) {
    // Paths are shown relative to where one is; where the target folder lies must make no
    // difference.
    golden_text(name, &job.current_dir("/").run().stderr);
}

/// As [`golden`], of a run that began in `/`.
pub fn golden_text(name: &str, stderr: &str) {
    hold(name, settle(stderr));
}

/// As [`golden`], without the last line: what all was watched differs by the version of what runs
/// the program.
pub fn golden_findings(name: &str, job: Job) {
    let seen = settle(&job.current_dir("/").run().stderr);
    let (findings, _) = seen.rsplit_once("\nlockwright: ").expect("a last line");
    hold(name, findings.to_owned());
}

fn hold(name: &str, seen: String) {
    let path = tests_dir().join("golden/e2e").join(name).with_extension("txt");
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, seen).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        comparable(&seen) == comparable(&expected),
        "{} differs; LOCKWRIGHT_BLESS=1 accepts this one:\n--- expected\n{expected}\n--- seen\n{seen}\n\
         --- differs first\n{}",
        path.display(),
        first_difference(&expected, &seen)
    );
}

/// The first glibc whose unwinder finds objects without `dl_iterate_phdr`, so without the loader's list of objects.
const WITHOUT_THE_LIST: Version = Version::new(2, 35);

/// With an older C library, the unwinder and libdl take locks that a later one does not have. There the numbers of locks,
/// classes and chains in the last line are no part of the comparison.
fn comparable(text: &str) -> String {
    // SAFETY: the C library answers with a constant string, which is terminated.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    if Version::parse(version.to_bytes()) >= Some(WITHOUT_THE_LIST) {
        return text.to_owned();
    }
    let line = |line: &str| match line.starts_with("lockwright: ") {
        true => {
            without(line, "; watched ", &[" chains,", " chain,"]).replace(" chains,", " chain,")
                + "\n"
        }
        false => line.to_owned() + "\n",
    };
    text.lines().map(line).collect()
}

/// At the end of the message, as logs are cut from their beginning.
fn first_difference(expected: &str, seen: &str) -> String {
    let (mut expected, mut seen) = (expected.lines(), seen.lines());
    for number in 1.. {
        let lines = (expected.next(), seen.next());
        if lines.0 != lines.1 || lines.0.is_none() {
            let [expected, seen] = [lines.0, lines.1].map(|line| line.unwrap_or("(the end)"));
            return format!("line {number}\nexpected: {expected}\nseen:     {seen}");
        }
    }
    unreachable!()
}

/// Replaces what differs from run to run.
fn settle(text: &str) -> String {
    let tests = tests_dir();
    let root = tests.parent().expect("workspace");
    let mut out = text.to_owned();
    for (programs, _) in text.match_indices(env!("CARGO_TARGET_TMPDIR")) {
        let path: String =
            text[programs..].chars().take_while(|c| !c.is_whitespace() && *c != '+').collect();
        if let Some((folder, name)) = path.rsplit_once('/') {
            out = out.replace(&format!("{folder}/{name}"), name);
        }
    }
    let out = out.replace(&format!("{}/", root.display()), "");
    let mut ids = Ids::default();
    out.lines().map(|line| settle_line(line, &mut ids) + "\n").collect()
}

/// What stands for the ids of one report: the same id is the same letter, in order of appearance.
#[derive(Default)]
struct Ids {
    addresses: Vec<String>,
    threads: Vec<String>,
    processes: Vec<String>,
}

fn letter(ids: &mut Vec<String>, id: &str) -> char {
    let index = ids.iter().position(|known| known == id).unwrap_or_else(|| {
        ids.push(id.to_owned());
        ids.len() - 1
    });
    char::from_u32('A' as u32 + index as u32).expect("few ids")
}

fn settle_line(line: &str, ids: &mut Ids) -> String {
    // Where the runtime's libraries call the program differs from build to build of them.
    // Where its debug information is installed, its source is named instead.
    let of_libraries = [
        ("libc.so", "libc.so"),
        ("(libc-2.", "libc.so"),
        ("(elf/dl-iteratephdr.c", "libc.so"),
        ("libstdc++.so", "libstdc++.so"),
        ("libglib-2.0.so", "libglib-2.0.so"),
    ];
    for (part, library) in of_libraries {
        if line.contains(part) {
            return line[..line.len() - line.trim_start().len()].to_owned() + "[" + library + "]";
        }
    }
    // In the table of processes their ids stand alone.
    let row = line.split_at_checked(8).filter(|(_, rest)| {
        [" exit ", " _exit ", " unknown "].iter().any(|end| rest.contains(end))
    });
    if let Some((pid, rest)) = row
        && pid.ends_with(|c: char| c.is_ascii_digit())
        && pid.trim_start().chars().all(|c| c.is_ascii_digit())
    {
        return format!("{:>8}{rest}", letter(&mut ids.processes, pid.trim_start()));
    }
    let line = without(line, "; the tool took", &[";"]);
    let line = without(&line, " (1 contended", &[")"]);
    let line = without(&line, " (2 contended", &[")"]);
    let line = match (line.split_once("it runs: "), line.split_once(", and no lock")) {
        (Some((start, _)), Some((_, end))) => {
            format!("{start}it runs: T of CPU time in the last T, and no lock{end}")
        }
        _ => line,
    };
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some(c) = rest.chars().next() {
        let at_word = !out.ends_with(|p: char| p.is_ascii_alphanumeric());
        let mut take = |prefix: &str, is_id: fn(&char) -> bool, ids: &mut Vec<String>| {
            let id: String = rest.strip_prefix(prefix)?.chars().take_while(is_id).collect();
            if id.is_empty() || !at_word {
                return None;
            }
            out = format!("{out}{prefix}{}", letter(ids, &id));
            rest = &rest[prefix.len() + id.len()..];
            Some(())
        };
        let taken = take("0x", char::is_ascii_hexdigit, &mut ids.addresses)
            .or_else(|| take("thread ", char::is_ascii_digit, &mut ids.threads))
            .or_else(|| take("process ", char::is_ascii_digit, &mut ids.processes));
        if taken.is_none() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Cuts out what begins with `from` and goes to the next of `ends`, or to the line's end.
fn without(line: &str, from: &str, ends: &[&str]) -> String {
    let Some(start) = line.find(from) else { return line.to_owned() };
    let after = &line[start + from.len()..];
    let rest = ends.iter().filter_map(|end| Some(&after[after.find(end)?..])).next().unwrap_or("");
    // A closing parenthesis belongs to what is cut; a semicolon begins what stays.
    line[..start].to_owned() + rest.strip_prefix(')').unwrap_or(rest)
}

#[test]
fn likely() {
    golden("likely", check(program("abba.c")));
}

#[test]
fn likely_three() {
    golden("likely-three", check(program("abbcca.c")));
}

#[test]
fn possible() {
    golden("possible", check(program("instances.c")).arg("classes"));
}

#[test]
fn single_thread() {
    golden("single-thread", check_with(&["--all"], program("abba.c")).arg("single"));
}

#[test]
fn guarded() {
    golden("guarded", check_with(&["--all"], program("guarded.c")));
}

#[test]
fn ordered() {
    golden("ordered", check_with(&["--all"], program("abba.c")).arg("ordered"));
}

#[test]
fn counted_only() {
    golden("counted-only", check(program("abba.c")).arg("single"));
}

#[test]
fn nothing_found() {
    golden("nothing-found", check(program("inorder.c")));
}

#[test]
fn no_locks() {
    golden("no-locks", check(program("ending.c")).arg("nolocks"));
}

#[test]
fn deadlocked() {
    golden("deadlocked", check(program("deadlock.c")));
}

#[test]
fn recursive_deadlocked() {
    golden("recursive-deadlocked", check(program("aa.c")).arg("normal"));
}

#[test]
fn condition_wait() {
    golden("condition-wait", check(program("condvar.c")).arg("inverted"));
}

#[test]
fn reader_writer() {
    golden("reader-writer", check(program("rwlock.c")).arg("mixed"));
}

#[test]
fn cxx() {
    golden("cxx", check(program("cxx_locks.cc")).arg("guard"));
}

#[test]
fn stripped() {
    // Neither debug information nor source: function and offset, or the module alone.
    golden("stripped", check(build("abba.c", &["-g0", "-s"])));
}
