//! Where ledgers lie: the base directory, the directory of one run in it, and when which process
//! removes it.
//!
//! A run's directory is its user's alone. It has a marker, `lock`, that the run's lockwright keeps
//! locked, the files that lockwright itself writes, and one directory, of a name that nobody can
//! guess, that the processes of the run write to. A directory whose marker can be locked is left
//! over from a killed lockwright, and the next one removes it, unless some process still writes
//! there. In a kept directory the marker has another name.
//!
//! Root's processes may become another user's, and have to be able to create ledgers then. So
//! others may create files in the directory for ledgers, but not list it, nor the run's directory,
//! which would show its name; nor remove what others have made. A process that has learned the name
//! all the same lacks the token of the run's ledgers and records (`token.rs`).

mod folder;
mod kept_library;
mod kept_tables;
mod ledgers;
mod mapped;
mod marker;
mod removal;
mod run_name;
mod sending;
mod token;
mod writers;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use lockwright_ledger::file;

pub use kept_library::Carried;
pub use kept_tables::KeptTables;
pub use ledgers::{EXTENSION, foreign_in, glance_at, is_own, ledgers_in};
pub use mapped::{own_ledger, watched, watched_ledger};
pub use removal::{
    CALIBRATION, SWAP_COUNTS, SWAP_FILE_NAME, SWAP_SOCKET, is_table_name, socket_name,
};
pub use sending::{SENT, UNSENT, claim, remove_own, rename_own, replace_own, unsent_in};
pub use token::Token;
pub use writers::{
    innermost_id, is_written, named_writer, trim, watched_in, with_writers, writer_of,
    writer_of_annex,
};

pub use folder::Folder;
use ledgers::places;
use lockwright_console::error::{self, Error};
use marker::{KEPT, LOCK, Marker, UNMARKED, try_lock};
use run_name::run_name;

/// Space that a ledger directory must have left: the preload library and a small program's ledger.
const MIN_SPACE: u64 = 1 << 20;

/// What the choice of a base directory depends on, apart from the file system.
#[derive(Debug)]
pub struct Surroundings {
    /// Effective user id.
    pub uid: u32,
    /// `$XDG_RUNTIME_DIR`.
    pub runtime_dir: Option<OsString>,
    /// `$TMPDIR`.
    pub tmpdir: Option<OsString>,
}

impl Surroundings {
    /// This process's.
    pub fn current() -> Self {
        Self {
            uid: folder::effective_user(),
            runtime_dir: std::env::var_os("XDG_RUNTIME_DIR"),
            tmpdir: std::env::var_os("TMPDIR"),
        }
    }

    /// Base directories to try, best first. Memory-backed ones come first: a ledger on a disk would
    /// be written back all the time.
    pub fn candidates(&self) -> Vec<PathBuf> {
        let mut bases = Vec::new();
        // Root's runtime directory is closed to the accounts that servers started by root change
        // to.
        if self.uid != 0
            && let Some(dir) = absolute(self.runtime_dir.as_ref())
        {
            bases.push(dir.join("lockwright"));
        }
        bases.extend(self.shared().map(|place| place.join(self.base_name())));
        bases
    }

    /// The first of the candidates that only this user can write to; made if it is not there.
    pub fn own_base(&self) -> Option<PathBuf> {
        self.candidates().into_iter().find(|base| make_own(base, self).is_ok())
    }

    /// Places where everybody may have a base, and so anybody may have taken the name of this
    /// user's.
    fn shared(&self) -> [PathBuf; 2] {
        let temporary = absolute(self.tmpdir.as_ref()).unwrap_or_else(|| PathBuf::from("/tmp"));
        [PathBuf::from("/dev/shm"), temporary]
    }

    fn base_name(&self) -> String {
        format!("lockwright-{}", self.uid)
    }

    /// Mode of a directory that the user's processes must be able to pass, whichever user they have
    /// become.
    fn way_mode(&self) -> u32 {
        if self.uid == 0 { 0o711 } else { 0o700 }
    }

    /// Mode of the directory for ledgers. Started by root, a program may drop its privileges and
    /// then fork: the child must be able to create its ledger, but nobody needs to list or remove
    /// others'.
    fn ledgers_mode(&self) -> u32 {
        if self.uid == 0 { 0o1733 } else { 0o700 }
    }
}

