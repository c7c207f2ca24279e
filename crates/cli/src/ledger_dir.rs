//! Where ledgers lie: the base directory, the directory of one run in it, and who removes it when.
//!
//! A run's directory holds a file `lock` that the run's lockwright keeps locked. A directory whose
//! `lock` can be had is therefore left over from a killed lockwright, and the next one removes it,
//! unless some process still writes there. A kept directory has no `lock`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use lockwright_ledger::layout;

use crate::error::{Error, Result};

/// Extension of ledger files.
pub const EXTENSION: &str = "lwl";

/// Space that a ledger directory must have left: the preload library and a small program's ledger.
const MIN_SPACE: u64 = 1 << 20;

const LOCK: &str = "lock";

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
            // SAFETY: geteuid has no preconditions and cannot fail.
            uid: unsafe { libc::geteuid() },
            runtime_dir: std::env::var_os("XDG_RUNTIME_DIR"),
            tmpdir: std::env::var_os("TMPDIR"),
        }
    }

    /// Base directories to try, best first. Memory-backed ones come first: a ledger on a disk would
    /// be written back all the time.
    pub fn candidates(&self) -> Vec<PathBuf> {
        let absolute = |dir: &Option<OsString>| {
            dir.as_ref().map(PathBuf::from).filter(|dir| dir.is_absolute())
        };
        let own = format!("lockwright-{}", self.uid);
        let mut bases = Vec::new();
        // Root's runtime directory is closed to the accounts that servers started by root change to.
        if self.uid != 0
            && let Some(dir) = absolute(&self.runtime_dir)
        {
            bases.push(dir.join("lockwright"));
        }
        bases.push(Path::new("/dev/shm").join(&own));
        bases.push(absolute(&self.tmpdir).unwrap_or_else(|| PathBuf::from("/tmp")).join(&own));
        bases
    }

    /// Mode of a run's directory. Started by root, a program may drop its privileges and then fork:
    /// the child must be able to create its ledger, but nobody needs to list or remove others'.
    fn run_mode(&self) -> u32 {
        if self.uid == 0 { 0o1733 } else { 0o700 }
    }

    fn base_mode(&self) -> u32 {
        if self.uid == 0 { 0o711 } else { 0o700 }
    }
}

/// The directory of one run. Dropped without [`RunDir::keep`], it is removed with all that is in it.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Twins of `path` under other bases.
    annexes: Vec<PathBuf>,
    /// Locked as long as this lockwright lives; one for each of the above.
    locks: Vec<File>,
    keep: bool,
}

impl RunDir {
    /// Makes the directory of this run, in `chosen` or in the first usable default place.
    ///
    /// # Errors
    /// If none can be written, or has space left.
    pub fn create(chosen: Option<&Path>, around: &Surroundings) -> Result<Self> {
        let bases = chosen.map_or_else(|| around.candidates(), |base| vec![base.to_owned()]);
        let mut failures = Vec::new();
        for base in bases {
            match Self::create_in(&base, chosen.is_some(), around) {
                Ok(dir) => return Ok(dir),
                Err(reason) => failures.push(format!("{}: {reason}", base.display())),
            }
        }
        let error = Error::new("no directory for the ledgers");
        let error = failures.into_iter().fold(error, Error::note);
        Err(error
            .help("name a writable directory with space left, best on a tmpfs: --ledger-dir DIR"))
    }

    fn create_in(base: &Path, chosen: bool, around: &Surroundings) -> io::Result<Self> {
        if chosen {
            fs::create_dir_all(base)?;
        } else {
            make_own(base, around)?;
        }
        let base = base.canonicalize()?;
        remove_stale(&base);
        let free = free_space(&base)?;
        if free < MIN_SPACE {
            let (free, least) = (free >> 10, MIN_SPACE >> 10);
            return Err(io::Error::other(format!("full: {free} KiB free, {least} KiB needed")));
        }
        let path = base.join(run_name());
        let lock = make_locked(&path, around.run_mode())?;
        Ok(Self { path, annexes: Vec::new(), locks: vec![lock], keep: false })
    }

