//! Removes what lockwright has made, and nothing else: files of names that it gives, in a directory
//! that a marker of its own is in. What anybody else has put there stays, and so does the directory
//! then.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::folder::{Folder, effective_user};
use super::ledgers::{EXTENSION, ledgers_in};
use super::marker::{LOCK, Marker, UNMARKED, try_lock};
use super::run_name::{is_number, is_run_name};
use super::sending::{CLAIM, SENT, UNSENT, UNSENT_NEW};
use super::token::Token;
use super::writers::{is_written, watched_in};
use lockwright_analysis::symbolize::PRELOAD_FILE_NAME;
use lockwright_ledger::inlined::{FILE_PREFIX, REQUESTS};
use lockwright_ledger::steering;

/// Files that lockwright leaves in a run's directory, the marker aside.
const FILES: &[&str] = &[
    PRELOAD_FILE_NAME,
    SWAP_FILE_NAME,
    SWAP_COUNTS,
    SWAP_SOCKET,
    "cost.json",
    "demo",
    "demo.c",
    "end.json",
    "generated.json",
    CLAIM,
    SENT,
    UNMARKED,
    UNSENT,
    UNSENT_NEW,
];

/// The library that `lockwright swap` loads into programs.
pub const SWAP_FILE_NAME: &str = "liblockwright_swap.so";

/// What it counts in.
pub const SWAP_COUNTS: &str = "swapped";

/// What the socket where it asks is bound as; then it gets a name that nobody can guess.
pub const SWAP_SOCKET: &str = "asked";

/// The name of that socket. The path of a socket has at most 107 bytes, so it is as short as can be:
/// 30 random bits. Another user can only try one name after another, and one that is found lets it
/// delay only processes of the run that have become another user's.
pub fn socket_name(Token([random, _]): Token) -> String {
    let digit = |place| SOCKET_DIGITS[(random >> (6 * place)) as usize % SOCKET_DIGITS.len()];
    let digits = (0..SOCKET_DIGITS_IN_NAME).map(|place| char::from(digit(place)));
    std::iter::once(SOCKET_MARK).chain(digits).collect()
}

/// Each stands for 6 bits.
const SOCKET_DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+";

/// How many of them the name has.
const SOCKET_DIGITS_IN_NAME: usize = 5;

/// What the name begins with.
const SOCKET_MARK: char = '@';

fn is_socket_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(SOCKET_MARK));
    digits.is_some_and(|digits| {
        digits.len() == SOCKET_DIGITS_IN_NAME
            && digits.bytes().all(|digit| SOCKET_DIGITS.contains(&digit))
    })
}

/// Files that the preload library writes to besides ledgers; a dash and a user's number may follow those of records.
const RECORDS: &[&str] = &["executed", "unwatched", steering::FILE_NAME];

/// The directory for ledgers of processes that lockwright itself runs to measure what it costs.
pub const CALIBRATION: &str = "calibration";

/// What a directory is called while it is removed.
const GONE: &str = "gone";

/// Removes the run's directory `name`. Renamed first, it cannot get new ledgers meanwhile.
pub fn remove(base: &Folder, name: &OsStr) {
    let mut gone = name.to_owned();
    if Path::new(name).extension() != Some(OsStr::new(GONE)) {
        gone = Path::new(name).with_extension(GONE).into();
        if base.rename(name, base, &gone).is_err() {
            gone = name.to_owned();
        }
    }
    // Nobody to tell: what stays is removed by the next run.
    let _ = clear(base, &gone);
}

fn clear(base: &Folder, name: &OsStr) -> io::Result<()> {
    let run = base.folder(name)?;
    if let Some((marker, _)) = Marker::of_own(&run, LOCK) {
        clear_ledgers(&run, OsStr::new(&marker.ledgers.to_string()));
        clear_ledgers(&run, OsStr::new(CALIBRATION));
        for name in FILES {
            let _ = run.remove_file(OsStr::new(name));
        }
        for name in run.names()?.iter().filter(|name| is_socket_name(name)) {
            let _ = run.remove_file(name);
        }
        // Last: without it, what is there yet would be nobody's. Where something stays, so that the
        // directory does, too, that is not ours.
        run.remove_file(OsStr::new(LOCK))?;
    }
    base.remove_empty_folder(name)
}

/// Removes the directory `name` that processes of a run write to.
pub fn clear_ledgers(run: &Folder, name: &OsStr) {
    let Ok(ledgers) = run.folder(name) else { return };
    for file in ledgers.names().unwrap_or_default() {
        if is_ledger_name(&file) || is_record_name(&file) || is_table_name(&file) {
            let _ = ledgers.remove_file(&file);
        }
    }
    let _ = run.remove_empty_folder(name);
}

/// Whether it is a name that the preload library gives a ledger: a process id and 16 hexadecimal
/// digits.
fn is_ledger_name(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.strip_suffix('.'));
    name.and_then(|name| name.split_once('-')).is_some_and(|(pid, token)| {
        is_number(pid)
            && token.len() == 16
            && token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether it is the name of a table of inlined locks, or of the pipe by which they are asked for.
pub fn is_table_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name == REQUESTS || name.starts_with(FILE_PREFIX))
}

