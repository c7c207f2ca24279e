//! The example of a file system under a big kernel lock: what it guards is intact, and lockmeter's
//! table shows the call sites of the published one, before and after the four patches.

use std::collections::BTreeMap;

use crate::bkl_program::program;
use crate::harness::{Run, check, native, under};

/// A short run: few clients, so that there are as many processes as groups of blocks.
const SHORT: [&str; 6] = ["--clients", "3", "--processes", "4", "--units", "4"];

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