fn absolute(dir: Option<&OsString>) -> Option<PathBuf> {
    dir.map(PathBuf::from).filter(|dir| dir.is_absolute())
}

/// The directory of one run. Dropped without [`RunDir::keep`], it is removed with all that
/// lockwright has put there.
#[derive(Debug)]
pub struct RunDir {
    /// The directory it is in, and its path.
    base: Folder,
    base_path: PathBuf,
    /// Nobody else uses the base.
    is_private: bool,
    /// The base is this user's own and in memory.
    keeps_libraries: bool,
    name: OsString,
    folder: Folder,
    path: PathBuf,
    marker: Marker,
    ledgers: Folder,
    /// Twins of it under other bases.
    annexes: Vec<Annex>,
    /// Locked as long as this lockwright lives.
    _lock: File,
    keep: bool,
}

/// A directory of a run for what its base cannot hold.
#[derive(Debug)]
struct Annex {
    base: Folder,
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Makes the directory of this run, in `chosen` or in the first usable default place.
    ///
    /// # Errors
    /// If none can be written, or has space left.
    pub fn create(chosen: Option<&Path>, around: &Surroundings) -> error::Result<Self> {
        let mut failures = Vec::new();
        let mut tried = |base: &Path, made: io::Result<Self>| {
            let failed = |reason| failures.push(format!("{}: {reason}", base.display()));
            made.map_err(failed).ok()
        };
        if let Some(base) = chosen {
            if let Some(dir) = tried(base, Self::create_in_chosen(base, around)) {
                return Ok(dir);
            }
        } else {
            for base in around.candidates() {
                if let Some(dir) = tried(&base, Self::create_in_own(&base, around)) {
                    return Ok(dir);
                }
            }
            // Somebody else has them.
            for place in around.shared() {
                if let Some(dir) = tried(&place, Self::create_in_private(&place, around)) {
                    return Ok(dir);
                }
            }
        }
        let error = Error::new("no directory for the ledgers");
        let error = failures.into_iter().fold(error, Error::note);
        Err(error
            .help("name a writable directory with space left, best on a tmpfs: --ledger-dir DIR"))
    }

    fn create_in_chosen(base: &Path, around: &Surroundings) -> io::Result<Self> {
        fs::create_dir_all(base)?;
        Self::create_in(&base.canonicalize()?, false, around)
    }

    fn create_in_own(base: &Path, around: &Surroundings) -> io::Result<Self> {
        make_own(base, around)?;
        let mut made = Self::create_in(base, false, around)?;
        made.keeps_libraries = is_in_memory(base);
        Ok(made)
    }

    fn create_in_private(place: &Path, around: &Surroundings) -> io::Result<Self> {
        removal::remove_private_bases(place, &around.base_name());
        let base = place.join(format!("{}-{}", around.base_name(), Token::new()?));
        make_dir(&base, around.way_mode())?;
        let made = Self::create_in(&base, true, around);
        if made.is_err() {
            let _ = fs::remove_dir(&base);
        }
        made
    }

    fn create_in(base_path: &Path, is_private: bool, around: &Surroundings) -> io::Result<Self> {
        let base = Folder::open(base_path)?;
        removal::remove_stale(&base, base_path);
        let free = free_space(base_path)?;
        if free < MIN_SPACE {
            let (free, least) = (free >> 10, MIN_SPACE >> 10);
            return Err(io::Error::other(format!("full: {free} KiB free, {least} KiB needed")));
        }
        let (name, marker) = (run_name()?, Marker::new()?);
        let (folder, lock) = make_marked(&base, &name, &marker, around.way_mode())?;
        let ledgers = OsString::from(marker.ledgers.to_string());
        let ledgers = folder
            .make_folder(&ledgers, around.ledgers_mode())
            .inspect_err(|_| removal::remove(&base, &name))?;
        Ok(Self {
            path: base_path.join(&name),
            base_path: base_path.to_owned(),
            base,
            is_private,
            keeps_libraries: false,
            name,
            folder,
            marker,
            ledgers,
            annexes: Vec::new(),
            _lock: lock,
            keep: false,
        })
    }

    /// The directory; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory in it that the processes of the run write to, and the token that shows that a
    /// ledger is of the run: as the processes get them.
    pub fn for_processes(&self) -> OsString {
        let Marker { ledgers, run } = self.marker;
        let mut text = self.path.join(ledgers.to_string()).into_os_string();
        text.push(format!(":{run}"));
        text
    }

