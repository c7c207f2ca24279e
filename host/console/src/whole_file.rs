//! A file that is written in one step: a reader finds either the old text or all of the new one. If
//! the new one cannot be written, because a disk is full for example, the old one stays.
//!
//! The new file takes the place of the old one. That is not for pipes and devices, nor for a file
//! that others know by another name or that belongs to somebody else: those are written in place,
//! as late as possible.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file to be written once it is known what goes in.
#[derive(Debug)]
pub struct WholeFile {
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// A new file takes this one's place.
    Replace(PathBuf, Contents),
    /// The file stays the one it is.
    InPlace(File),
}

/// What has been put into a file so far.
#[derive(Debug)]
enum Contents {
    /// These bytes.
    Kept(Vec<u8>),
    /// What is in the file: it may be large, and was not kept.
    Streamed,
}

impl WholeFile {
    /// Checks whether `path` can be written. What is in there stays, and where there is no file,
    /// there is none yet.
    ///
    /// # Errors
    /// If it cannot.
    pub fn open(path: &Path) -> io::Result<Self> {
        let way = match fs::metadata(path) {
            Ok(meta) => {
                let file = OpenOptions::new().write(true).open(path)?;
                let real = path.canonicalize().ok().filter(|_| !is_descriptor(path));
                match real.filter(|real| is_replaceable(real, &meta)) {
                    Some(real) => Way::Replace(real, Contents::Kept(Vec::new())),
                    None => Way::InPlace(file),
                }
            }
            // Not a link to nowhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                let (temporary, _) = create_beside(path)?;
                fs::remove_file(temporary)?;
                Way::Replace(path.to_owned(), Contents::Kept(Vec::new()))
            }
            Err(_) => Way::InPlace(File::create(path)?),
        };
        Ok(Self { way })
    }

    /// Writes `bytes` over what was there; to a pipe or device, after it.
    ///
    /// # Errors
    /// If that is not possible. What was there stays, unless it had to be written in place.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.way {
            Way::Replace(path, contents) => {
                *contents = Contents::Kept(bytes.to_vec());
                replace(path, |file| file.write_all(bytes))
            }
            Way::InPlace(file) => {
                begin(file)?;
                file.write_all(bytes)
            }
        }
    }

    /// As [`Self::put`], of what `write` writes, which may be large: it is not kept in memory.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn put_by(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut self.way {
            Way::Replace(path, contents) => {
                replace(path, |file| write(file))?;
                *contents = Contents::Streamed;
                Ok(())
            }
            Way::InPlace(file) => {
                begin(file)?;
                write(file)
            }
        }
    }

    /// Writes `bytes` after what was put in before.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.way {
            Way::Replace(path, Contents::Kept(kept)) => {
                kept.extend_from_slice(bytes);
                replace(path, |file| file.write_all(kept))
            }
            Way::Replace(path, Contents::Streamed) => replace(path, |file| {
                io::copy(&mut File::open(&*path)?, file)?;
                file.write_all(bytes)
            }),
            Way::InPlace(file) => file.write_all(bytes),
        }
    }
}

/// Whether the path stands for what is open already, wherever that is.
fn is_descriptor(path: &Path) -> bool {
    ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"]
        .iter()
        .any(|place| path.starts_with(place))
}

/// Whether a new file could replace this one without any user noticing.
fn is_replaceable(path: &Path, meta: &fs::Metadata) -> bool {
    if !meta.is_file() || meta.nlink() != 1 {
        return false;
    }
    let Ok((temporary, file)) = create_beside(path) else { return false };
    let own = file.metadata().map(|own| (own.uid(), own.gid()));
    fs::remove_file(temporary).is_ok() && own.is_ok_and(|own| own == (meta.uid(), meta.gid()))
}

/// A new file in the directory of `path`, and its name.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let new = |number: u32| {
        let name = format!(".lockwright-{}-{number}.new", std::process::id());
        let temporary = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok((temporary, file))
    };
    // A process that was killed may have left some.
    let is_taken = |made: &io::Result<_>| {
        made.as_ref().is_err_and(|error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists)
    };
    (0..10).map(new).find(|made| !is_taken(made)).unwrap_or_else(|| new(10))
}

/// A file that is written in place is written from its begin.
fn begin(file: &mut File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(())
}

/// Has a file that `write` fills take the place of the one at `path`, if there is one.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (temporary, mut file) = create_beside(path)?;
    let fill = || {
        write(&mut file)?;
        if let Ok(before) = path.metadata() {
            file.set_permissions(before.permissions())?;
        }
        fs::rename(&temporary, path)
    };
    let done = fill();
    if done.is_err() {
        // Nobody to tell, after all that.
        let _ = fs::remove_file(&temporary);
    }
    done
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    fn names(dir: &TempDir) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_changes_before_there_is_something_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "before").unwrap();
        let mut files = [&old, &new].map(|path| WholeFile::open(path).unwrap());
        assert_eq!(fs::read_to_string(&old).unwrap(), "before");
        assert_eq!(names(&dir), ["old"]);
        for file in &mut files {
            file.put(b"one").unwrap();
            file.put(b"two").unwrap();
            file.add(b", three").unwrap();
            file.put_by(|out| out.write_all(b"streamed").and_then(|()| out.write_all(b", too")))
                .unwrap();
        }
        for path in [&old, &new] {
            assert_eq!(fs::read_to_string(path).unwrap(), "streamed, too");
        }
        for file in &mut files {
            file.add(b", added").unwrap();
            file.add(b", once more").unwrap();
        }
        for path in [&old, &new] {
            assert_eq!(fs::read_to_string(path).unwrap(), "streamed, too, added, once more");
        }
        for file in &mut files {
            file.put(b"two").unwrap();
            file.add(b", three").unwrap();
        }
        for path in [&old, &new] {
            assert_eq!(fs::read_to_string(path).unwrap(), "two, three");
        }
        assert_eq!(names(&dir), ["new", "old"]);
    }

    #[test]
    fn modes_links_and_pipes_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("private"), "before").unwrap();
        fs::set_permissions(path("private"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("private", path("link")).unwrap();
        fs::write(path("twice"), "before").unwrap();
        fs::hard_link(path("twice"), path("other")).unwrap();
        symlink("made", path("nowhere")).unwrap();
        for name in ["link", "twice", "nowhere"] {
            WholeFile::open(&path(name)).unwrap().put(b"new").unwrap();
        }
        for name in ["private", "other", "made"] {
            assert_eq!(fs::read_to_string(path(name)).unwrap(), "new", "{name}");
        }
        assert_eq!(fs::metadata(path("private")).unwrap().mode() & 0o777, 0o600);
        assert!(path("link").is_symlink() && path("nowhere").is_symlink());
        let mut nothing = WholeFile::open(Path::new("/dev/null")).unwrap();
        nothing.put(b"new").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: &Path| WholeFile::open(path).unwrap_err().kind();
        assert_eq!(error(dir.path()), io::ErrorKind::IsADirectory);
        assert_eq!(error(&dir.path().join("no/file")), io::ErrorKind::NotFound);
    }

    #[test]
    fn where_the_new_one_does_not_fit_the_old_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        let mut file = WholeFile::open(&path).unwrap();
        file.put(b"before").unwrap();
        // Its directory is not there for a while.
        let away = dir.path().with_extension("away");
        fs::rename(dir.path(), &away).unwrap();
        assert!(file.put(b"new").is_err());
        assert!(file.put_by(|out| out.write_all(b"new")).is_err());
        fs::rename(&away, dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(names(&dir), ["report"]);
    }
}
