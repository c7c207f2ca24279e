//! C programs with each lock, under clang's ThreadSanitizer, which is notified of the locks by
//! include/lockwright/tsan.h: it reports nothing in correct programs, and finds the planted faults.

#[path = "../../../tests/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Locks with one sort of holder.
const LOCKS: &[&str] = &[
    "bkl",
    "hybrid_mutex",
    "mcs",
    "mutex",
    "pvqspinlock",
    "pvqspinlock_single_steal",
    "pvqspinlock_unfair",
    "qspinlock",
    "rtmutex",
    "tas",
    "ticket",
];

/// Those of them that their holder may take again.
const RECURSIVE: &[&str] = &["bkl"];

/// Those of them that can give up waiting.
const TIMED: &[&str] = &["hybrid_mutex", "mutex", "rtmutex"];

/// Locks with readers and writers, and what their functions are called.
const READER_WRITER: &[(&str, &[&str])] = &[
    ("hybrid_rwlock", &RW_LOCK),
    ("percpu_rwsem", &PERCPU),
    ("qrwlock", &RW_LOCK),
    ("rwsem", &RW_SEMAPHORE),
];

const RW_LOCK: [&str; 6] = [
    "-DREAD=_read_lock",
    "-DTRY_READ=_read_trylock",
    "-DUNREAD=_read_unlock",
    "-DWRITE=_write_lock",
    "-DTRY_WRITE=_write_trylock",
    "-DUNWRITE=_write_unlock",
];

const PERCPU: [&str; 6] = [
    "-DREAD=_down_read",
    "-DTRY_READ=_trydown_read",
    "-DUNREAD=_up_read",
    "-DWRITE=_down_write",
    "-DTRY_WRITE=_trydown_write",
    "-DUNWRITE=_up_write",
];

const RW_SEMAPHORE: [&str; 7] = [
    "-DREAD=_down_read",
    "-DTRY_READ=_trydown_read",
    "-DUNREAD=_up_read",
    "-DWRITE=_down_write",
    "-DTRY_WRITE=_trydown_write",
    "-DUNWRITE=_up_write",
    "-DDOWNGRADE=_downgrade",
];

/// ThreadSanitizer's exit status when it has found something.
const FOUND: i32 = 66;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn include() -> PathBuf {
    here().join("../../include")
}

/// Where the library is, built by a cargo of its own: it is no dependency that cargo would build
/// for a test. That which is shipped, if the tests are optimised.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--manifest-path"]).arg(here().join("Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        let debug = cfg!(debug_assertions);
        if !debug {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo").success(), "{cargo:?} failed");
        let dir = target.join(if debug { "debug" } else { "release" });
        // The name that programs ask for.
        let soname = dir.join("liblockwright.so.0");
        let _ = std::fs::remove_file(&soname);
        std::os::unix::fs::symlink("liblockwright.so", soname).expect("a link to the library");
        dir
    })
}

fn done(mut command: Command) {
    let out = command.output();
    let out = out.unwrap_or_else(|e| panic!("{command:?}: {e}; install the package clang"));
    assert!(out.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&out.stderr));
}

/// Whether there is what the tests need. If not they are skipped, but fail in CI.
fn has_sanitizer() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("probe");
        let mut probe = clang(&[], &["-shared", "-fPIC", "-fsanitize=thread", "-xc", "/dev/null"]);
        let there = probe.arg("-o").arg(program).output().is_ok_and(|out| out.status.success());
        if !there {
            let why = "no clang with ThreadSanitizer: install clang and libclang-rt-dev";
            assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
            skip::skip(why);
        }
        there
    })
}

fn clang(sources: &[&str], defines: &[&str]) -> Command {
    let mut clang = Command::new("clang");
    clang
        .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(include());
    clang
        .args(defines)
        .args(sources.iter().map(|source| here().join("tests/clients").join(source)));
    clang
}

/// A client, instrumented and linked with `with`.
fn client(name: &str, source: &str, defines: &[&str], with: impl FnOnce(&mut Command)) -> Output {
    sanitized(name, clang(&[source], defines), with)
}

/// What `build` builds, likewise.
fn sanitized(name: &str, mut build: Command, with: impl FnOnce(&mut Command)) -> Output {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    build.args(["-fsanitize=thread", "-o"]).arg(&program);
    with(&mut build);
    done(build);
    // The sanitizer's shadow has its place: it does not run with too random a layout of memory.
    let mut run = Command::new("setarch");
    run.arg("--addr-no-randomize").arg(&program).output().expect("setarch")
}