    /// Makes an empty file for records of the processes of the run.
    ///
    /// # Errors
    /// If that fails.
    pub fn make_record(&self, name: &str) -> io::Result<()> {
        self.ledgers.create(name).map(drop)
    }

    /// Makes a file that processes of the run, of this user, read and change.
    ///
    /// # Errors
    /// If that fails.
    pub fn give(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.ledgers.create(name)?.write_all(bytes)
    }

    /// The directory that processes of the run write to, open once more.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn for_answers(&self) -> io::Result<Folder> {
        self.ledgers.again()
    }

    /// What is in such a file now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn given(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.ledgers.own_file(name, libc::O_RDONLY)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file of lockwright's own, which is not there yet.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.folder.create(name)?.write_all(text.as_bytes())
    }

    /// Makes a file of zeros that processes of the run may write to, whichever user they have
    /// become. Returns where it is.
    ///
    /// # Errors
    /// If that fails.
    pub fn make_shared(&self, name: &str, bytes: u64) -> io::Result<PathBuf> {
        let file = self.folder.create(name)?;
        file.set_len(bytes)?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(self.path.join(name))
    }

    /// Makes a directory for processes that lockwright itself runs.
    ///
    /// # Errors
    /// If it is there.
    pub fn make_ledgers(&self, name: &str) -> io::Result<PathBuf> {
        self.folder.make_folder(OsStr::new(name), 0o700)?;
        Ok(self.path.join(name))
    }

    /// Removes such a directory.
    pub fn remove_ledgers(&self, name: &str) {
        removal::clear_ledgers(&self.folder, OsStr::new(name));
    }

    /// A directory of this run for files that are mapped executable, which not every file system
    /// allows, and not every owner of a directory above should have in his hands. `usable` decides.
    /// `None` if there is no such place.
    pub fn executable_home(
        &mut self,
        around: &Surroundings,
        usable: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        if usable(&self.path) && !forbids_exec(&self.path) && is_ours_to_the_root(&self.path) {
            return Some(self.path.clone());
        }
        for base in around.candidates() {
            let annex = base.join(&self.name);
            if self.annexes.iter().any(|known| known.path == annex) {
                return Some(annex);
            }
            if !usable(&annex) || make_own(&base, around).is_err() || forbids_exec(&base) {
                continue;
            }
            let made = Folder::open(&base).and_then(|folder| {
                let made = make_marked(&folder, &self.name, &self.marker, around.way_mode())?;
                Ok((folder, made.1))
            });
            if let Ok((base, _lock)) = made {
                self.annexes.push(Annex { base, path: annex.clone(), _lock });
                return Some(annex);
            }
        }
        None
    }

    /// Puts a library into the run's directory without writing it, if it was kept in the base since
    /// an earlier run, or can be kept there. False: it has to be written.
    pub fn give_kept(&self, library: &Carried) -> bool {
        self.keeps_libraries
            && kept_library::give(library, &self.base, &self.folder, &self.path).is_ok()
    }

    /// Where tables of inlined locks are kept, if they are in this base.
    pub fn kept_tables(&self, version: &'static str) -> Option<KeptTables> {
        let base = self.keeps_libraries.then(|| self.base.again());
        Some(KeptTables::new(base?.ok()?, version))
    }

    /// Leaves the directory where it is, for good. Nobody else can enter it then, unless processes
    /// that have become another user's write there yet.
    pub fn keep(&mut self) {
        self.keep = true;
        let _ = self.folder.rename(OsStr::new(LOCK), &self.folder, OsStr::new(KEPT));
        let owner = folder::effective_user();
        let is_others = |pid: u32| {
            fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() != owner)
        };
        let watched = watched_in(&self.path);
        if !watched.iter().any(|&pid| is_others(pid)) {
            let _ = self.ledgers.set_mode(0o700);
            let _ = self.folder.set_mode(0o700);
        }
        if watched.is_empty() {
            self.gather();
        }
    }

    /// Has the ledgers and records of the run in its directory, where they are looked for, now that
    /// nobody adds any.
    fn gather(&self) {
        let own = ledgers_in(&self.path).unwrap_or_default();
        let own: Vec<&OsStr> = own.iter().filter_map(|ledger| ledger.file_name()).collect();
        for name in self.ledgers.names().unwrap_or_default() {
            if own.contains(&name.as_os_str()) || removal::is_record_name(&name) {
                let _ = self.ledgers.rename(&name, &self.folder, &name);
            }
        }
        // What nobody of the run has made stays where it is.
        let _ = self.folder.remove_empty_folder(OsStr::new(&self.marker.ledgers.to_string()));
    }

    /// Leaves the directory where it is, for the next lockwright to remove once nobody writes
    /// there.
    pub fn abandon(&mut self) {
        self.keep = true;
        self.annexes.clear();
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        self.annexes.iter().for_each(|annex| removal::remove(&annex.base, &self.name));
        if !self.keep {
            removal::remove(&self.base, &self.name);
            if self.is_private {
                // Where it is not empty, somebody needs it.
                let _ = fs::remove_dir(&self.base_path);
            }
        }
    }
}

