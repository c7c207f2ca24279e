//! Programs that can do less than usual, and whose memory is another's to manage: they run as they
//! would alone, and what is wrong with them is found all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{
    FOUND, Scratch, build, build_by, check, installed, native, program, run, skip, target_tmp,
    tool, under,
};
use crate::kinds::annotations::CIRCULAR;

/// Runs it alone and under the tool, with a library loaded before the C library's or none, and
/// compares.
fn is_the_same(how: &[&str], preload: Option<&Path>) {
    let program = program("surroundings.c");
    let env = |job: crate::harness::Job| match preload {
        Some(library) => job.env("LD_PRELOAD", library),
        None => job,
    };
    let alone = env(native(&program)).args(how).run();
    assert_eq!(
        (alone.text().as_str(), alone.code()),
        ("the end\n", 0),
        "{how:?}: {}",
        alone.stderr
    );
    let run = env(check(&program)).args(how).run();
    assert_eq!(run.text(), alone.text(), "{how:?} {preload:?}: {}", run.stderr);
    assert_eq!(run.verdicts(), [CIRCULAR], "{how:?} {preload:?}: {}", run.stderr);
    assert_eq!(run.code(), FOUND, "{how:?} {preload:?}: {}", run.stderr);
}

#[test]
fn where_a_program_can_do_little() {
    for how in ["plain", "descriptors", "space", "seccomp"] {
        is_the_same(&[how], None);
    }
}

#[test]
fn where_a_program_is_elsewhere() {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root may change its root and begin namespaces");
    }
    let empty = target_tmp().join("empty");
    fs::create_dir_all(&empty).expect("a folder");
    is_the_same(&["root", empty.to_str().expect("its path")], None);
    is_the_same(&["init"], None);
}

/// `ulimit -s` is the program's, and large enough for it; lockwright needs a larger stack.
#[test]
fn where_the_stack_may_not_grow_lockwright_has_its_own() {
    let (program, scratch) = (program("abba.c"), Scratch::new());
    let limited = |arguments: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -s 64; exec \"$@\"", "sh"]).arg(tool().get_program());
        shell.args(arguments);
        shell
    };
    let (program, kept) = (program.to_str().expect("text"), scratch.join("kept"));
    let kept = kept.to_str().expect("text");
    for (arguments, code, said) in [
        (
            &["check", "--keep", "--ledger-dir", kept, "--", program][..],
            FOUND,
            "circular-dependency",
        ),
        (&["meter", "--", program], 0, "LOCKS"),
        (&["run", "--", program], FOUND, "circular-dependency"),
        (&["swap", "--lock", "hybrid", "--", program], 0, "ran on `hybrid`"),
        (&["demo"], 0, "circular-dependency"),
        (&["--version"], 0, ""),
    ] {
        let ended = run(limited(arguments));
        assert_eq!(ended.code(), code, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{arguments:?}: {}", ended.stderr);
    }
    let mut runs = fs::read_dir(kept).expect("a folder").flatten();
    let kept = runs.next().expect("a run").path();
    let report = run(limited(&["report", kept.to_str().expect("text")]));
    assert_eq!(report.code(), FOUND, "{}", report.stderr);
    // Where only the program has such a limit.
    let checked = check("sh").args(["-c", "ulimit -s 64; exec \"$0\"", program]).run();
    assert_eq!(checked.code(), FOUND, "{}", checked.stderr);
}

#[test]
fn a_start_that_fails_leaves_no_directory() {
    let scratch = Scratch::new();
    let mut shell = Command::new("sh");
    // No file may have a byte, so no marker can be written.
    shell.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]).arg(tool().get_program());
    shell.args(["check", "--ledger-dir"]).arg(scratch.path()).args(["--", "true"]);
    let ended = run(shell);
    assert_eq!(ended.code(), 125, "{}", ended.stderr);
    assert_eq!(fs::read_dir(scratch.path()).expect("there").count(), 0);
}

/// Where a library of the C compiler's search path is. None skips the test, plainly; in CI it fails
/// it.
pub fn installed_library(file: &str, package: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name={file}")).output().expect("cc");
    let path = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    if path.is_absolute() {
        return Some(path);
    }
    let why = format!("{file} is not installed (Debian package {package})");
    assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
    skip(&why);
    None
}

/// With these the program's `malloc` and `free` are none of the C library's.
pub const MALLOCS: [(&str, &str); 4] = [
    ("libjemalloc.so.2", "libjemalloc2"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ("libmimalloc.so.2.0", "libmimalloc2.0"),
    ("libtbbmalloc_proxy.so.2", "libtbbmalloc2"),
];

#[test]
fn where_malloc_is_another() {
    for (file, package) in MALLOCS {
        let Some(library) = installed_library(file, package) else { continue };
        is_the_same(&["plain"], Some(&library));
    }
}

#[test]
fn where_another_library_stands_before_the_same_functions() {
    let library: PathBuf = build("another_preload.c", &["-shared", "-fPIC"]);
    is_the_same(&["plain"], Some(&library));
}

/// A sanitizer that is linked into the program has functions of its own for memory, which ours must
/// not call: to it our accesses would be the program's.
#[test]
fn where_a_sanitizer_is_linked_in() {
    if installed(&["clang"], "clang").is_none() {
        return;
    }
    let program = build_by("clang", "contended.c", &["-fsanitize=thread"]);
    let alone = native(&program).run();
    assert_eq!((alone.text().as_str(), alone.code()), ("16000\n", 0), "{}", alone.stderr);
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], &program).run();
        assert!(!run.stderr.contains("ThreadSanitizer"), "{command}: {}", run.stderr);
        assert_eq!((run.text(), run.code()), (alone.text(), 0), "{command}: {}", run.stderr);
    }
}
