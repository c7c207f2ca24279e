//! A crate from crates.io whose locks are those of `std::sync`, changed over to `lockwright::sync`
//! by its `use` lines and nothing else: the tool knows its locks, and those of the program that
//! uses it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::harness::{FOUND, check, lock_names, native, target_tmp, tests_dir};
use crate::kinds::annotations::CIRCULAR;
use crate::meter::run::{EXACT, How, meter};

/// Where cargo has the source of `threadpool`.
fn source(root: &Path) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--locked", "--manifest-path"]);
    let output = cargo.arg(root.join("Cargo.toml")).output().expect("cargo");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("its metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let found = packages.iter().find(|package| package["name"] == "threadpool");
    let manifest = found.expect("a dev-dependency")["manifest_path"].as_str().expect("a path");
    Path::new(manifest).parent().expect("a folder").to_owned()
}

/// The text with its locks changed over.
fn switched(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("use std::sync::") {
        Some(rest) => format!("use lockwright::sync::{rest}\n"),
        None if line == "extern crate num_cpus;" => format!("{line}\nextern crate lockwright;\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The program `pool.rs`, with a `threadpool` that has been changed over.
fn pool() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = tests_dir().join("..").canonicalize().expect("the source tree");
        let folder = target_tmp().join("pool");
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
            // Left alone if it is the same, so that cargo has nothing to do.
            if fs::read_to_string(&path).ok().as_deref() != Some(text) {
                fs::write(path, text).expect("written");
            }
        };
        let original = fs::read_to_string(source(&root).join("src/lib.rs")).expect("source");
        let changed = switched(&original);
        assert_eq!(changed.matches("\nuse lockwright::sync::").count(), 3, "three lines");
        write("threadpool/src/lib.rs", &changed);
        let lockwright = format!("lockwright = {{ path = {:?} }}\n", root.join("locks/lockwright"));
        write(
            "threadpool/Cargo.toml",
            &format!(
                "[package]\nname = \"threadpool\"\nversion = \"1.8.1\"\nedition = \"2015\"\n\
                 [dependencies]\nnum_cpus = \"1.13\"\n{lockwright}"
            ),
        );
        write("src/main.rs", include_str!("../../programs/pool.rs"));
        write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"pool\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
                 [dependencies]\nthreadpool = {{ path = \"threadpool\" }}\n{lockwright}"
            ),
        );
        // The versions that the workspace has.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("Cargo.lock");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline"]).current_dir(&folder);
        // What decides on warnings here is not ours.
        cargo.args(["--config", "build.rustflags=['--cap-lints=allow']"]);
        cargo.arg("--target-dir").arg(folder.join("target"));
        let status = cargo.status().expect("cargo");
        assert!(status.success(), "{cargo:?} failed");
        folder.join("target/debug/pool")
    })
}

/// The program's own locks.
const STATICS: [&str; 2] = ["pool::LEFT", "pool::RIGHT"];

/// The static that a lock is in; where in it is the compiler's choice.
fn of_static(name: &str) -> &str {
    name.split('+').next().unwrap_or(name)
}

#[test]
fn a_crate_changed_over_is_validated() {
    let run = native(pool()).arg("orders").run();
    assert_eq!((run.text().as_str(), run.code()), ("the end\n", 0));

    let run = check(pool()).arg("orders").run();
    assert_eq!(run.text(), "the end\n");
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    let names = lock_names(run.finding());
    assert_eq!(names.iter().map(|name| of_static(name)).collect::<Vec<_>>(), STATICS);
    // The pool's own: its receiver of jobs, and the lock under which it waits for their end.
    assert!(run.count("locks") >= 4, "{:#}", run.report()["summary"]);

    let run = check(pool()).arg("same").run();
    assert_eq!((run.findings().len(), run.code()), (0, 0), "{}", run.stderr);
}

#[test]
fn a_crate_changed_over_is_measured() {
    for how in [EXACT, How { command: "run", ..EXACT }] {
        let run = meter(how, pool(), &["same"]);
        assert_eq!(run.acquisitions("pool::left_first"), 400);
        // Each of the 200 jobs was received under the pool's lock.
        let received = run.acquisitions("threadpool::spawn_in_pool::{{closure}}");
        assert!(received >= 200, "{received}");
        for name in STATICS {
            assert!(run.report.locks.iter().any(|lock| of_static(&lock.name) == name), "{name}");
        }
    }
}
