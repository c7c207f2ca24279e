//! The example of a file system under a big kernel lock: what it guards is intact, and lockmeter's
//! table shows the call sites of the published one, before and after the four patches.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::c_locks::library;
use crate::harness::{Run, Scratch, check, native, run, target_tmp, tests_dir, tool, under};

/// A short run: few clients, so that there are as many processes as groups of blocks.
const SHORT: [&str; 6] = ["--clients", "3", "--processes", "4", "--units", "4"];

/// As its Makefile builds it, in a copy.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let sources = tests_dir().join("../examples/c/bkl_fs");
        let copy = target_tmp().join("bkl_fs");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(&copy).expect("a folder for the example");
        for file in fs::read_dir(sources).expect("the example").flatten() {
            fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
        let include = tests_dir().join("../include");
        let library = library().display();
        let mut make = Command::new("make");
        make.arg("--silent").arg("--directory").arg(&copy).arg("bkl_fs");
        make.arg(format!(
            "CFLAGS=-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread -I{}",
            include.display()
        ));
        make.arg(format!("LDFLAGS=-L{library} -Wl,-rpath,{library}")).arg("LDLIBS=-llockwright");
        // What runs us may be a make.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        assert!(make.status().expect("make").success(), "{make:?} failed");
        copy.join("bkl_fs")
    })
}

fn is_intact(run: &Run) {
    assert_eq!(run.code(), 0, "{}\n{}", run.text(), run.stderr);
    let found = "0 operations failed, 0 blocks with wrong data, 0 faults found by fsck";
    assert!(run.text().contains(found), "{}", run.text());
}

/// Functions that take `kernel_flag` by lockmeter's table, with how often each of their sites did;
/// and how often all did.
fn table(switches: &[&str]) -> (BTreeMap<String, Vec<u64>>, u64) {
    let run =
        under("meter", &["--compat", "lockmeter"], program()).args(SHORT).args(switches).run();
    is_intact(&run);
    let mut lines = run.stderr.lines().skip_while(|line| !line.ends_with("  kernel_flag"));
    let total = |line: &str| -> u64 {
        let columns = line.split_whitespace();
        // In front of NAME: NOWAIT, SPIN and RJECT, and then TOTAL.
        columns.rev().nth(4).expect("columns").parse().unwrap_or_else(|_| panic!("{line}"))
    };
    let all = total(lines.next().unwrap_or_else(|| panic!("{}", run.stderr)));
    let mut sites = BTreeMap::<String, Vec<u64>>::new();
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let name = line.split_whitespace().last().expect("a name");
        let (function, _) = name.split_once("+0x").unwrap_or_else(|| panic!("{line}"));
        sites.entry(function.to_owned()).or_default().push(total(line));
    }
    (sites, all)
}

/// The functions of the published tables, with the sites of each; and those that it left out.
const BOTH: [(&str, usize); 14] = [
    ("do_fcntl", 1),
    ("ext2_delete_inode", 1),
    ("lookup_hash", 1),
    ("open_namei", 2),
    ("real_lookup", 1),
    ("schedule", 1),
    ("sync_old_buffers", 1),
    ("sys_rename", 1),
    ("vfs_create", 2),
    ("vfs_mkdir", 2),
    ("vfs_readdir", 1),
    ("vfs_rmdir", 2),
    ("vfs_statfs", 1),
    ("vfs_unlink", 2),
];
const BEFORE: [(&str, usize); 5] = [
    ("do_exit", 1),
    ("ext2_discard_prealloc", 1),
    ("ext2_get_block", 1),
    ("notify_change", 1),
    ("sys_lseek", 1),
];
const AFTER: [(&str, usize); 5] = [
    ("ext2_free_blocks", 1),
    ("ext2_new_block", 2),
    ("inode_change_ok", 1),
    ("inode_setattr", 1),
    ("sem_exit", 1),
];

fn names(sites: &BTreeMap<String, Vec<u64>>) -> Vec<(&str, usize)> {
    sites.iter().map(|(name, totals)| (name.as_str(), totals.len())).collect()
}

