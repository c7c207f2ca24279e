//! Whether what lockwright says after a program must begin with a line break: the program's last
//! line may have none.
//!
//! The last line of a terminal cannot be read, so there is always a break, as `perf stat` and the
//! shell's `time` make one. The last line of a file can be read. A pipe matters if the program's
//! output may be in it.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// For what is written to `stream`, where a program has written that had standard output and error
/// as they are here.
pub fn is_due(stream: BorrowedFd<'_>) -> bool {
    if stream.is_terminal() {
        return true;
    }
    let Ok(of) = metadata(stream) else { return false };
    if of.is_file() {
        return last_byte(stream).is_ok_and(|byte| byte.is_some_and(|byte| byte != b'\n'));
    }
    // Programs write to standard output; to standard error whole lines, or nothing.
    let shares = |stdout: &Metadata| (stdout.dev(), stdout.ino()) == (of.dev(), of.ino());
    of.file_type().is_fifo() && metadata(io::stdout().as_fd()).is_ok_and(|stdout| shares(&stdout))
}

fn metadata(stream: BorrowedFd<'_>) -> io::Result<Metadata> {
    File::from(stream.try_clone_to_owned()?).metadata()
}

/// `None`: there is none.
fn last_byte(stream: BorrowedFd<'_>) -> io::Result<Option<u8>> {
    // By its own description: it may be open for writing only, and has a position that others count
    // on.
    let mut file = File::open(format!("/proc/self/fd/{}", stream.as_raw_fd()))?;
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(Some(byte[0]))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_tells_how_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = File::create(dir.path().join("output")).unwrap();
        assert!(!is_due(file.as_fd()), "empty");
        file.write_all(b"half a line").unwrap();
        assert!(is_due(file.as_fd()));
        file.write_all(b"\n").unwrap();
        assert!(!is_due(file.as_fd()));
    }
}