/// The largest file of records that is read: some hundred thousand of them.
const MOST_RECORDS: u64 = 64 << 20;

/// The records of the sort `name` in a run's directory that processes of the run have made.
pub fn records(dir: &Path, name: &str) -> Vec<Vec<u8>> {
    let marker = Marker::of(dir);
    let mut records = Vec::new();
    for place in places(dir, marker.as_ref()) {
        let Ok(entries) = fs::read_dir(place) else { continue };
        for entry in entries.flatten() {
            let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_plain
                || !entry.file_name().to_str().is_some_and(|n| removal::is_of_record(n, name))
            {
                continue;
            }
            let Ok(owner) = entry.metadata().map(|meta| meta.uid()) else { continue };
            let read = file::open_own(&entry.path(), owner)
                .and_then(|file| file::read_all(file, MOST_RECORDS));
            let text = read.unwrap_or_default();
            let entries = text.split(|&b| b == 0);
            records.extend(entries.filter_map(|entry| record_of(entry, marker.as_ref())));
        }
    }
    records
}

/// What a record says after the mark of its run.
fn record_of(entry: &[u8], marker: Option<&Marker>) -> Option<Vec<u8>> {
    let at = entry.iter().position(|&b| b == b' ')?;
    let is_of_run = marker.is_none_or(|marker| entry[..at] == *marker.run.to_string().as_bytes());
    is_of_run.then(|| entry[at + 1..].to_vec())
}

/// The directory of the run that a ledger is of.
pub fn run_of(ledger: &Path) -> Option<&Path> {
    let dir = ledger.parent()?;
    let is_below =
        dir.file_name().and_then(OsStr::to_str).is_some_and(|n| Token::parse(n).is_some());
    if is_below { dir.parent() } else { Some(dir) }
}

/// The user that this process acts as.
pub fn own_user() -> u32 {
    folder::effective_user()
}

/// What is in a small file that lockwright has left in a run's directory.
pub fn read_own(dir: &Path, name: &str) -> Option<Vec<u8>> {
    read_own_up_to(dir, name, 1 << 16)
}

/// As [`read_own`], of a file of up to so many bytes.
pub fn read_own_up_to(dir: &Path, name: &str, most: u64) -> Option<Vec<u8>> {
    let owner = dir.metadata().ok()?.uid();
    file::read_all(file::open_own(&dir.join(name), owner).ok()?, most).ok()
}

/// Makes a directory whose mode the umask does not narrow.
fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a run's directory with its marker, which appears in its place locked: no other lockwright
/// can take the directory for a left-over one in between. If that fails, nothing stays.
fn make_marked(
    base: &Folder,
    name: &OsStr,
    marker: &Marker,
    mode: u32,
) -> io::Result<(Folder, File)> {
    let folder = base.make_folder(name, mode)?;
    match mark(&folder, marker) {
        Ok(lock) => Ok((folder, lock)),
        Err(error) => {
            removal::remove_unmarked(base, name, &folder);
            Err(error)
        }
    }
}

fn mark(folder: &Folder, marker: &Marker) -> io::Result<File> {
    let mut lock = folder.create(UNMARKED)?;
    try_lock(&lock)?;
    marker.write(&mut lock)?;
    folder.rename(OsStr::new(UNMARKED), folder, OsStr::new(LOCK))?;
    Ok(lock)
}

