//! Which ledger a running process writes to, by its mappings.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lockwright_ledger::layout::{LEAST_WITH_ANNEXES, own_bytes};

use super::folder::effective_user;
use super::ledgers::EXTENSION;

/// The ledger of the process whose /proc/PID/status and /proc/PID/maps these are.
pub fn own_ledger(status: &str, maps: &str) -> Option<String> {
    maps.lines().find_map(ledger_in).filter(|ledger| is_own(ledger, status, maps))
}

/// The ledger of a process that is watched, as far as we may look.
pub fn watched_ledger(pid: u32) -> Option<PathBuf> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    own_ledger(&status, &String::from_utf8_lossy(&maps)).map(PathBuf::from)
}

/// The running processes that are watched, each with its ledger: those that this user may look into. What another user has
/// mapped under such a name is only root's to see.
pub fn watched() -> Vec<(u32, PathBuf)> {
    let user = effective_user();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all: Vec<(u32, PathBuf)> = entries
        .filter(|entry| user == 0 || entry.metadata().is_ok_and(|meta| meta.uid() == user))
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, watched_ledger(pid)?))
        })
        .collect();
    all.sort();
    all
}

/// The path of a mapped ledger.
fn ledger_in(line: &str) -> Option<String> {
    let path = &line[line.find('/')?..];
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    (Path::new(path).extension()? == EXTENSION).then(|| path.to_owned())
}

/// Whether a mapped ledger is the process's own: a forked child has its parent's, too, and may have
/// an annex of that.
fn is_own(ledger: &str, status: &str, maps: &str) -> bool {
    let name = Path::new(ledger).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    // The last is that in the innermost namespace, which is the process's own.
    let own = ids.split_whitespace().last().unwrap_or_default();
    let is_named = name.split('-').next() == Some(own);
    is_named
        || maps.lines().any(|line| ledger_in(line).as_deref() == Some(ledger) && in_annex(line))
}

/// Whether a mapping is one of an annex: written to, and in the part of the file that is for those.
fn in_annex(line: &str) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let is_written = fields.next().is_some_and(|mode| mode.starts_with("rw"));
    let offset = fields.next().and_then(|offset| u64::from_str_radix(offset, 16).ok());
    is_written && offset.is_some_and(|offset| offset >= own_bytes(LEAST_WITH_ANNEXES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_by_their_mapping() {
        let line = "7f0 r--s 0 00:19 7  /dev/shm/lockwright-0/1-2/34-00.lwl";
        assert_eq!(ledger_in(line).as_deref(), Some("/dev/shm/lockwright-0/1-2/34-00.lwl"));
        assert_eq!(
            ledger_in("7f0 r--s 0 00:19 7  /a b.lwl (deleted)").as_deref(),
            Some("/a b.lwl")
        );
        assert_eq!(ledger_in("7f0 r-xp 0 00:19 7  /lib/libc.so.6"), None);
        assert_eq!(ledger_in("7f0 rw-p 0 00:00 0"), None);
    }

    #[test]
    fn a_parents_ledger_is_not_a_childs() {
        let maps = "7f0-7f1 rw-s 00000000 00:1b 7 /r/1-2/42-00.lwl\n\
                    7f1-7f2 ---s 00400000 00:1b 7 /r/1-2/42-00.lwl\n";
        let is = |status: &str, maps: &str| is_own("/r/1-2/42-00.lwl", status, maps);
        assert!(is("NSpid:\t42\n", maps));
        assert!(is("Pid:\t7\nNSpid:\t7\t42\n", maps), "in a namespace");
        assert!(!is("NSpid:\t43\n", maps) && !is("", maps));
        let annex = maps.to_owned() + "7f2-7f3 rw-s 800000000 00:1b 7 /r/1-2/42-00.lwl\n";
        assert!(is("NSpid:\t43\n", &annex));
    }
}
