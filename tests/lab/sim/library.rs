//! `lockwright-lab sim --lock-library`: users' locks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::{parsed, sim};
use crate::harness::{Run, Scratch, build, target_tmp, tests_dir};

/// A library that is built of a C source.
fn c_library(source: &str, flags: &[&str]) -> String {
    let include = tests_dir().join("../include");
    let include = format!("-I{}", include.display());
    let library = build(source, &[&["-shared", "-fPIC", "-std=c11", &include], flags].concat());
    text(&library)
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

fn example(flags: &[&str]) -> String {
    c_library("../../examples/sim/c/spin_then_sleep.c", flags)
}

/// The example in Rust, as its user builds it.
fn rust_example() -> String {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    text(BUILT.get_or_init(|| rust_library("simulated-locks", "../examples/sim/rust/src/lib.rs")))
}

/// A library that is built of a source in Rust, by the example's Cargo.toml.
fn rust_library(name: &str, source: &str) -> PathBuf {
    let target = target_tmp().join(name);
    let sources = tests_dir().join("../examples/sim/rust");
    // A copy, as cargo writes a Cargo.lock into the folder.
    let folder = target.join("source");
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    let read = |name: &str| std::fs::read_to_string(sources.join(name)).expect(name);
    let locks = text(&tests_dir().join("../locks/lockwright"));
    let manifest = read("Cargo.toml").replace("../../../locks/lockwright", &locks);
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("Cargo.toml");
    std::fs::copy(tests_dir().join(source), folder.join("src/lib.rs")).expect("lib.rs");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline"]).current_dir(&folder);
    cargo.arg("--target-dir").arg(&target);
    let status = cargo.status().expect("cargo");
    assert!(status.success(), "{cargo:?} failed");
    target.join("debug/libsimulated_locks.so")
}

/// The JSON of a run that succeeds.
fn json(arguments: &[&str]) -> String {
    let run = sim(&[arguments, &["-o", "/dev/null", "--json", "-"]].concat());
    assert_eq!(run.code(), 0, "{}", run.stderr);
    run.text()
}

fn explored(library: &str, arguments: &[&str]) -> Run {
    sim(&[&["--explore", "--lock-library", library], arguments].concat())
}

/// A failure is found, and found again by both commands that are printed.
fn is_found_and_replayed(library: &str, lock: &str, wrong: &str, source: &str) {
    let found = explored(library, &["--lock", lock, "--threads", "6"]);
    assert_eq!(found.code(), 101, "{}", found.stderr);
    let page = found.text();
    assert!(page.contains(wrong) && page.contains(source), "{page}");
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.trim().strip_prefix("lockwright-lab sim ")).collect();
    assert_eq!(commands.len(), 2, "{page}");
    let what = |page: &str| page.lines().find(|line| line.starts_with("!!!")).map(str::to_owned);
    for command in commands {
        let again = sim(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(again.code(), 101, "{command}: {}", again.stderr);
        assert_eq!(what(&again.text()), what(&page), "{command}");
    }
}

#[test]
fn a_lock_in_c_is_swept_beside_others() {
    let library = example(&[]);
    let lock = ["--lock-library", &library, "--lock", "spin_then_sleep,qspinlock"];
    let sweep = ["--sweep", "cpus=1..8", "--seconds", "0.001"];
    let command = [&lock[..], &sweep].concat();
    let first = json(&command);
    assert_eq!(first, json(&command), "the same to the last digit");
    assert_ne!(first, json(&[&command[..], &["--seed", "2"]].concat()));
    let figures = parsed(&first);
    let runs = figures["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 8);
    let is_the_lock = |place: &Value| place["place"] == "the lock";
    let has_traffic =
        |run: &Value| run["traffic"].as_array().is_some_and(|all| all.iter().any(is_the_lock));
    assert!(runs.iter().all(has_traffic), "{figures}");

    let list = sim(&["--list", "--lock-library", &library]).text();
    assert!(list.contains("spin_then_sleep   a futex mutex that spins first"), "{list}");
}

#[test]
fn a_lock_in_c_is_explored() {
    let sound = explored(&example(&[]), &["--threads", "8", "--count", "1000"]);
    assert_eq!(sound.code(), 0, "{}", sound.stderr);
    assert!(sound.text().contains("  spin_then_sleep  "), "{}", sound.text());

    let broken = example(&["-DFORGETS_WAITERS"]);
    let wrong = ", and nobody is left to wake them";
    is_found_and_replayed(&broken, "spin_then_sleep", wrong, "spin_then_sleep.c:");
}

/// lockwright's own ticket lock, by way of a library, is what it is without: nothing of the way
/// there is simulated.
#[test]
fn a_lock_in_rust_is_simulated_as_one_of_the_family_is() {
    let library = rust_example();
    let run = |lock: &str| {
        let lock = ["--lock-library", &library, "--lock", lock, "--vcpus", "8,12", "--cpus", "8"];
        let mut figures = parsed(&json(&[&lock[..], &["--seconds", "0.001"]].concat()));
        for run in figures["runs"].as_array_mut().expect("runs") {
            run["lock"] = Value::Null;
        }
        figures
    };
    assert_eq!(run("my_ticket"), run("ticket"));
    assert_ne!(run("anderson"), run("ticket"));
}

#[test]
fn a_lock_in_rust_is_explored() {
    let library = rust_example();
    let sound = explored(&library, &["--lock", "anderson,my_ticket", "--count", "1000"]);
    assert_eq!(sound.code(), 0, "{}", sound.stderr);
    is_found_and_replayed(&library, "anderson_busted", "hold it at the same time", "src/lib.rs:");
}

#[test]
fn readers_and_deadlines_of_a_lock_in_rust_are_explored() {
    let library = text(&rust_library("simulated-kinds", "programs/sim/kinds.rs"));
    let sound = explored(&library, &["--lock", "kinds", "--threads", "6", "--count", "2000"]);
    assert_eq!(sound.code(), 0, "{}{}", sound.text(), sound.stderr);
    is_found_and_replayed(&library, "kinds_busted", "not get on, however long", "src/lib.rs:");
    let wrong = "was overtaken once: more than the lock promises";
    is_found_and_replayed(&library, "kinds_unfair", wrong, "src/lib.rs:");
}

/// What docs/lab/simulator.md shows is a library.
#[test]
fn the_documented_lock_is_one() {
    let page = tests_dir().join("../docs/lab/simulator.md");
    let page = std::fs::read_to_string(page).expect("docs/lab/simulator.md");
    let lines = page.lines().skip_while(|line| *line != "    #include <stdatomic.h>");
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let source: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
    let scratch = Scratch::new();
    let (file, library) = (scratch.join("mylock.c"), scratch.join("mylock.so"));
    std::fs::write(&file, source).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(tests_dir().join("../include")).arg(file).arg("-o").arg(&library);
    assert!(compiler.status().expect("cc").success(), "{compiler:?}");
    let library = text(&library);
    let lock = ["--lock-library", &library, "--lock", "mylock,qspinlock"];
    json(&[&lock[..], &["--threads", "1,4", "--seconds", "0.001"]].concat());
    let run = explored(&library, &["--count", "500"]);
    assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
}

#[test]
fn every_function_does_what_it_says() {
    let library = c_library("sim/every_function.c", &[]);
    json(&["--lock-library", &library, "--threads", "1,8", "--seconds", "0.0005"]);
    let run = explored(&library, &["--threads", "4", "--count", "500"]);
    assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
}

#[test]
fn what_is_no_library_is_told() {
    let scratch = Scratch::new();
    let no_library = scratch.join("text.so");
    std::fs::write(&no_library, "not an ELF file, but long enough to be read as one")
        .expect("a file");
    let is_told = |library: &str, said: &str| {
        for explores in [&[][..], &["--explore"]] {
            let run = sim(&[explores, &["--lock-library", library]].concat());
            assert_eq!(run.code(), 2, "{library}: {}", run.stderr);
            let told = format!("cannot use the lock library {library}: {said}");
            assert!(run.stderr.contains(&told), "{told}: {}", run.stderr);
        }
    };
    is_told("./no-such.so", "No such file or directory");
    is_told("/", "it is no regular file");
    is_told(&text(&no_library), &text(&no_library.canonicalize().expect("a path")));
    for (number, said) in [
        "it is no library of locks: it has no function `lockwright_sim_library`",
        "it was built for version 7 of the interface, and this is version 1",
        "it was built for a newer lockwright than this one",
        "it has no locks",
        "its lock `number 1` has no name of letters",
        "its lock `qspinlock` is called as another one is",
        "its lock `mine` has the name of another one",
        "its lock `mine` has 2097152 bytes: it must have from 1 to 1048576",
        "its lock `mine` is aligned to 48: it must be a power of two up to 4096",
        "its lock `mine` needs both functions, `lock` and `unlock`",
        "its lock `mine` needs `read_lock` and `read_unlock`, or neither",
    ]
    .iter()
    .enumerate()
    {
        is_told(&c_library("sim/wrong.c", &[&format!("-DWRONG={}", number + 1)]), said);
    }
}

#[test]
fn what_a_library_must_not_do_is_told() {
    for (number, said) in [
        (12, "the library of locks has a word of 3 bytes: they are of 1, 2, 4 or 8"),
        (13, "the library of locks has a word of 4 bytes at the address 0x"),
        (14, "the library of locks keeps 4097 bytes for a CPU: 4096 are the most"),
    ] {
        let library = c_library("sim/wrong.c", &[&format!("-DWRONG={number}")]);
        for mode in [&["--threads", "2"][..], &["--explore"]] {
            let run = sim(&[mode, &["--lock-library", &library, "--lock", "mine"]].concat());
            assert_eq!(run.code(), 2, "{said}: {}", run.stderr);
            assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
        }
    }
}