/// Makes a base directory in a place that others may write, or takes the one that is there, but
/// only if nobody else can have put something into it.
fn make_own(base: &Path, around: &Surroundings) -> io::Result<()> {
    match make_dir(base, around.way_mode()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let folder = Folder::open(base)?;
    let meta = folder.metadata()?;
    if meta.uid() != around.uid || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("belongs to, or is writable by, another user"));
    }
    // Nobody else needs to see which runs there are.
    folder.set_mode(around.way_mode())
}

/// Whether nobody but this user and root can give this path to something else.
fn is_ours_to_the_root(path: &Path) -> bool {
    path.ancestors().all(|dir| {
        dir.symlink_metadata().is_ok_and(|meta| {
            let is_sticky = meta.mode() & libc::S_ISVTX != 0;
            [0, folder::effective_user()].contains(&meta.uid())
                && (meta.mode() & 0o022 == 0 || is_sticky)
        })
    })
}

fn statvfs(path: &Path) -> io::Result<libc::statvfs> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a terminated path and room for the answer.
    if unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled in, since the call succeeded.
    Ok(unsafe { stat.assume_init() })
}

/// Bytes that are left where `path` is.
///
/// # Errors
/// If the file system does not say.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let stat = statvfs(path)?;
    // Some file systems (ramfs) know no sizes and say 0 blocks of 0.
    if stat.f_blocks == 0 { Ok(u64::MAX) } else { Ok(stat.f_bavail.saturating_mul(stat.f_frsize)) }
}

/// Whether what is there is in memory only.
fn is_in_memory(path: &Path) -> bool {
    statfs(path).is_ok_and(|stat| stat.f_type == libc::TMPFS_MAGIC)
}