    /// The directory; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory of this run for files that are mapped executable, which not every file system
    /// allows. `usable` decides. `None` if there is no such place.
    pub fn executable_home(
        &mut self,
        around: &Surroundings,
        usable: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        if usable(&self.path) && !forbids_exec(&self.path) {
            return Some(self.path.clone());
        }
        for base in around.candidates() {
            let annex = base.join(self.path.file_name()?);
            if self.annexes.contains(&annex) {
                return Some(annex);
            }
            if !usable(&annex) || make_own(&base, around).is_err() || forbids_exec(&base) {
                continue;
            }
            if let Ok(lock) = make_locked(&annex, around.base_mode()) {
                self.locks.push(lock);
                self.annexes.push(annex.clone());
                return Some(annex);
            }
        }
        None
    }

    /// Leaves the directory where it is, for good.
    pub fn keep(&mut self) {
        self.keep = true;
        let _ = fs::remove_file(self.path.join(LOCK));
    }

    /// Leaves the directory where it is, for the next lockwright to remove once nobody writes there.
    pub fn abandon(&mut self) {
        self.keep = true;
        self.annexes.clear();
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let main = (!self.keep).then_some(&self.path);
        self.annexes.iter().chain(main).for_each(|dir| remove(dir));
    }
}

/// All ledgers in a run's directory, in order of name.
///
/// # Errors
/// If the directory cannot be read.
pub fn ledgers_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut ledgers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // No symlinks: under root the directory is writable by others.
        if Path::new(&entry.file_name()).extension().is_some_and(|e| e == EXTENSION)
            && entry.file_type()?.is_file()
        {
            ledgers.push(entry.path());
        }
    }
    ledgers.sort();
    Ok(ledgers)
}

/// The process that has the ledger mapped, if it still runs. The name says which one to look at.
pub fn writer_of(ledger: &Path) -> Option<u32> {
    let name = ledger.file_name()?.to_str()?;
    let pid: u32 = name.split('-').next()?.parse().ok()?;
    // The id may belong to another process by now, or to one of another pid namespace.
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    let name = name.as_bytes();
    maps.windows(name.len()).any(|window| window == name).then_some(pid)
}

/// The process that writes to an annex of a ledger's file, if it still runs. `own_id` is its id in its own namespace.
pub fn writer_of_annex(ledger: &Path, part: u32, own_id: u32) -> Option<u32> {
    let name = ledger.file_name()?.to_str()?;
    let (offset, bytes) = layout::part(ledger.metadata().ok()?.len(), part)?;
    let writes = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let is_written = fields.next().is_some_and(|mode| mode.starts_with("rw"));
        let at = fields.next().and_then(|at| u64::from_str_radix(at, 16).ok());
        is_written && at.is_some_and(|at| (offset..offset + bytes).contains(&at))
    };
    let mut pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let maps = fs::read(entry.path().join("maps")).ok()?;
        let maps = String::from_utf8_lossy(&maps);
        maps.lines().any(|line| line.contains(name) && writes(line)).then_some(pid)
    });
    // What it has forked has the annex mapped, too.
    pids.find(|&pid| innermost_id(pid) == Some(own_id))
}

/// The id that a process has in its own namespace.
pub fn innermost_id(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    ids.split_whitespace().last()?.parse().ok()
}

/// Running processes that write to a run's directory, or would if they forked or executed another
/// program: as far as this user may know.
pub fn watched_in(run: &Path) -> BTreeSet<u32> {
    let mut pids: BTreeSet<u32> =
        ledgers_in(run).unwrap_or_default().iter().filter_map(|ledger| writer_of(ledger)).collect();
    // A process may have overwritten its environment to show a title; that one has a ledger.
    let name = run.as_os_str().as_encoded_bytes();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|&pid| pid != std::process::id()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        if variables.any(|variable| variable.strip_prefix(b"LOCKWRIGHT_DIR=") == Some(name)) {
            pids.insert(pid);
        }
    }
    pids
}

/// Cuts a ledger down to its `used` bytes, so that copying it does not copy a hole.
///
/// # Errors
/// If the file is not ours to change.
pub fn trim(ledger: &Path, used: u64) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(ledger)?;
    let meta = file.metadata()?;
    if meta.is_file() && used < meta.len() {
        file.set_len(used)?;
    }
    Ok(())
}

/// `<seconds>-<pid>`: sorts by time, and is unique among the runs that are alive.
fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", now.as_secs(), std::process::id())
}

