//! Opens files that somebody else could have put where they are: a named pipe would have the reader
//! wait for ever, a device or a lease would do worse, and a symbolic link in a place of ours leads
//! to a file that is not. So only regular files are opened, without waiting, and no more of them is
//! read than makes sense.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use crate::arch::O_NOFOLLOW;

/// Flags of open(2) that all machines share (this crate has no libc); `O_CLOEXEC` is added by std.
const O_NOCTTY: i32 = 0o400;
/// Also has a lease that somebody took on the file be an error, instead of being waited for.
const O_NONBLOCK: i32 = 0o4000;

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened; [`io::ErrorKind::InvalidInput`] where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, 0)
}

/// As [`open`], of a file that is not sparse as ledgers are: in one that is almost all hole, a
/// reader that believes its length reads zeros for hours.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::InvalidInput`] where there is too little in it, too.
pub fn open_solid(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    let meta = file.metadata()?;
    match meta.len() <= most_for(meta.blocks().saturating_mul(512)) {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is next to all hole")),
    }
}

/// How long a part of a file may be that has `stored` bytes of data, for what is in it to be worth
/// reading. File systems that compress, and copies in which runs of zeros have become holes, stay
/// far below.
pub fn most_for(stored: u64) -> u64 {
    (64 << 20) + stored.saturating_mul(16)
}

/// As [`open`], of a file that lockwright has made itself: no symbolic link, no second name of
/// another file, and owned by `owner`.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::PermissionDenied`] where it is somebody else's.
pub fn open_own(path: &Path, owner: u32) -> io::Result<File> {
    let file = open_with(path, O_NOFOLLOW)?;
    let meta = file.metadata()?;
    match meta.uid() == owner && meta.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is another user's")),
    }
}

fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let flags = flags | O_NONBLOCK | O_NOCTTY;
    regular(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
}

/// The file, if it is a regular one.
///
/// # Errors
/// As [`open`].
pub fn regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// What is in a regular file, at most `most` bytes.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::FileTooLarge`] where there is more.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, most)
}

/// As [`read`], of a file that the user names: also of a pipe that this process was given, as
/// shells hand one on for `<(...)`. Nobody else can have put that there.
///
/// # Errors
/// As [`read`].
pub fn read_input(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    match given.iter().any(|given| path.starts_with(given)) {
        true => read_all(File::open(path)?, most),
        false => read(path, most),
    }
}

/// As [`read_input`], as text.
///
/// # Errors
/// As [`read_input`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_input_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_input(path, most)?;
    String::from_utf8(bytes).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

/// The rest of a file, at most `most` bytes.
///
/// # Errors
/// As [`read`].
pub fn read_all(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            std::format!("it has more than {most} bytes"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn pipes_devices_links_and_what_is_too_large() {
        let dir = std::env::temp_dir().join(std::format!("lw-file-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let [plain, pipe, link, twin] = ["plain", "pipe", "link", "twin"].map(|n| dir.join(n));
        fs::write(&plain, "five!").unwrap();
        let owner = fs::metadata(&plain).unwrap().uid();
        let kind = |result: io::Result<File>| result.unwrap_err().kind();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink(&plain, &link).unwrap();
        assert_eq!(read(&plain, 5).unwrap(), b"five!");
        assert_eq!(read_input_text(&link, 5).unwrap(), "five!");
        assert_eq!(read(&plain, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(open(&pipe)), io::ErrorKind::InvalidInput);
        assert_eq!(kind(open(Path::new("/dev/zero"))), io::ErrorKind::InvalidInput);
        assert_eq!(kind(open(&dir)), io::ErrorKind::IsADirectory);
        open_solid(&plain).unwrap();
        let hole = File::create(dir.join("hole")).unwrap();
        hole.set_len(64 << 20).unwrap();
        open_solid(&dir.join("hole")).unwrap();
        hole.set_len(1 << 40).unwrap();
        assert_eq!(kind(open_solid(&dir.join("hole"))), io::ErrorKind::InvalidInput);
        open_own(&plain, owner).unwrap();
        assert_eq!(kind(open_own(&plain, owner + 1)), io::ErrorKind::PermissionDenied);
        assert_eq!(open_own(&link, owner).unwrap_err().raw_os_error(), Some(40), "ELOOP");
        fs::hard_link(&plain, &twin).unwrap();
        assert_eq!(kind(open_own(&plain, owner)), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(dir).unwrap();
    }
}