fn statfs(path: &Path) -> io::Result<libc::statfs> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a terminated path and room for the answer.
    if unsafe { libc::statfs(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled in, since the call succeeded.
    Ok(unsafe { stat.assume_init() })
}

/// Whether the file system is mounted such that nothing on it can be mapped executable.
fn forbids_exec(path: &Path) -> bool {
    statvfs(path).is_ok_and(|stat| stat.f_flag & libc::ST_NOEXEC != 0)
}

/// Whether the file system ignores set-user-id bits.
pub fn ignores_setuid(path: &Path) -> bool {
    statvfs(path).is_ok_and(|stat| stat.f_flag & libc::ST_NOSUID != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;
    use std::process::Stdio;
    use std::time::SystemTime;

    use super::*;

    fn around(uid: u32) -> Surroundings {
        Surroundings {
            uid,
            runtime_dir: Some("/run/user/7".into()),
            tmpdir: Some("/scratch".into()),
        }
    }

    /// A fresh directory that goes with the value.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let dir =
                std::env::temp_dir().join(format!("lockwright-test-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn memory_first_and_root_not_in_its_runtime_directory() {
        let paths = |uid| around(uid).candidates();
        let expected = ["/run/user/7/lockwright", "/dev/shm/lockwright-7", "/scratch/lockwright-7"]
            .map(PathBuf::from);
        assert_eq!(paths(7), expected);
        assert_eq!(paths(0), ["/dev/shm/lockwright-0", "/scratch/lockwright-0"].map(PathBuf::from));
        let bare = Surroundings { uid: 7, runtime_dir: Some("relative".into()), tmpdir: None };
        let expected = ["/dev/shm/lockwright-7", "/tmp/lockwright-7"].map(PathBuf::from);
        assert_eq!(bare.candidates(), expected);
    }

    /// A run's directory, of which the lockwright was killed.
    fn left_over(base: &Path, around: &Surroundings) -> PathBuf {
        let mut dir = RunDir::create(Some(base), around).unwrap();
        dir.abandon();
        dir.path().to_owned()
    }

    fn is_stale(path: &Path) -> bool {
        let base = path.parent().unwrap();
        removal::is_stale(&Folder::open(base).unwrap(), base, path.file_name().unwrap())
    }

    #[test]
    fn a_run_cleans_up_after_itself_and_after_killed_ones() {
        let base = Scratch::new("clean");
        let around = Surroundings::current();
        let killed = left_over(&base.0, &around);
        let ledgers = killed.join(Marker::of(&killed).unwrap().ledgers.to_string());
        fs::write(ledgers.join("34-00112233445566ff.lwl"), "").unwrap();
        fs::write(ledgers.join("executed"), "").unwrap();
        fs::write(killed.join("end.json"), "").unwrap();
        let half_removed = left_over(&base.0, &around).with_extension("gone");
        fs::rename(half_removed.with_extension(""), &half_removed).unwrap();

        let dir = RunDir::create(Some(&base.0), &around).unwrap();
        assert!(!killed.exists() && !half_removed.exists());
        let path = dir.path().to_owned();
        assert!(path.is_dir() && !is_stale(&path), "locked by us");
        drop(dir);
        assert!(!path.exists());
        assert_eq!(fs::read_dir(&base.0).unwrap().count(), 0);
    }

    #[test]
    fn a_start_that_was_killed_before_its_marker_leaves_nothing_for_long() {
        let base = Scratch::new("unmarked");
        let around = Surroundings::current();
        let folder = Folder::open(&base.0).unwrap();
        let begun = |has_file: bool| {
            let name = run_name().unwrap();
            let run = folder.make_folder(&name, 0o700).unwrap();
            let file = has_file.then(|| run.create(UNMARKED).unwrap());
            (base.0.join(name), file)
        };
        let age = |path: &Path| {
            let long_ago = SystemTime::now() - std::time::Duration::from_secs(3600);
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        };
        let [(empty, _), (with_file, _), (living, file), (new, _), (used, _)] =
            [false, true, true, true, false].map(begun);
        try_lock(file.as_ref().unwrap()).unwrap();
        fs::write(used.join("photo"), "mine").unwrap();
        for path in [&empty, &with_file, &living, &used] {
            age(path);
        }

        drop(RunDir::create(Some(&base.0), &around).unwrap());
        assert!(!empty.exists() && !with_file.exists());
        assert!(living.exists() && new.exists() && used.exists());
    }

    #[test]
    fn what_lockwright_has_not_made_stays() {
        let base = Scratch::new("foreign-files");
        let around = Surroundings::current();
        let token = "0123456789abcdef0123456789abcdef";
        let plain = [
            "12-34".to_owned(),
            "12-35.gone".into(),
            format!("12-34-{token}"),
            format!("12-35-{token}.gone"),
        ];
        for name in &plain {
            fs::create_dir_all(base.0.join(name).join("photos")).unwrap();
            fs::write(base.0.join(name).join("thesis.txt"), "years").unwrap();
            fs::write(base.0.join(name).join(LOCK), "").unwrap();
        }
        // What somebody keeps in a directory of a run, or below.
        let run = left_over(&base.0, &around);
        let ledgers = run.join(Marker::of(&run).unwrap().ledgers.to_string());
        fs::write(run.join("notes"), "mine").unwrap();
        fs::write(ledgers.join("notes"), "mine").unwrap();
        fs::write(ledgers.join("1-0011223344556677.lwl"), "").unwrap();
        // A marker that is a link to another's, or another file by a second name.
        let marked = [format!("12-36-{token}"), format!("12-37-{token}")];
        for name in &marked {
            fs::create_dir_all(base.0.join(name)).unwrap();
            fs::write(base.0.join(name).join("end.json"), "mine").unwrap();
        }
        fs::write(base.0.join("marker"), format!("lockwright run 1\n{token}\n{token}\n")).unwrap();
        std::os::unix::fs::symlink("../marker", base.0.join(&marked[0]).join(LOCK)).unwrap();
        fs::hard_link(base.0.join("marker"), base.0.join(&marked[1]).join(LOCK)).unwrap();

        drop(RunDir::create(Some(&base.0), &around).unwrap());
        for name in &plain {
            assert!(base.0.join(name).join("photos").is_dir(), "{name}");
            let text = fs::read_to_string(base.0.join(name).join("thesis.txt")).unwrap();
            assert_eq!(text, "years", "{name}");
        }
        for name in &marked {
            assert!(base.0.join(name).join("end.json").exists(), "{name}");
        }
        let run = if run.exists() { run } else { run.with_extension("gone") };
        let ledgers = run.join(ledgers.file_name().unwrap());
        assert_eq!(fs::read_to_string(run.join("notes")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(ledgers.join("notes")).unwrap(), "mine");
        assert!(!ledgers.join("1-0011223344556677.lwl").exists(), "that one was ours");
    }

    #[test]
    fn a_run_with_a_process_in_it_is_not_stale() {
        let base = Scratch::new("busy");
        let run = left_over(&base.0, &Surroundings::current());
        assert!(is_stale(&run));
        let mut cat = std::process::Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::piped());
        cat.env("LOCKWRIGHT_DIR", run.join("x:y"));
        let mut child = cat.spawn().unwrap();
        // Once it answers, it has its own environment.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(watched_in(&run), BTreeSet::from([child.id()]));
        assert!(!is_stale(&run));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_stale(&run));
    }

    /// However little /proc shows of the processes that write there.
    #[test]
    fn a_run_with_a_ledger_that_is_written_is_not_stale() {
        let base = Scratch::new("written");
        let run = left_over(&base.0, &Surroundings::current());
        let ledgers = run.join(Marker::of(&run).unwrap().ledgers.to_string());
        let open = File::create(ledgers.join("1-0011223344556677.lwl")).unwrap();
        assert!(!is_stale(&run));
        drop(open);
        // A child that another test has just forked has the descriptor until it executes something.
        while !is_stale(&run) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_kept_run_stays() {
        let base = Scratch::new("keep");
        let mut dir = RunDir::create(Some(&base.0), &Surroundings::current()).unwrap();
        dir.keep();
        let path = dir.path().to_owned();
        drop(dir);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        drop(RunDir::create(Some(&base.0), &Surroundings::current()).unwrap());
        assert!(path.exists());
        assert!(Marker::of(&path).is_some(), "its ledgers are still known");
    }

    /// Names that somebody else has taken.
    #[test]
    fn a_base_of_its_own_where_the_usual_ones_are_taken() {
        let base = Scratch::new("taken");
        let around = Surroundings {
            // Nobody's: whatever is there belongs to somebody else.
            uid: u32::MAX - 1,
            runtime_dir: None,
            tmpdir: Some(base.0.clone().into()),
        };
        let dir = RunDir::create_in_private(&base.0, &around).unwrap();
        let private = dir.path().parent().unwrap().to_owned();
        let name = private.file_name().unwrap().to_str().unwrap();
        let token = name.strip_prefix("lockwright-4294967294-").unwrap();
        assert!(Token::parse(token).is_some());
        drop(dir);
        assert!(!private.exists());
        let mut killed = RunDir::create_in_private(&base.0, &around).unwrap();
        killed.abandon();
        let left = killed.path().to_owned();
        drop(killed);
        assert!(left.exists());
        drop(RunDir::create_in_private(&base.0, &around).unwrap());
        assert!(!left.parent().unwrap().exists(), "with what was left in it");
    }

    #[test]
    fn an_unwritable_base_names_the_option() {
        let base = Scratch::new("file");
        fs::write(base.0.join("file"), "").unwrap();
        let error =
            RunDir::create(Some(&base.0.join("file")), &Surroundings::current()).unwrap_err();
        assert!(error.to_string().contains("--ledger-dir"), "{error}");
    }

    #[test]
    fn a_base_that_others_can_write_is_not_ours() {
        let base = Scratch::new("foreign");
        let around = Surroundings::current();
        let open = base.0.join("open");
        make_dir(&open, 0o777).unwrap();
        assert!(make_own(&open, &around).is_err());
        std::os::unix::fs::symlink(&base.0, base.0.join("link")).unwrap();
        assert!(make_own(&base.0.join("link"), &around).is_err());
        make_own(&base.0.join("own"), &around).unwrap();
        fs::set_permissions(base.0.join("own"), Permissions::from_mode(0o755)).unwrap();
        make_own(&base.0.join("own"), &around).unwrap();
        let mode = base.0.join("own").metadata().unwrap().mode() & 0o777;
        assert_eq!(mode, around.way_mode(), "nobody else can list it");
    }

    #[test]
    fn only_ledgers_are_ledgers() {
        let base = Scratch::new("list");
        for name in ["2-b.lwl", "1-a.lwl", "lock", "liblockwright.so"] {
            fs::write(base.0.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", base.0.join("3-c.lwl")).unwrap();
        let names: Vec<_> = ledgers_in(&base.0).unwrap();
        assert_eq!(names, [base.0.join("1-a.lwl"), base.0.join("2-b.lwl")]);
        assert_eq!(writer_of(&names[0]), None);
    }
}
