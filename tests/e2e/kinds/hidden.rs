//! Locks that libraries make themselves: doctor names them, of a program and of a process, the
//! report of a run says why it is empty, and the remedy is one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{
    FOUND, build, check, check_with, go_build, installed, lock_names, native, signal, skip,
    target_tmp, tests_dir, under,
};
use crate::kinds::annotations::CIRCULAR;
use crate::output::doctor::doctor;

/// A library, and what doctor is to report about it.
struct Library {
    /// The finding of doctor.
    id: &'static str,
    /// How the names of its files begin.
    file: &'static str,
    /// Has `hidden.cc` use it.
    flags: &'static [&'static str],
    /// What it takes to build that, and the Debian package that has it.
    needs: (&'static str, &'static str),
    /// The locks that the program takes are seen: it is others of the library that are hidden.
    is_seen: bool,
}

const TBB: Library = Library {
    id: "tbb",
    file: "libtbb.so",
    flags: &["-DTBB", "-ltbb"],
    needs: ("/usr/include/oneapi/tbb/mutex.h", "libtbb-dev"),
    is_seen: false,
};

const OPENMP: Library = Library {
    id: "openmp",
    file: "libgomp.so",
    flags: &["-DOPENMP", "-fopenmp"],
    needs: ("/usr/bin/c++", "g++"),
    is_seen: true,
};

const ABSEIL: Library = Library {
    id: "abseil",
    file: "libabsl_synchronization.so",
    flags: &["-DABSEIL", "-labsl_synchronization"],
    needs: ("/usr/include/absl/synchronization/mutex.h", "libabsl-dev"),
    is_seen: true,
};

const QT: Library = Library {
    id: "qt",
    file: "libQt5Core.so",
    flags: &[
        "-DQT",
        "-fPIC",
        "-isystem/usr/include/x86_64-linux-gnu/qt5",
        "-isystem/usr/include/x86_64-linux-gnu/qt5/QtCore",
        "-lQt5Core",
    ],
    needs: ("/usr/include/x86_64-linux-gnu/qt5/QtCore/QMutex", "qtbase5-dev"),
    is_seen: true,
};

impl Library {
    /// The program that uses it, with more flags.
    fn program(&self, more: &[&str]) -> PathBuf {
        let include = format!("-I{}", tests_dir().join("../include").display());
        build("hidden.cc", &[more, &[&include], self.flags].concat())
    }

    /// The finding that doctor has of it.
    fn named<'j>(&self, json: &'j Value) -> &'j Value {
        let mut findings = json["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["id"] == self.id).expect("its finding");
        assert_eq!(finding["effect"], "hides", "{json:#}");
        let files = finding["files"].as_array().unwrap();
        let name = |file: &Value| Path::new(file.as_str().unwrap()).file_name().unwrap().to_owned();
        let has = files.iter().any(|file| name(file).to_str().unwrap().starts_with(self.file));
        assert!(has, "{json:#}");
        finding
    }

    fn holds(&self) {
        let (file, package) = self.needs;
        if !Path::new(file).exists() {
            let why = format!("{file} is not there (Debian package {package})");
            assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
            return skip(&why);
        }
        let program = self.program(&[]);
        let (_, of_program) = doctor(&program);
        let what = self.named(&of_program)["what"].as_str().unwrap();

        let running = native(&program).arg("wait").spawn();
        let pid = running.program_id();
        let (_, of_process) = doctor(pid.to_string());
        assert_eq!(self.named(&of_process)["what"], what);
        signal(pid, libc::SIGTERM);
        assert_eq!(running.wait().code(), 128 + libc::SIGTERM);

        let run = check(&program).run();
        assert_eq!(run.text(), "200\n", "{}", run.stderr);
        if self.is_seen {
            assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
        } else {
            assert_eq!((run.verdicts(), run.code()), (vec![], 0), "it is true: {}", run.stderr);
            let why = format!("no locks were seen: {what}");
            assert_eq!(run.stderr.matches(&why).count(), 1, "{}", run.stderr);
        }

        let run = check(self.program(&["-DTELLS"])).run();
        assert_eq!(run.text(), "200\n", "{}", run.stderr);
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    }
}

#[test]
fn of_tbb() {
    TBB.holds();
}