/// Whether `name` is one that [`run_name`] makes.
fn is_run_name(name: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    name.split_once('-').is_some_and(|(seconds, pid)| digits(seconds) && digits(pid))
}

/// Makes a directory whose mode the umask does not narrow.
fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a directory with its lock, which appears in its place locked: no other lockwright can take
/// the directory for a left-over one in between.
fn make_locked(path: &Path, mode: u32) -> io::Result<File> {
    make_dir(path, mode)?;
    let new = path.join("lock.new");
    let lock = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    try_lock(&lock)?;
    fs::rename(new, path.join(LOCK))?;
    Ok(lock)
}

/// Makes a base directory in a place that others may write, or takes the one that is there, but only
/// if nobody else can have put something into it.
fn make_own(base: &Path, around: &Surroundings) -> io::Result<()> {
    match make_dir(base, around.base_mode()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let meta = fs::symlink_metadata(base)?;
    if !meta.is_dir() {
        return Err(io::Error::other("not a directory"));
    }
    if meta.uid() != around.uid || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("belongs to, or is writable by, another user"));
    }
    Ok(())
}

/// What a directory is called while it is removed.
const GONE: &str = "gone";

/// Removes a run's directory. Renamed first, it cannot get new ledgers meanwhile.
fn remove(dir: &Path) {
    let gone = dir.with_extension(GONE);
    let dir = if fs::rename(dir, &gone).is_ok() { &gone } else { dir };
    // Nobody to tell: what stays is removed by the next run.
    let _ = fs::remove_dir_all(dir);
}

/// Removes the directories of runs whose lockwright was killed.
fn remove_stale(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let run =
            Path::new(&name).file_stem().and_then(|stem| stem.to_str()).is_some_and(is_run_name)
                && entry.file_type().is_ok_and(|kind| kind.is_dir());
        let gone = path.extension().is_some_and(|extension| extension == GONE);
        if run && (gone || is_stale(&path)) {
            remove(&path);
        }
    }
}

fn is_stale(run: &Path) -> bool {
    let Ok(lock) =
        OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(run.join(LOCK))
    else {
        return false;
    };
    try_lock(&lock).is_ok() && watched_in(run).is_empty()
}

/// Takes the lock that goes with the open file, and with it when the process ends in whatever way.
fn try_lock(file: &File) -> io::Result<()> {
    // SAFETY: flock on a descriptor we own.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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
    use std::io::{Read, Write};
    use std::process::Stdio;

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

    #[test]
    fn a_run_cleans_up_after_itself_and_after_killed_ones() {
        let base = Scratch::new("clean");
        let around = Surroundings::current();
        let killed = base.0.join("12-34");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        fs::write(killed.join("34-00.lwl"), "").unwrap();
        let kept = base.0.join("12-35");
        fs::create_dir(&kept).unwrap();
        let foreign = base.0.join("notes");
        fs::create_dir(&foreign).unwrap();
        let half_removed = base.0.join("12-36.gone");
        fs::create_dir(&half_removed).unwrap();

        let dir = RunDir::create(Some(&base.0), &around).unwrap();
        assert!(!killed.exists() && !half_removed.exists() && kept.exists() && foreign.exists());
        let other = RunDir::create_in(&base.0, true, &around);
        assert!(other.is_err(), "same second, same pid: the name is taken");
        let path = dir.path().to_owned();
        assert!(path.is_dir() && !is_stale(&path), "locked by us");
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_with_a_process_in_it_is_not_stale() {
        let base = Scratch::new("busy");
        let run = base.0.join("12-34");
        fs::create_dir(&run).unwrap();
        fs::write(run.join(LOCK), "").unwrap();
        assert!(is_stale(&run));
        let mut cat = std::process::Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::piped()).env("LOCKWRIGHT_DIR", &run);
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

    #[test]
    fn a_kept_run_stays() {
        let base = Scratch::new("keep");
        let mut dir = RunDir::create(Some(&base.0), &Surroundings::current()).unwrap();
        dir.keep();
        let path = dir.path().to_owned();
        drop(dir);
        assert!(path.exists());
        remove_stale(&base.0);
        assert!(path.exists());
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
        make_own(&base.0.join("own"), &around).unwrap();
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