fn with_library(build: &mut Command) {
    let dir = library();
    build.arg("-L").arg(dir).arg("-llockwright").arg(format!("-Wl,-rpath,{}", dir.display()));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// It says what it should, and the sanitizer nothing.
fn clean(what: &str, out: &Output, says: &str) {
    assert_eq!(text(&out.stdout), says, "{what}: {}", text(&out.stderr));
    assert!(out.status.success() && out.stderr.is_empty(), "{what}: {}", text(&out.stderr));
}

#[test]
fn locks_exclude() {
    if !has_sanitizer() {
        return;
    }
    for lock in LOCKS {
        let name = format!("-DNAME={lock}");
        let again = if RECURSIVE.contains(lock) { "-DRECURSIVE" } else { "-DALONE" };
        let out = client(&format!("counter-{lock}"), "counter.c", &[&name, again], with_library);
        clean(lock, &out, "8000 of 8000, then busy\n");
    }
}

/// Those that can be taken with signals blocked.
const SPINNING: &[&str] = &[
    "mcs",
    "pvqspinlock",
    "pvqspinlock_single_steal",
    "pvqspinlock_unfair",
    "qspinlock",
    "tas",
    "ticket",
];

#[test]
fn locks_taken_with_signals_blocked_exclude() {
    if !has_sanitizer() {
        return;
    }
    for lock in SPINNING {
        let name = format!("-DNAME={lock}");
        let defines = [&name, "-DALONE", "-DIRQSAVE"];
        let out = client(&format!("irqsave-{lock}"), "counter.c", &defines, with_library);
        clean(lock, &out, "8000 of 8000, then busy\n");
    }
}

#[test]
fn locks_give_up_in_time() {
    if !has_sanitizer() {
        return;
    }
    for lock in TIMED {
        let name = format!("-DNAME={lock}");
        let out = client(&format!("timed-{lock}"), "timed.c", &[&name], with_library);
        clean(lock, &out, "in time\n");
    }
}

#[test]
fn readers_share_and_writers_exclude() {
    if !has_sanitizer() {
        return;
    }
    for (lock, functions) in READER_WRITER {
        let name = format!("-DNAME={lock}");
        let defines = [&[name.as_str()], *functions].concat();
        let out = client(&format!("rw-{lock}"), "rw.c", &defines, with_library);
        clean(lock, &out, "2000 of 2000, 0 differ, shared, alone\n");

        let defines = [&["-DFORGETS"], &defines[..]].concat();
        let out = client(&format!("rw-forgets-{lock}"), "rw.c", &defines, with_library);
        let said = text(&out.stderr);
        assert!(out.status.code() == Some(FOUND) && said.contains("data race"), "{lock}: {said}");
    }
}

#[test]
fn readers_become_writers_and_readers_again() {
    if !has_sanitizer() {
        return;
    }
    let out = client("upgrade", "upgrade.c", &[], with_library);
    clean("upgrade", &out, "4000 of 4000, upgraded\n");

    let out = client("upgrade-forgets", "upgrade.c", &["-DFORGETS"], with_library);
    let said = text(&out.stderr);
    assert!(out.status.code() == Some(FOUND) && said.contains("data race"), "{said}");
}

/// The standard library's guards, over lockwright.hpp, by both compilers.
#[test]
fn guards_of_cxx_lock() {
    if !has_sanitizer() {
        return;
    }
    for compiler in ["g++", "clang++"] {
        if let Err(error) = Command::new(compiler).arg("--version").output() {
            assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{compiler}: {error}");
            skip::skip(&format!("{compiler}: {error}"));
            continue;
        }
        clean(compiler, &guards(compiler, &[]), "all right\n");
        let out = guards(compiler, &["-DFORGETS"]);
        let said = text(&out.stderr);
        assert!(
            out.status.code() == Some(FOUND) && said.contains("data race"),
            "{compiler}: {said}"
        );
    }
}

fn guards(compiler: &str, defines: &[&str]) -> Output {
    let name = format!("guards-{compiler}{}", defines.concat());
    let mut build = Command::new(compiler);
    build.args(["-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
    build.arg(include()).args(defines).arg(here().join("tests/clients/guards.cc"));
    sanitized(&name, build, with_library)
}

#[test]
fn contexts_take_locks_in_any_order() {
    if !has_sanitizer() {
        return;
    }
    let out = client("ww_mutex", "ww_mutex.c", &[], with_library);
    clean("ww_mutex", &out, "0 in all, 6 right\n");
}

#[test]
fn sequence_locks_show_whole_states() {
    if !has_sanitizer() {
        return;
    }
    let out = client("seqlock", "seqlock.c", &[], with_library);
    clean("seqlock", &out, "4000 of 4000, 0 differ, retry 0 then 1\n");
}

#[test]
fn condition_variables_and_completions_order() {
    if !has_sanitizer() {
        return;
    }
    for (name, kind) in [("waits", "-DKIND="), ("waits-hybrid", "-DKIND=hybrid_")] {
        let out = client(name, "waits.c", &[kind], with_library);
        clean(name, &out, "2001000, parcel 42, in time\n");
    }
}

#[test]
fn the_big_kernel_lock_is_given_away_at_sleeps() {
    if !has_sanitizer() {
        return;
    }
    let out = client("bkl", "bkl.c", &[], with_library);
    clean("bkl", &out, "4, 2 deep, then 0\n");
}

#[test]
fn semaphores_count_and_order() {
    if !has_sanitizer() {
        return;
    }
    let out = client("semaphore", "semaphore.c", &[], with_library);
    clean("semaphore", &out, "8000 of 8000, parcel 42, in time\n");
}

#[test]
fn a_client_that_forgets_the_lock_is_found() {
    if !has_sanitizer() {
        return;
    }
    for lock in LOCKS {
        let name = format!("-DNAME={lock}");
        let out =
            client(&format!("forgets-{lock}"), "counter.c", &[&name, "-DFORGETS"], with_library);
        let said = text(&out.stderr);
        assert!(out.status.code() == Some(FOUND) && said.contains("data race"), "{lock}: {said}");
    }
}

#[test]
fn a_lock_that_does_not_lock_is_found() {
    if !has_sanitizer() {
        return;
    }
    let busted = Path::new(env!("CARGO_TARGET_TMPDIR")).join("busted.o");
    let mut build = clang(&["busted.c"], &["-c"]);
    build.arg("-o").arg(&busted);
    done(build);
    let out = client("busted", "counter.c", &["-DNAME=tas"], |build| {
        build.arg(&busted);
    });
    let said = text(&out.stderr);
    assert!(out.status.code() == Some(FOUND) && said.contains("double lock of a mutex"), "{said}");
}
