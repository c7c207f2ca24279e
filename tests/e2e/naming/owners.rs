//! Names of locks on the heap and on stacks: the members that the source names, by their types.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::golden::golden;
use crate::harness::{
    Run, Scratch, build, check, check_with, example_with_types, installed, lock_names, tests_dir,
};

/// Names of the locks of all findings, without addresses.
fn names(run: &Run) -> BTreeSet<String> {
    let names = run.findings().iter().flat_map(lock_names);
    names.map(|name| name.split(" at 0x").next().unwrap_or_default().to_owned()).collect()
}

fn expected(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const IN_C: &[&str] = &[
    "Bank::inner.accounts[].lock",
    "Bank::table",
    "account::audit",
    "account::lock",
    "main()::local",
    "other::audit",
    "other::lock",
];

const IN_CXX: &[&str] = &[
    "store::Cache<int>::entries",
    "store::Named::named_ (owners.cc:100)",
    "store::Named::named_ (owners.cc:59)",
    "store::Server::mutex",
    "store::Server::table",
    "store::Session::mu_",
];

#[test]
fn golden_heap_members() {
    golden("heap-members", check(build("owners.c", &[])));
}

#[test]
fn members_of_heap_and_stack_objects() {
    for flags in [&["-O0"][..], &["-O2"], &["-gdwarf-4"], &["-gdwarf-5", "-gz"]] {
        let run = check_with(&["--all"], build("owners.c", flags)).run();
        assert_eq!(names(&run), expected(IN_C), "{flags:?}: {}", run.stderr);
    }
}

#[test]
fn members_of_objects_of_classes() {
    // A method that ends in the call of another function leaves no frame to look through.
    for flags in [&["-O0"][..], &["-O2", "-fno-optimize-sibling-calls"]] {
        let run = check(build("owners.cc", flags)).run();
        assert_eq!(names(&run), expected(IN_CXX), "{flags:?}: {}", run.stderr);
    }
}

/// The variable's type is of bytes.
#[test]
fn members_of_objects_in_static_room() {
    let members = expected(&["store::Journal::first_", "store::Journal::second_"]);
    for flags in [["-O0"], ["-O2"]] {
        let run = check(build("owners_storage.cc", &flags)).run();
        assert_eq!(names(&run), members, "{flags:?}: {}", run.stderr);
    }
}

/// Two things of one name in a function, and macros that may be the ones that take a lock.
#[test]
fn what_is_in_doubt_has_no_member() {
    for flags in [["-O0"], ["-O2"]] {
        let run = check(build("owners.c", &flags)).arg("misleading").run();
        let named = names(&run);
        assert!(!named.contains("other::lock"), "{flags:?}: {}", run.stderr);
        assert!(!named.contains("other::audit"), "{flags:?}: {}", run.stderr);
        let described = named.iter().filter(|name| name.contains("(misleading)")).count();
        assert!(described >= 2, "{flags:?}: {}", run.stderr);
    }
}

/// One call is left of two, and its line may be that of the other.
#[test]
fn calls_that_were_merged_have_no_member() {
    let members = expected(&["first::mutex", "fixed", "second::guard"]);
    let apart = check(build("merged_calls.c", &["-O0"])).run();
    assert_eq!(names(&apart), members, "{}", apart.stderr);
    let merged = check(build("merged_calls.c", &["-Os"])).run();
    let named = names(&merged);
    assert!(named.contains("fixed"), "{}", merged.stderr);
    assert!(!named.iter().any(|name| name.contains("::")), "{}", merged.stderr);
}

fn compiled(compiler: &Path, scratch: &Scratch) -> std::path::PathBuf {
    let (source, program) = (scratch.join("owners.c"), scratch.join("owners"));
    fs::copy(tests_dir().join("programs/owners.c"), &source).expect("a source");
    fs::copy(tests_dir().join("programs/owners.h"), scratch.join("owners.h")).expect("a header");
    let mut cc = Command::new(compiler);
    cc.args(["-g", "-O1", "-pthread", "-o"]).arg(&program).arg(&source);
    assert!(cc.status().expect("a compiler").success(), "{cc:?}");
    program
}

#[test]
fn members_by_clang() {
    let Some(clang) = installed(&["clang"], "clang") else { return };
    let scratch = Scratch::new();
    let run = check_with(&["--all"], compiled(&clang, &scratch)).run();
    assert_eq!(names(&run), expected(IN_C), "{}", run.stderr);
}

/// A line of a file that was changed after the build is another line. What suppressions know a class by is
/// the same with and without the source.
#[test]
fn a_source_that_changed_is_not_believed() {
    let scratch = Scratch::new();
    let program = compiled(Path::new("cc"), &scratch);
    let classes = |run: &Run| -> BTreeSet<String> {
        let locks = run.findings().iter().flat_map(|f| f["locks"].as_array().unwrap().clone());
        locks
            .map(|lock| {
                let by_place = lock["class_by_place"].as_str().or(lock["class"].as_str());
                by_place.expect("a class").to_owned()
            })
            .collect()
    };
    let before = check(&program).run();
    assert!(names(&before).contains("account::lock"), "{}", before.stderr);
    let suppressions = scratch.join("generated.supp");
    let generated =
        check_with(&[&format!("--gen-suppressions={}", suppressions.display())], &program);
    assert_eq!(generated.run().findings().len(), before.findings().len());

    let source = fs::read_to_string(scratch.join("owners.c")).expect("it is there");
    let later = fs::metadata(&program).unwrap().modified().unwrap();
    let later = later + std::time::Duration::from_secs(1);
    fs::write(scratch.join("owners.c"), source).expect("written");
    let file = fs::File::options().write(true).open(scratch.join("owners.c")).unwrap();
    file.set_modified(later).expect("a time");
    let after = check(&program).run();
    assert!(!names(&after).contains("account::lock"), "{}", after.stderr);
    assert_eq!(classes(&before), classes(&after), "{}", after.stderr);
    let suppressed = check_with(&["--suppressions", suppressions.to_str().unwrap()], &program);
    assert_eq!(suppressed.run().code(), 0);
}

/// The program's own lock types and guards.
#[test]
fn members_behind_own_locks() {
    let members = expected(&[
        "Table::entries",
        "Table::first.row_",
        "Table::gate.left_",
        "Table::gate.right_",
        "Table::log_",
        "Table::monitor",
        "Table::pointed",
    ]);
    for flags in [&["-O0"][..], &["-gdwarf-4"], &["-O2", "-fno-optimize-sibling-calls"]] {
        let program = build("owners_wrapped.cc", flags);
        let run = check_with(&["--all"], &program).run();
        assert_eq!(names(&run), members, "{flags:?}: {}", run.stderr);
        // Guards that may take another than they are given, and pointers of several names.
        for (what, sure) in [
            ("misleading", &["Table::entries"][..]),
            ("defaulted", &["Table::entries"]),
            ("seats", &[]),
        ] {
            let run = check_with(&["--all"], &program).arg(what).run();
            let mut named = names(&run);
            assert_eq!(named.len(), 2, "{flags:?}: {}", run.stderr);
            named.retain(|name| name.contains("::") && !name.contains(" at "));
            assert_eq!(named, expected(sure), "{flags:?}: {}", run.stderr);
        }
    }
}

/// One call of a method is left of two.
#[test]
fn own_calls_that_were_merged_have_no_member() {
    for (flag, is_merged) in [("-O0", false), ("-Os", true)] {
        let flags = [flag, "-fno-optimize-sibling-calls"];
        let run = check_with(&["--all"], build("owners_wrapped.cc", &flags)).arg("one").run();
        let named = names(&run);
        assert!(!named.is_empty(), "{flag}: {}", run.stderr);
        assert_eq!(named.contains("Table::log_"), !is_merged, "{flag}: {}", run.stderr);
        assert_eq!(named.contains("Table::entries"), !is_merged, "{flag}: {}", run.stderr);
    }
}

/// Objects as locks are called; one line may initialise another's.
#[test]
fn members_that_are_objects() {
    let run = check_with(&["--all"], build("owned_objects.c", &["-O0"])).run();
    let members = [
        "job::lock (owned_objects.c:21)",
        "job::lock (owned_objects.c:45)",
        "job::ready",
        "job::slots",
        "job::meet",
        "mutex initialised at owned_objects.c:32 (hidden)",
    ];
    assert_eq!(names(&run), expected(&members), "{}", run.stderr);
}

/// What is shared by pointers has the field's name, unless other fields have it, too.
#[test]
fn fields_that_share_a_lock() {
    let run = check_with(&["--all"], example_with_types("shared")).run();
    let mut named = names(&run);
    let forks = named.iter().filter(|name| name.contains("shared.rs:")).count();
    assert!(forks > 0, "{}", run.stderr);
    named.retain(|name| !name.contains("shared.rs:"));
    let fields = ["shared::Bank::accounts", "shared::Bank::log", "shared::Limits::daily"];
    assert_eq!(named, expected(&fields), "{}", run.stderr);
}

#[test]
fn fields_of_rust_structures() {
    let run = check(example_with_types("warehouse")).run();
    let fields = expected(&["warehouse::Shelf::goods", "warehouse::Warehouse::ledger"]);
    assert_eq!(names(&run), fields, "{}", run.stderr);
}
