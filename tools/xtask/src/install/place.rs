//! Files put in their places. Each is written next to its place and moved there. A process that
//! runs the old one, or has it mapped, keeps that, and no file is ever half there.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::files::{File, What};

/// Makes the prefix and sees that it can be written to. Returns its absolute path.
///
/// # Errors
/// When it cannot.
pub fn prepare(prefix: &Path) -> Result<PathBuf, String> {
    let made = fs::create_dir_all(prefix).and_then(|()| {
        let probe = prefix.join(format!(".lockwright-{}", std::process::id()));
        fs::write(&probe, "")?;
        fs::remove_file(&probe)?;
        fs::canonicalize(prefix)
    });
    made.map_err(|error| refused(prefix, &error))
}

/// Installs one file. Returns where it is.
///
/// # Errors
/// When it cannot be read or written.
pub fn install(root: &Path, file: &File) -> Result<PathBuf, String> {
    let to = root.join(&file.to);
    let dir = to.parent().unwrap_or(root);
    fs::create_dir_all(dir).map_err(|error| refused(dir, &error))?;
    let beside = dir.join(format!(".lockwright-{}", std::process::id()));
    write(&beside, &file.what).and_then(|()| fs::rename(&beside, &to)).map_err(|error| {
        // What was written of it is of no use; that it cannot be removed would be the same error
        // again.
        let _ = fs::remove_file(&beside);
        refused(&to, &error)
    })?;
    Ok(to)
}

fn write(to: &Path, what: &What) -> io::Result<()> {
    let mode = match what {
        What::Link(target) => return symlink(target, to),
        What::Text(text) => fs::write(to, text).map(|()| 0o644)?,
        What::Copy(from) => fs::copy(from, to).map_err(|e| unread(from, &e)).map(|_| 0o644)?,
        What::Program(from) => fs::copy(from, to).map_err(|e| unread(from, &e)).map(|_| 0o755)?,
    };
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
}

/// A copy that fails names two files.
fn unread(from: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("copying {}: {error}", from.display()))
}

fn refused(path: &Path, error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\n  help: name a --prefix that you may write to, as ~/.local, or run this as root"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "\n  help: part of the path is a file; name another --prefix"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "\n  help: some 100 MB are needed"
        }
        _ => "",
    };
    format!("cannot install to {}: {error}{help}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(to: &str, text: &str) -> File {
        File { to: to.into(), what: What::Text(text.into()) }
    }

    #[test]
    fn files_replace_files_and_links_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = prepare(&dir.path().join("prefix")).unwrap();
        for version in ["old", "new"] {
            let to = install(&root, &text("lib/a", version)).unwrap();
            assert_eq!(fs::read_to_string(to).unwrap(), version);
            let link = File { to: "lib/b".into(), what: What::Link("a".into()) };
            assert_eq!(fs::read_to_string(install(&root, &link).unwrap()).unwrap(), version);
        }
        let program = File { to: "bin/c".into(), what: What::Program(root.join("lib/a")) };
        let to = install(&root, &program).unwrap();
        assert_eq!(fs::metadata(to).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(root.join("lib")).unwrap().count(), 2, "nothing is left behind");
    }

    #[test]
    fn errors_name_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let root = prepare(&dir.path().join("prefix")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let error = prepare(&root.join("file/prefix")).unwrap_err();
        assert!(
            error.contains("file/prefix") && error.contains("name another --prefix"),
            "{error}"
        );
        // Also root may not write there.
        let error = prepare(Path::new("/proc/lockwright")).unwrap_err();
        assert!(error.starts_with("cannot install to /proc/lockwright: "), "{error}");
        fs::write(root.join("lib"), "").unwrap();
        let error = install(&root, &text("lib/a", "")).unwrap_err();
        assert!(error.contains("lib") && error.contains("name another --prefix"), "{error}");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = refused(Path::new("/usr/lib"), &denied);
        assert!(error.contains("--prefix that you may write to"), "{error}");
    }

    #[test]
    fn what_was_not_built_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = prepare(&dir.path().join("prefix")).unwrap();
        let file = File { to: "bin/a".into(), what: What::Program("/nowhere/lockwright".into()) };
        let error = install(&root, &file).unwrap_err();
        assert!(error.contains("/nowhere/lockwright"), "{error}");
        assert_eq!(fs::read_dir(root.join("bin")).unwrap().count(), 0);
    }
}