/// Whether it is the name of a file of records.
pub(super) fn is_record_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| RECORDS.iter().any(|record| is_of_record(name, record)))
}

/// Whether the file `name` has records of the sort `record`.
pub fn is_of_record(name: &str, record: &str) -> bool {
    let rest = name.strip_prefix(record);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
}

/// Removes the directories of runs whose lockwright was killed.
pub fn remove_stale(base: &Folder, path: &Path) {
    for name in base.names().unwrap_or_default() {
        let is_gone = Path::new(&name).extension() == Some(OsStr::new(GONE));
        let run = Path::new(&name).file_stem().and_then(OsStr::to_str);
        if !run.is_some_and(is_run_name) {
            continue;
        }
        if is_gone && is_removed(base, &name) || is_stale(base, path, &name) {
            remove(base, &name);
        } else if let Some(folder) = unmarked(base, &name) {
            remove_unmarked(base, &name, &folder);
        }
    }
}

/// Removes a run's directory that has no marker yet.
pub fn remove_unmarked(base: &Folder, name: &OsStr, folder: &Folder) {
    // Nobody to tell: what stays is removed by a later run.
    let _ = folder.remove_file(OsStr::new(UNMARKED));
    let _ = base.remove_empty_folder(name);
}

/// A directory of this user's whose lockwright ended before it had marked it.
fn unmarked(base: &Folder, name: &OsStr) -> Option<Folder> {
    let folder = base.folder(name).ok()?;
    let meta = folder.metadata().ok()?;
    let age = meta.modified().ok()?.elapsed().unwrap_or_default();
    let is_left = meta.uid() == effective_user()
        && age >= TO_MARK
        && folder.names().ok()?.iter().all(|file| {
            // Its lockwright has it locked for as long as it lives.
            let marker = (file == UNMARKED).then(|| folder.own_file(UNMARKED, libc::O_RDWR));
            marker.is_some_and(|marker| marker.is_ok_and(|file| try_lock(&file).is_ok()))
        });
    is_left.then_some(folder)
}

/// A lockwright marks its directory at once, unless it has been stopped.
const TO_MARK: Duration = Duration::from_secs(60);

/// Whether somebody of this user was about to remove the directory: there is his marker in it yet,
/// or nothing any more.
fn is_removed(base: &Folder, name: &OsStr) -> bool {
    let Ok(run) = base.folder(name) else { return false };
    run.metadata().is_ok_and(|meta| meta.uid() == effective_user())
        && (Marker::of_own(&run, LOCK).is_some() || run.names().is_ok_and(|names| names.is_empty()))
}

/// Whether a directory in `base`, which is at `path`, is left over from a killed lockwright of this
/// user.
pub fn is_stale(base: &Folder, path: &Path, name: &OsStr) -> bool {
    let Ok(run) = base.folder(name) else { return false };
    if !run.metadata().is_ok_and(|meta| meta.uid() == effective_user()) {
        return false;
    }
    let Some((_, lock)) = Marker::of_own(&run, LOCK) else { return false };
    if waits_for_server(&run) {
        return false;
    }
    let run = path.join(name);
    try_lock(&lock).is_ok()
        && watched_in(&run).is_empty()
        // Processes that are not to be seen from here.
        && !ledgers_in(&run).unwrap_or_default().iter().any(|ledger| is_written(ledger))
}

/// Whether the next run with `--push` can send what the run has. In a week there was none.
fn waits_for_server(run: &Folder) -> bool {
    const MOST: Duration = Duration::from_secs(7 * 24 * 3600);
    let written = run.own_file(UNSENT, libc::O_RDONLY).and_then(|file| file.metadata()?.modified());
    written.is_ok_and(|written| written.elapsed().unwrap_or_default() < MOST)
}

/// Removes bases of this user that lockwright had to give a name of its own, where they are empty.
pub fn remove_private_bases(parent: &Path, prefix: &str) {
    let Ok(folder) = Folder::open(parent) else { return };
    for name in folder.names().unwrap_or_default() {
        let token = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_prefix('-'));
        if token.and_then(Token::parse).is_none() {
            continue;
        }
        if let Ok(base) = folder.folder(&name)
            && base.metadata().is_ok_and(|meta| meta.uid() == effective_user())
        {
            remove_stale(&base, &parent.join(&name));
            let _ = folder.remove_empty_folder(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lockwright_gives() {
        let ledger = |name: &str| is_ledger_name(OsStr::new(name));
        assert!(ledger("34-00112233445566ff.lwl"));
        for other in ["34-00.lwl", "x.lwl", "34-00112233445566fg.lwl", "34-00112233445566ff.txt"] {
            assert!(!ledger(other), "{other}");
        }
        let socket = |name: &str| is_socket_name(OsStr::new(name));
        assert!(socket(&socket_name(Token([u64::MAX, 0]))) && socket(&socket_name(Token([1, 0]))));
        for other in ["asked", "@", "@1234", "@123456", "@12.45"] {
            assert!(!socket(other), "{other}");
        }
        let record = |name: &str| is_record_name(OsStr::new(name));
        assert!(record("executed") && record("unwatched") && record("executed-65534"));
        assert!(!record("executed-") && !record("executed.txt") && !record("executed-x"));
    }
}