#[test]
fn of_openmp() {
    OPENMP.holds();
}

#[test]
fn of_abseil() {
    ABSEIL.holds();
}

#[test]
fn of_qt() {
    QT.holds();
}

/// The mutexes that doctor advises instead of TBB's.
#[test]
fn the_standard_librarys_are_seen() {
    let std = Library { id: "", file: "", flags: &["-DSTD"], needs: ("", ""), is_seen: true };
    let program = std.program(&[]);
    let (run, json) = doctor(&program);
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    let run = check(&program).run();
    assert_eq!((run.text().as_str(), run.verdicts()), ("200\n", vec![CIRCULAR]), "{}", run.stderr);
}

/// What doctor says that a filter of system calls must allow is what it must allow.
#[test]
fn system_calls_that_a_filter_must_allow() {
    let running = native(build("seccomp.c", &[])).arg("wait").spawn();
    let (_, json) = doctor(running.program_id().to_string());
    let mut findings = json["findings"].as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["id"] == "seccomp").expect("it filters");
    signal(running.program_id(), libc::SIGTERM);
    assert_eq!(running.wait().code(), 128 + libc::SIGTERM);

    // "...: allow it a, b, c; children ..., too: d, e"
    let help = finding["help"][0].as_str().unwrap();
    let (own, children) = help.split_once("allow it ").unwrap().1.split_once("; ").unwrap();
    let (_, children) = children.split_once(": ").unwrap();
    let calls = |names: &str| {
        names.split(", ").map(|name| format!("SYS_{name}")).collect::<Vec<_>>().join(",")
    };
    let defined = [format!("-DWATCHED={}", calls(own)), format!("-DCHILDREN={}", calls(children))];
    let open = build("seccomp.c", &[&defined[0], &defined[1]]);
    let closed = build("seccomp.c", &[]);
    for (how, code) in [(&[] as &[&str], 0), (&["child"], 3)] {
        assert_eq!(native(&closed).args(how).run().code(), code, "{how:?}: alone");
        let run = check(&closed).args(how).run();
        assert_eq!(run.verdicts(), [], "{how:?}: killed before that: {}", run.stderr);
        assert_eq!(run.code(), 128 + libc::SIGSYS, "{how:?}: {}", run.stderr);
        for command in ["check", "run"] {
            let run = under(command, &["--exit-code", "0"], &open).args(how).run();
            assert_eq!(run.code(), code, "{command} {how:?}: {}", run.stderr);
            assert_eq!(run.verdicts(), [CIRCULAR], "{command} {how:?}: {}", run.stderr);
        }
    }
}

/// What Go makes of `cgo.go`; with C in it, or without.
fn go_program(cgo: bool) -> Option<PathBuf> {
    let go = installed(&["go"], "golang-go")?;
    let scratch = target_tmp().join("go");
    fs::create_dir_all(&scratch).expect("a folder");
    let name = if cgo { "with_c" } else { "without_c" };
    let built = scratch.join(name);
    let source = tests_dir().join("programs/go").join(format!("{name}.go"));
    go_build(&go, &["-o".as_ref(), built.as_ref(), source.as_ref()], &scratch, cgo);
    Some(built)
}

#[test]
fn of_go_without_c() {
    let Some(program) = go_program(false) else { return };
    let (run, json) = doctor(&program);
    assert_eq!(json["verdict"], "none", "{}", run.text());
    let run = check(&program).run();
    assert_eq!(run.code(), 126, "{}", run.stderr);
    assert!(run.stderr.contains("it is a Go program, statically linked"), "{}", run.stderr);
    assert!(run.stderr.contains("go build -race"), "{}", run.stderr);
}

#[test]
fn of_go_with_c() {
    let Some(program) = go_program(true) else { return };
    let (run, json) = doctor(&program);
    assert_eq!(json["verdict"], "part", "{}", run.text());
    let run = check_with(&["--exit-code", "0"], &program).run();
    assert_eq!(run.text(), "done\n", "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["left", "right"], "C's are seen: {}", run.stderr);
    let hidden = "not seen here: the locks of Go's sync are its runtime's own";
    assert_eq!(run.stderr.matches(hidden).count(), 1, "{}", run.stderr);
}