fn sorted(
    one: &[(&'static str, usize)],
    other: &[(&'static str, usize)],
) -> Vec<(&'static str, usize)> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all
}

#[test]
fn the_tables_have_the_published_call_sites() {
    let (before, all_before) = table(&[]);
    let (after, all_after) = table(&["--rollup"]);
    assert_eq!(names(&before), sorted(&BOTH, &BEFORE));
    assert_eq!(names(&after), sorted(&BOTH, &AFTER));
    // Half of the acquisitions are sys_lseek's, and gone.
    assert!(all_after * 10 < all_before * 6, "{all_before} before, {all_after} after");
    let lseek = before["sys_lseek"][0];
    assert!(lseek * 5 > all_before * 2, "{lseek} of {all_before}");
    // What clients do is the same.
    for name in ["vfs_create", "vfs_unlink", "sys_rename", "open_namei"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    let again = table(&[]).0;
    for name in ["sys_lseek", "vfs_create", "notify_change", "lookup_hash", "do_exit"] {
        assert_eq!(before[name], again[name], "{name}");
    }
}

#[test]
fn each_patch_takes_its_site_away() {
    for (switch, gone, comes) in [
        ("--do-exit", "do_exit", "sem_exit"),
        ("--get-block", "ext2_get_block", "ext2_new_block"),
        ("--notify-change", "notify_change", "inode_setattr"),
        ("--llseek", "sys_lseek", "sys_rename"),
    ] {
        let sites = table(&[switch]).0;
        assert!(!sites.contains_key(gone) && sites.contains_key(comes), "{switch}: {sites:?}");
        let others = BEFORE.iter().filter(|(name, _)| *name != gone);
        for (name, _) in others.filter(|(name, _)| *name != "ext2_discard_prealloc") {
            assert!(sites.contains_key(*name), "{switch}: {sites:?}");
        }
    }
}

#[test]
fn the_file_system_is_intact_whatever_is_taken_out() {
    for switches in [&[] as &[&str], &["--rollup"], &["--get-block"], &["--do-exit", "--llseek"]] {
        for seed in ["1", "2"] {
            is_intact(&native(program()).args(SHORT).args(["--seed", seed]).args(switches).run());
        }
    }
}

#[test]
fn what_is_broken_is_found() {
    for (what, found) in [
        ("block", "is in two places"),
        ("link", "names, and 2 links"),
        ("bitmap", "is lost"),
        ("quota", "and a quota of"),
        ("name", "which is free"),
        ("semaphore", "after all is undone"),
    ] {
        let run = native(program()).args(SHORT).args(["--break", what]).run();
        assert_eq!(run.code(), 1, "{what}: {}", run.stderr);
        assert!(run.stderr.contains(found), "{what}: {}", run.stderr);
    }
    let run = native(program()).args(SHORT).args(["--break", "nothing"]).run();
    assert_eq!(run.code(), 2, "{}", run.stderr);
}

#[test]
fn its_locks_are_in_order() {
    for switches in [&[] as &[&str], &["--rollup"]] {
        let run = check(program()).args(SHORT).args(switches).run();
        is_intact(&run);
        assert!(run.findings().is_empty(), "{}", run.stderr);
    }
}

/// The tables of Hansen's 2002 patches after two short rounds.
fn tables(parts: Option<&Path>) -> (String, Value) {
    let scratch = Scratch::new();
    let json = scratch.join("page.json");
    let mut command = tool();
    command.args(["bench", "tables", "--smoke", "--only", "2", "--json"]).arg(&json);
    if let Some(parts) = parts {
        command.arg("--parts").arg(parts);
    }
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let json = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    (run.text(), json)
}

#[test]
fn published_and_measured_stand_side_by_side() {
    let (text, page) = tables(program().parent());
    let document = &page["documents"][0];
    let comparisons = document["comparisons"].as_array().expect("comparisons");
    let rows: Vec<_> = comparisons.iter().flat_map(|of| of["rows"].as_array().unwrap()).collect();
    let row = |what: &str| {
        rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    let acquisitions = row("acquisitions, after over before");
    assert!((acquisitions["published"].as_f64().unwrap() - 0.516).abs() < 1e-3);
    let ratio = acquisitions["here"]["median"].as_f64().expect("measured");
    assert!((0.4..0.6).contains(&ratio), "{acquisitions:#}");
    let lseek = row("sys_lseek")["here"]["median"].as_f64().expect("measured");
    assert!((40.0..60.0).contains(&lseek), "{lseek}");
    for name in ["do_exit+0x", "sem_exit+0x", "ext2_get_block+0x", "ext2_new_block+0x"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let verdicts = document["verdicts"].as_array().expect("verdicts");
    let half = verdicts.iter().find(|v| v["claim"].as_str().unwrap().contains("half"));
    assert_eq!(half.expect("a verdict")["holds"], true, "{verdicts:#?}");
}

#[test]
fn without_the_program_its_rows_say_so() {
    let (text, page) = tables(None);
    assert!(text.contains("cargo xtask bench tables"), "{text}");
    assert_eq!(page["documents"][0]["verdicts"], Value::Array(Vec::new()));
}
