//! Which processes write to a run's ledgers.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lockwright_ledger::{file, layout};
use memchr::memmem;

use super::folder::effective_user;
use super::ledgers::ledgers_in;

/// A mapping of a process's, by its line in /proc/PID/maps: `address mode offset device inode
/// path`.
struct Mapping<'m> {
    is_shared: bool,
    is_writable: bool,
    offset: u64,
    inode: u64,
    path: &'m str,
}

impl<'m> Mapping<'m> {
    fn parse(line: &'m str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ').skip(1);
        let mode = fields.next()?;
        let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        let path = fields.next().unwrap_or_default().trim_start();
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let (is_shared, is_writable) = (mode.ends_with('s'), mode.starts_with("rw"));
        Some(Self { is_shared, is_writable, offset, inode, path })
    }

    /// Whether it is one of this file: by its inode number, as device numbers have different forms,
    /// and by its name.
    fn is_of(&self, name: &OsStr, inode: u64) -> bool {
        self.is_shared && self.inode == inode && Path::new(self.path).file_name() == Some(name)
    }
}

/// Whether the process has the file mapped such that it `fits`.
fn maps(pid: u32, ledger: &Path, fits: impl Fn(&Mapping<'_>) -> bool) -> bool {
    let (Some(name), Ok(meta)) = (ledger.file_name(), ledger.symlink_metadata()) else {
        return false;
    };
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let mut own = maps.lines().filter_map(Mapping::parse).filter(|m| m.is_of(name, meta.ino()));
    own.any(|mapping| fits(&mapping)) && may_write(pid, meta.uid())
}

/// Whether the process is of the user that owns the ledger, or that is ours anyway. A user may
/// write to his file what he likes: nobody else's process is judged by it.
fn may_write(pid: u32, owner: u32) -> bool {
    if owner == effective_user() {
        return true;
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    ids.split_whitespace().take(2).any(|id| id.parse() == Ok(owner))
}

/// The process that a ledger's name says has made it.
pub fn named_writer(ledger: &Path) -> Option<u32> {
    ledger.file_name()?.to_str()?.split('-').next()?.parse().ok()
}

/// The process that has the ledger mapped, if it still runs. The name says which one to look at.
pub fn writer_of(ledger: &Path) -> Option<u32> {
    let pid = named_writer(ledger)?;
    // The id may belong to another process by now, or to one of another pid namespace.
    maps(pid, ledger, |_| true).then_some(pid)
}

/// Those of the ledgers whose processes still run.
pub fn with_writers(ledgers: &[PathBuf]) -> impl Iterator<Item = &Path> {
    ledgers.iter().map(PathBuf::as_path).filter(|ledger| writer_of(ledger).is_some())
}

/// The process that writes to an annex of a ledger's file, if it still runs. `own_id` is its id in
/// its own namespace.
pub fn writer_of_annex(ledger: &Path, part: u32, own_id: u32) -> Option<u32> {
    let (offset, bytes) = layout::part(ledger.metadata().ok()?.len(), part)?;
    let writes = |mapping: &Mapping<'_>| {
        mapping.is_writable && (offset..offset + bytes).contains(&mapping.offset)
    };
    let mut pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        maps(pid, ledger, writes).then_some(pid)
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

/// Whether any process has the file open for writing, or mapped: in whatever namespace it is, and
/// whichever user may look into it. The kernel gives nobody a read lease on such a file.
fn has_writer(file: &File) -> io::Result<bool> {
    // SAFETY: a descriptor of ours, and no memory.
    let lease = |kind: i32| unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    if lease(libc::F_RDLCK) == 0 {
        lease(libc::F_UNLCK);
        return Ok(false);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        error => Err(error),
    }
}

/// Whether a process has the ledger mapped; where the file system knows no leases, or the file is
/// not ours, as far as /proc tells.
pub fn is_written(ledger: &Path) -> bool {
    let asked = file::open(ledger).and_then(|file| has_writer(&file));
    asked.unwrap_or_else(|_| {
        let mut entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.any(|entry| {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            pid.is_some_and(|pid| maps(pid, ledger, |_| true))
        })
    })
}

/// What the preload library gets the run's directory by.
const DIR_VARIABLE: &[u8] = b"LOCKWRIGHT_DIR=";

/// Running processes that write to a run's directory, or would if they forked or executed another
/// program: as far as this user may know.
pub fn watched_in(run: &Path) -> BTreeSet<u32> {
    let mut pids: BTreeSet<u32> =
        ledgers_in(run).unwrap_or_default().iter().filter_map(|ledger| writer_of(ledger)).collect();
    // A process may have overwritten its environment to show a title; that one has a ledger.
    let run = run.as_os_str().as_encoded_bytes();
    let is_below = |place: &[u8]| {
        place.strip_prefix(run).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    let (own, mut buffer) = (std::process::id(), Vec::new());
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|&pid| pid != own) else { continue };
        let environment = read_small(&format!("/proc/{pid}/environ"), &mut buffer);
        // Hardly any has it, and to look at each variable of each process takes longer than to read them.
        if memmem::find(environment, DIR_VARIABLE).is_none() {
            continue;
        }
        let mut variables = environment.split(|&byte| byte == 0);
        if variables.any(|variable| variable.strip_prefix(DIR_VARIABLE).is_some_and(is_below)) {
            pids.insert(pid);
        }
    }
    pids
}

/// What is in a file of the kernel's; as much as there is if it cannot be read to its end. It takes
/// two reads where std takes one for each doubling of its length, of which it knows nothing.
fn read_small<'b>(path: &str, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    let mut len = 0;
    if let Ok(mut file) = File::open(path) {
        loop {
            if buffer.len() == len {
                buffer.resize((2 * len).max(SMALL), 0);
            }
            match file.read(&mut buffer[len..]) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    &buffer[..len]
}

/// Longer than most environments.
const SMALL: usize = 1 << 15;

/// Cuts a ledger that nobody writes to any more down to its `used` bytes, so that copying it does
/// not copy a hole.
///
/// # Errors
/// If the file is not ours to change, or is written to.
pub fn trim(ledger: &Path, used: u64) -> io::Result<()> {
    if is_written(ledger) {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let file = fs::OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(ledger)?;
    let meta = file.metadata()?;
    if meta.is_file() && used < meta.len() {
        file.set_len(used)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_a_file() {
        let line = "7f0-7f1 rw-s 0000a000 00:19 77    /dev/shm/a b/34-00.lwl (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert!(mapping.is_of(OsStr::new("34-00.lwl"), 77) && mapping.is_writable);
        assert_eq!(mapping.offset, 0xa000);
        assert!(!mapping.is_of(OsStr::new("34-00.lwl"), 78), "another file of that name");
        assert!(!mapping.is_of(OsStr::new("4-00.lwl"), 77));
        let private = line.replace("rw-s", "rw-p");
        let private = Mapping::parse(&private).unwrap();
        assert!(!private.is_of(OsStr::new("34-00.lwl"), 77));
        assert!(Mapping::parse("7f0-7f1 rw-p 0 00:00 0").is_some_and(|m| m.path.is_empty()));
    }

    #[test]
    fn who_has_a_file_mapped_writes_to_it() {
        let dir = std::env::temp_dir().join(format!("lw-writers-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("0-00.lwl");
        fs::write(&path, vec![1; 4096]).unwrap();
        assert!(!is_written(&path));
        trim(&path, 4000).unwrap();
        let open = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert!(is_written(&path));
        assert_eq!(trim(&path, 100).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        // SAFETY: a new mapping of a file of that length, removed below.
        let at = unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), 4000, prot, libc::MAP_SHARED, open.as_raw_fd(), 0)
        };
        drop(open);
        assert!(is_written(&path), "mapped, though not open any more");
        // SAFETY: the mapping from above, which nobody else knows.
        unsafe { libc::munmap(at, 4000) };
        // A child that another test has just forked has it, too, until it executes something.
        while is_written(&path) {
            std::thread::yield_now();
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
