//! Programs whose locks are parking_lot's, their own and those of crates from crates.io, are watched
//! without a change of any line: by `[patch.crates-io]`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{FOUND, check, lock_names, native, target_tmp, tests_dir, under};
use crate::kinds::annotations::CIRCULAR;

/// A program of `tests/projects/parking_lot`.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let target = target_tmp().join("parking_lot");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--manifest-path"]);
        cargo.arg(tests_dir().join("projects/parking_lot/Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        assert!(cargo.status().expect("cargo").success(), "{cargo:?} failed");
        target.join("debug")
    });
    folder.join(name)
}

#[test]
fn locks_in_both_orders() {
    for (what, locks) in [
        ("mutexes", ["orders::FIRST", "orders::SECOND"]),
        ("table", ["orders::FAIR", "orders::TABLE"]),
        ("upgradable", ["orders::INDEX", "orders::TABLE"]),
        ("waits", ["orders::FIRST", "orders::SECOND"]),
    ] {
        let alone = native(program("orders")).arg(what).run();
        let run = check(program("orders")).arg(what).run();
        assert_eq!(run.text(), alone.text(), "{}", run.stderr);
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
        assert_eq!(lock_names(run.finding()), locks);
        // Neither the crate nor lock_api is a place where locks are taken.
        for at in ["acquires", "was taken"] {
            let inside = format!("{at} in parking_lot");
            assert!(!run.stderr.contains(&inside), "{inside}: {}", run.stderr);
        }
    }
}

#[test]
fn one_order_is_silent() {
    let run = check(program("orders")).arg("ordered").run();
    assert!(run.text().starts_with("ordered: "), "{}", run.stderr);
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
    assert_eq!(run.count("locks"), 5);
    let run = check(program("orders")).arg("read").run();
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
}

/// r2d2 and prometheus, and what they depend on.
#[test]
fn crates_of_crates_io() {
    for (name, locks, acquisitions) in [("pool", 2, 400), ("metrics", 2, 600)] {
        let alone = native(program(name)).run();
        assert_eq!(alone.code(), 0, "{}", alone.stderr);
        for command in ["check", "run", "meter"] {
            let run = under(command, &[] as &[&str], program(name)).run();
            assert_eq!((run.text(), run.code()), (alone.text(), 0), "{name}: {}", run.stderr);
            if command != "meter" {
                assert_eq!(run.verdicts(), [], "{name}: {}", run.stderr);
                assert!(run.count("locks") >= locks, "{name}: {}", run.stderr);
                assert!(run.count("acquisitions") >= acquisitions, "{name}: {}", run.stderr);
            }
            assert!(!run.stderr.contains("locks were seen"), "{name}: {}", run.stderr);
        }
    }
}
