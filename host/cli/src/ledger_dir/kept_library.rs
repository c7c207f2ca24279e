//! A library that this binary carries, in the base from one run to the next: a run has a second name
//! of the file in its own directory. Writing and removing the library takes longer than everything
//! else in a run of a short program.
//!
//! It is kept only in a base of this user's own and in memory. Nobody else can have put or changed a
//! file there, and no crash leaves half of one. There is one of each library: that of another version
//! replaces it. Runs that use the former are not disturbed, as each has its own name of it.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::folder::{Folder, effective_user};
use super::token::Token;

/// Others have to be able to load it, whichever user a process of the run has become.
const MODE: u32 = 0o755;

/// A library that this binary carries.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// What it is called where it is loaded from: `lib*.so`.
    pub name: &'static str,
    /// The file.
    pub contents: &'static [u8],
    /// What tells it from those of other versions: 16 hexadecimal digits.
    pub id: &'static str,
}

impl Carried {
    /// What a kept library of any version begins with.
    fn prefix(&self) -> String {
        format!("{}-", self.name.trim_end_matches(".so"))
    }

    fn kept_name(&self) -> String {
        format!("{}{}.so", self.prefix(), self.id)
    }

    /// Whether `name` is that of a kept library of any version.
    fn is_kept_name(&self, name: &OsStr) -> bool {
        let name = name.to_str().and_then(|name| name.strip_prefix(&self.prefix()));
        name.and_then(|name| name.strip_suffix(".so"))
            .is_some_and(|id| id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// Whether the file at `path` is as this user has made it.
    fn is_at(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|meta| {
            meta.is_file()
                && meta.uid() == effective_user()
                && meta.mode() & 0o7777 == MODE
                && meta.len() == self.contents.len() as u64
        })
    }
}

/// Puts the `library` into the directory `run`, which is at `path`, as a second name of the one that
/// is kept in `base`; first keeps it there, if it is not there yet.
///
/// # Errors
/// If it cannot be done: there is nothing of that name in `run` then.
pub fn give(library: &Carried, base: &Folder, run: &Folder, path: &Path) -> io::Result<()> {
    let kept = library.kept_name();
    let link = || base.link(OsStr::new(&kept), run, OsStr::new(library.name));
    match link() {
        Ok(()) if library.is_at(&path.join(library.name)) => return Ok(()),
        Ok(()) => run.remove_file(OsStr::new(library.name))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    keep(library, base, &kept)?;
    link()
}

fn keep(library: &Carried, base: &Folder, kept: &str) -> io::Result<()> {
    for name in base.names()?.iter().filter(|name| library.is_kept_name(name)) {
        let _ = base.remove_file(name);
    }
    // Under its own name only once it is whole: others may look for it already.
    let new = format!("{kept}.{}", Token::new()?);
    let written = base.create(&new).and_then(|mut file| {
        file.write_all(library.contents)?;
        file.set_permissions(Permissions::from_mode(MODE))
    });
    let renamed = written.and_then(|()| base.rename(OsStr::new(&new), base, OsStr::new(kept)));
    renamed.inspect_err(|_| drop(base.remove_file(OsStr::new(&new))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Carried = Carried { name: "libx.so", contents: b"old", id: "00112233445566ff" };
    const NEW: Carried = Carried { name: "libx.so", contents: b"newer", id: "0011223344556600" };

    /// A base and a run's directory in it.
    fn folders(name: &str) -> (std::path::PathBuf, Folder, Folder) {
        let path = std::env::temp_dir().join(format!("lw-kept-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("run")).unwrap();
        (path.clone(), Folder::open(&path).unwrap(), Folder::open(&path.join("run")).unwrap())
    }

    #[test]
    fn it_is_written_once_and_replaced_by_another_version() {
        let (path, base, run) = folders("once");
        let in_run = path.join("run/libx.so");
        let inode = |path: &Path| path.metadata().unwrap().ino();
        give(&OLD, &base, &run, &path.join("run")).unwrap();
        let first = inode(&in_run);
        assert_eq!(std::fs::read(&in_run).unwrap(), OLD.contents);
        std::fs::remove_file(&in_run).unwrap();
        give(&OLD, &base, &run, &path.join("run")).unwrap();
        assert_eq!(inode(&in_run), first, "the same file");
        assert_eq!(
            give(&OLD, &base, &run, &path).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );

        std::fs::create_dir(path.join("other")).unwrap();
        let other = Folder::open(&path.join("other")).unwrap();
        give(&NEW, &base, &other, &path.join("other")).unwrap();
        assert_eq!(std::fs::read(path.join("other/libx.so")).unwrap(), NEW.contents);
        assert_eq!(std::fs::read(&in_run).unwrap(), OLD.contents, "in use");
        let kept = base.names().unwrap().into_iter().filter(|name| NEW.is_kept_name(name)).count();
        assert_eq!(kept, 1);
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn what_is_not_as_it_was_made_is_replaced() {
        let (path, base, run) = folders("damaged");
        let kept = path.join(OLD.kept_name());
        let damages: [fn(&Path); 3] = [
            |kept| std::fs::write(kept, "shorter or longer").unwrap(),
            |kept| std::fs::set_permissions(kept, Permissions::from_mode(0o777)).unwrap(),
            |kept| {
                std::fs::remove_file(kept).unwrap();
                std::os::unix::fs::symlink("/etc/passwd", kept).unwrap();
            },
        ];
        for damage in damages {
            give(&OLD, &base, &run, &path.join("run")).unwrap();
            std::fs::remove_file(path.join("run/libx.so")).unwrap();
            damage(&kept);
            give(&OLD, &base, &run, &path.join("run")).unwrap();
            assert!(OLD.is_at(&path.join("run/libx.so")) && OLD.is_at(&kept));
            std::fs::remove_file(path.join("run/libx.so")).unwrap();
        }
        std::fs::remove_dir_all(path).unwrap();
    }
}
