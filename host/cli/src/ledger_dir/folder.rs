//! A directory that is open: what is done in it is done there, whatever somebody makes of its path
//! meanwhile.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use lockwright_ledger::file;

const AS_FOLDER: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// An open directory.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens the directory at `path`, which is no symbolic link.
    ///
    /// # Errors
    /// If it is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        Ok(Self(OpenOptions::new().read(true).custom_flags(flags).open(path)?))
    }

    /// Opens the directory `name` in it, likewise.
    ///
    /// # Errors
    /// If there is none.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        self.open_at(name, AS_FOLDER, 0).map(Self)
    }

    /// Makes the directory `name`, which is not there yet, with a mode that the umask does not
    /// narrow.
    ///
    /// # Errors
    /// If it is there, or cannot be made.
    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<Self> {
        let text = terminated(name)?;
        // SAFETY: a descriptor of ours and a terminated name.
        checked(unsafe { libc::mkdirat(self.fd(), text.as_ptr(), 0o700) })?;
        let made = self.folder(name)?;
        made.set_mode(mode)?;
        Ok(made)
    }

    /// Makes the file `name`, which must be new, even if another user has put something in its
    /// place.
    ///
    /// # Errors
    /// If something is there, or it cannot be made.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags =
            libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        self.open_at(OsStr::new(name), flags, 0o600)
    }

    /// Opens the file `name`, which this user has made.
    ///
    /// # Errors
    /// If it is not there, or is not such.
    pub fn own_file(&self, name: &str, flags: i32) -> io::Result<File> {
        let flags = flags | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = file::regular(self.open_at(OsStr::new(name), flags, 0)?)?;
        let meta = file.metadata()?;
        match meta.uid() == effective_user() && meta.nlink() == 1 {
            true => Ok(file),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    /// Makes a pipe, which must be new, and opens it for reading and writing: a reader sees no end of it while nobody writes.
    ///
    /// # Errors
    /// If something is there, or it cannot be made.
    pub fn make_pipe(&self, name: &str) -> io::Result<File> {
        let text = terminated(OsStr::new(name))?;
        // SAFETY: a descriptor of ours and a terminated name.
        checked(unsafe { libc::mkfifoat(self.fd(), text.as_ptr(), 0o600) })?;
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        self.open_at(OsStr::new(name), flags, 0)
    }

    /// The same directory, open once more.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    fn open_at(&self, name: &OsStr, flags: i32, mode: libc::c_uint) -> io::Result<File> {
        let name = terminated(name)?;
        // SAFETY: a descriptor of ours and a terminated name.
        let fd = checked(unsafe { libc::openat(self.fd(), name.as_ptr(), flags, mode) })?;
        // SAFETY: opened just now, owned by nobody else.
        Ok(unsafe { File::from_raw_fd(fd) })
    }

    /// Gives the file or directory `from` in it the name `to` in `other`.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn rename(&self, from: &OsStr, other: &Self, to: &OsStr) -> io::Result<()> {
        let (from, to) = (terminated(from)?, terminated(to)?);
        // SAFETY: descriptors of ours and terminated names.
        checked(unsafe { libc::renameat(self.fd(), from.as_ptr(), other.fd(), to.as_ptr()) })?;
        Ok(())
    }

    /// Gives the file `from` in it a second name, `to` in `other`.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn link(&self, from: &OsStr, other: &Self, to: &OsStr) -> io::Result<()> {
        let (from, to) = (terminated(from)?, terminated(to)?);
        // SAFETY: descriptors of ours and terminated names.
        checked(unsafe { libc::linkat(self.fd(), from.as_ptr(), other.fd(), to.as_ptr(), 0) })?;
        Ok(())
    }

    /// Removes a name, but no directory.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.unlink(name, 0)
    }

    /// Removes a directory, if it is empty.
    ///
    /// # Errors
    /// If it is not, or cannot be removed.
    pub fn remove_empty_folder(&self, name: &OsStr) -> io::Result<()> {
        self.unlink(name, libc::AT_REMOVEDIR)
    }

    fn unlink(&self, name: &OsStr, flags: i32) -> io::Result<()> {
        let name = terminated(name)?;
        // SAFETY: a descriptor of ours and a terminated name.
        checked(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), flags) })?;
        Ok(())
    }

    /// The names in it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        // What the path stands for here is the open directory.
        let entries = fs::read_dir(format!("/proc/self/fd/{}", self.fd()))?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Sets its mode.
    ///
    /// # Errors
    /// If it is not ours.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_permissions(Permissions::from_mode(mode))
    }

    /// What is known of it.
    ///
    /// # Errors
    /// None that could be met.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        self.0.metadata()
    }

    fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// This process's effective user id.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

fn terminated(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
