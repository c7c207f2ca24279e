//! Children in which the preload library would not work run as natively: they are started without
//! it, whatever starts them and however they are named. The report says which they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::executable;
use crate::harness::{
    Run, Scratch, build, build_by, check, check_with, installed, native, program, skip, under,
};

/// `(executable, reason)` of each process that was not watched.
fn unwatched(run: &Run) -> Vec<(PathBuf, String)> {
    let all = run.report()["unwatched"].as_array().unwrap();
    let text = |process: &Value, of: &str| process[of].as_str().unwrap().to_owned();
    all.iter().map(|process| (text(process, "exe").into(), text(process, "reason"))).collect()
}

fn executables(run: &Run) -> Vec<&str> {
    let all = run.report()["processes"].as_array().unwrap();
    all.iter().map(|process| process["exe"].as_str().unwrap()).collect()
}

/// A program of the C library musl, which ends with "_r_debug: symbol not found" if the library is
/// preloaded.
fn musl(source: &str) -> Option<PathBuf> {
    installed(&["musl-gcc"], "musl-tools")?;
    Some(build_by("musl-gcc", source, &[]))
}

/// Programs with the shared runtime of a sanitizer, as GCC links them.
fn sanitized(source: &str) -> Vec<(PathBuf, &'static str)> {
    let all = [("-fsanitize=address", "libasan"), ("-fsanitize=thread", "libtsan")];
    let mut programs = Vec::new();
    for (flag, runtime) in all {
        let made = Command::new("gcc")
            .args([flag, "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "/dev/null"])
            .output();
        match made {
            Ok(made) if made.status.success() => {
                programs.push((build_by("gcc", source, &[flag]), "shared-sanitizer"));
            }
            _ => skip(&format!("gcc has no {runtime}")),
        }
    }
    programs
}

/// What the programs above print and how they end, for `argument`.
fn expected(child: &Path, argument: &str) -> (String, i32) {
    let run = native(child).arg(argument).run();
    assert_eq!(run.stderr, "", "{}", child.display());
    (run.text(), run.code())
}

fn unable(source: &str) -> Vec<(PathBuf, &'static str)> {
    let mut programs = sanitized(source);
    programs.extend(musl(source).map(|musl| (musl, "other-c-library")));
    programs
}

#[test]
fn musl_and_shared_sanitizers_as_a_child_run_as_natively() {
    for (child, reason) in unable("child.c") {
        let natively = expected(&child, "7");
        for follow in [&[] as &[&str], &["--follow=none"], &["--follow=other"]] {
            for script in ["\"$0\" 7", "\"$0\" 7; exit $?"] {
                let run = check_with(follow, "/bin/sh").args(["-c", script]).arg(&child).run();
                assert_eq!((run.text(), run.code()), natively, "{follow:?} {}", run.stderr);
                assert!(!run.stderr.contains("symbol not found"), "{}", run.stderr);
                assert!(!run.stderr.contains("cannot be preloaded"), "{}", run.stderr);
                let told = unwatched(&run);
                let expected = [(child.clone(), reason.to_owned())];
                let is_told = follow.is_empty();
                assert_eq!(told, if is_told { &expected[..] } else { &[] }, "{}", run.stderr);
            }
        }
        for command in ["meter", "run", "swap"] {
            let job = under(command, &[] as &[&str], "/bin/sh");
            let run = job.args(["-c", "\"$0\" 7; exit $?"]).arg(&child).run();
            assert_eq!((run.text(), run.code()), natively, "{command}: {}", run.stderr);
        }
    }
}

/// In each way that the C library has, by vfork and from a script, too.
#[test]
fn however_a_child_that_cannot_be_watched_is_executed() {
    let executing = program("executing.c");
    for (child, reason) in unable("nothing.c") {
        let run = check(&executing).arg(&child).run();
        assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
        let ways: usize = run.text().lines().last().unwrap().parse().unwrap();
        // The shells that `system` and `popen` start execute it, too.
        let told = unwatched(&run);
        assert_eq!(told, vec![(child.clone(), reason.to_owned()); ways], "{}", run.stderr);
    }
}

#[test]
fn scripts_and_directories_of_a_child_that_cannot_be_watched() {
    let executing = program("executing_elsewhere.c");
    for (child, _) in unable("child.c") {
        let scratch = Scratch::new();
        let name = child.file_name().unwrap();
        let folder = child.parent().unwrap();
        let script = scratch.join("script");
        executable::write(&script, format!("#!{} 7\n", child.display()).as_bytes());
        let by_env = scratch.join("by_env");
        executable::write(&by_env, format!("#!/usr/bin/env {}\n", child.display()).as_bytes());
        let natively = native(&executing).args([folder]).arg(name).args([&script, &by_env]).run();
        assert_eq!(natively.code(), 0, "{}{}", natively.text(), natively.stderr);
        for follow in [&[] as &[&str], &["--follow=none"]] {
            let job = check_with(follow, &executing).args([folder]).arg(name);
            let run = job.args([&script, &by_env]).run();
            assert_eq!(run.text(), natively.text(), "{follow:?}: {}", run.stderr);
            assert_eq!(run.code(), 0, "{follow:?}: {}", run.stderr);
            assert!(!run.stderr.contains("symbol not found"), "{}", run.stderr);
            assert!(!run.stderr.contains("initial library list"), "{}", run.stderr);
        }
    }
}

/// Those that work behind it are watched.
#[test]
fn sanitizers_that_can_be_watched_are() {
    let Some(_) = installed(&["clang"], "clang") else { return };
    const SANITIZERS: [&str; 4] = ["address", "memory", "thread", "undefined"];
    for flag in SANITIZERS.map(|sanitizer| format!("-fsanitize={sanitizer}")) {
        let child = build_by("clang", "child.c", &[&flag]);
        let natively = expected(&child, "7");
        let run = check("/bin/sh").args(["-c", "\"$0\" 7; exit $?"]).arg(&child).run();
        assert_eq!((run.text(), run.code()), natively, "{flag}: {}", run.stderr);
        assert_eq!(unwatched(&run), [], "{flag}: {}", run.stderr);
        assert!(executables(&run).contains(&child.to_str().unwrap()), "{flag}: {}", run.stderr);
    }
}

/// What the program preloads itself stays, in its order.
#[test]
fn the_programs_own_preloaded_libraries_stay() {
    let printing = "/bin/sh -c 'echo \"$LD_PRELOAD\"'";
    let library = ["/usr/lib/x86_64-linux-gnu/libm.so.6", "/lib/x86_64-linux-gnu/libm.so.6"];
    let Some(library) = library.into_iter().find(|path| Path::new(path).exists()) else {
        return skip("there is no libm.so.6 where Debian has it");
    };
    let script = format!("exec 2>&1; LD_PRELOAD=\"$LD_PRELOAD:{library}\" {printing}; exit 0");
    let run = check_with(&["--follow=none"], "/bin/sh").args(["-c", &script]).run();
    assert_eq!(run.text(), format!("{library}\n"), "{}", run.stderr);
}

#[test]
fn who_is_not_followed_is_started_without_the_library() {
    let script = "/bin/sh -c 'echo \"<$LD_PRELOAD>\"'; exit 0";
    let run = check_with(&["--follow=none"], "/bin/sh").args(["-c", script]).run();
    assert_eq!(run.text(), "<>\n", "{}", run.stderr);
    assert_eq!(unwatched(&run), [("/bin/sh".into(), "follow".to_owned())], "{}", run.stderr);
    // Where somebody may be followed that it starts, it carries the library there.
    let run = check_with(&["--follow=worker"], "/bin/sh").args(["-c", script]).run();
    assert!(run.text().contains("/liblockwright.so"), "{} {}", run.text(), run.stderr);
    assert_eq!(unwatched(&run).len(), 1, "{}", run.stderr);
}

#[test]
fn an_emptied_environment_fails_the_run() {
    let nothing = program("nothing.c");
    let run = check("env").arg("-i").arg(&nothing).run();
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert_eq!(unwatched(&run), [(nothing.clone(), "environment".to_owned())], "{}", run.stderr);
    assert!(run.stderr.contains("LOCKWRIGHT_DIR=\"$LOCKWRIGHT_DIR\""), "{}", run.stderr);
    let gaps = &run.report()["summary"]["incomplete"];
    assert_eq!(gaps[0]["reason"], "environment", "{gaps:#}");
    let run = check_with(&["--allow-incomplete"], "env").arg("-i").arg(&nothing).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    // How the program failed goes before it.
    let run = check("env").args(["-i", "sh", "-c", "exit 3"]).run();
    assert_eq!(run.code(), 3, "{}", run.stderr);
    // A child of a program that was watched is in the table.
    let script = format!("env -i {}; true", nothing.display());
    let run = check("/bin/sh").args(["-c", &script]).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
}

/// A new mount namespace, if this user may make one.
fn unshare() -> Option<PathBuf> {
    let unshare = installed(&["unshare"], "util-linux")?;
    let made = native(&unshare).args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).run();
    if made.code() != 0 {
        skip("this user may make no mount namespace");
        return None;
    }
    Some(unshare)
}

fn is_told_hidden(run: &Run, child: &Path) {
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(!run.stderr.contains("cannot be preloaded"), "{}", run.stderr);
    assert_eq!(unwatched(run), [(child.to_owned(), "hidden".to_owned())], "{}", run.stderr);
    assert!(run.stderr.contains("not watched whole"), "{}", run.stderr);
    assert!(run.stderr.contains("--ledger-dir DIR"), "{}", run.stderr);
    let gaps = &run.report()["summary"]["incomplete"];
    assert_eq!(gaps[0]["reason"], "hidden", "{gaps:#}");
}

/// Containers and sandboxes mount a /dev/shm of their own over that of lockwright's ledgers.
#[test]
fn a_hidden_dev_shm_is_told() {
    let Some(unshare) = unshare() else { return };
    let nothing = program("nothing.c");
    let scratch = Scratch::new();
    let hidden = scratch.join("hidden");
    fs::create_dir(&hidden).unwrap();
    let mount = format!("mount -t tmpfs none '{}' && ", hidden.display());
    for script in ["\"$0\"; exit $?", "exec \"$0\"", "\"$0\""] {
        let json = scratch.join("report.json");
        let mut command = crate::harness::tool();
        command.args(["check", "--json"]).arg(&json).arg("--ledger-dir").arg(&hidden).arg("--");
        command.arg(&unshare).args(["-m", "/bin/sh", "-c", &format!("{mount}{script}")]);
        command.arg(&nothing);
        let mut run = crate::harness::run(command);
        run.json = serde_json::from_slice(&fs::read(&json).unwrap()).ok();
        is_told_hidden(&run, &nothing);
    }
    // The remedy: a directory that is the same there.
    let script = format!("{mount}\"$0\"; exit $?");
    let job = check(&unshare).args(["-m", "/bin/sh", "-c", &script]);
    let run = job.arg(&nothing).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(unwatched(&run), [], "{}", run.stderr);
    assert!(executables(&run).contains(&nothing.to_str().unwrap()), "{}", run.stderr);
}

#[test]
fn a_sandbox_by_bubblewrap_is_told() {
    let Some(bwrap) = installed(&["bwrap"], "bubblewrap") else { return };
    let nothing = program("nothing.c");
    let scratch = Scratch::new();
    let hidden = scratch.join("hidden");
    fs::create_dir(&hidden).unwrap();
    let sandbox = |over: &Path| {
        let over = over.to_str().unwrap().to_owned();
        ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs"]
            .map(str::to_owned)
            .into_iter()
            .chain([over])
    };
    let alone = native(&bwrap).args(sandbox(&hidden)).arg(&nothing).run();
    if alone.code() != 0 {
        return skip("bubblewrap makes no sandbox here");
    }
    let json = scratch.join("report.json");
    let mut command = crate::harness::tool();
    command.args(["check", "--json"]).arg(&json).arg("--ledger-dir").arg(&hidden).arg("--");
    command.arg(&bwrap).args(sandbox(&hidden)).arg(&nothing);
    let mut run = crate::harness::run(command);
    run.json = serde_json::from_slice(&fs::read(&json).unwrap()).ok();
    is_told_hidden(&run, &nothing);
    let run = check(&bwrap).args(sandbox(&hidden)).arg(&nothing).run();
    assert_eq!((run.code(), unwatched(&run)), (0, vec![]), "{}", run.stderr);
}

/// In what Valgrind runs, its own program is mapped, too, and is not for others to read.
#[test]
fn valgrind_as_a_child_finds_no_error_of_the_librarys() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    for options in [&[] as &[&str], &["--follow=none"]] {
        let job = check_with(options, &valgrind).args(["-q", "--error-exitcode=9"]);
        let run = job.arg(program("abba.c")).run();
        assert!(!run.stderr.contains("Invalid read"), "{}", run.stderr);
        assert_ne!(run.code(), 9, "{}", run.stderr);
    }
}

/// The locks of a child with ThreadSanitizer stay: of a lock that is replaced it knows nothing.
#[test]
fn swap_leaves_a_child_with_locks_of_its_own_as_it_is() {
    let mut children = vec![build("swap_own.c", &[])];
    if installed(&["clang"], "clang").is_some() {
        children.push(build_by("clang", "child.c", &["-fsanitize=thread"]));
    }
    for child in children {
        let natively = native(&child).arg("7").run();
        let job = under("swap", &[] as &[&str], "/bin/sh").args(["-c", "\"$0\" 7; exit $?"]);
        let run = job.arg(&child).run();
        assert_eq!((run.text(), run.code()), (natively.text(), natively.code()), "{}", run.stderr);
        assert_eq!(run.report()["programs_left"], 1, "{}", run.stderr);
        assert!(run.stderr.contains("1 program was started as it is"), "{}", run.stderr);
    }
}

#[test]
fn swap_of_a_program_without_a_lock_ends_as_natively() {
    let run = under("swap", &[] as &[&str], "true").run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("no lock was used that could be replaced"), "{}", run.stderr);
    let run = under("swap", &[] as &[&str], program("swap_shared_only.c")).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 process-shared mutex"), "{}", run.stderr);
}
