//! Finds the program as execvp(3) would, and says what was meant where it is not there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lockwright_console::error::{Error, Result, exit};

/// PATH where the environment has none, as in glibc.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that `name` runs.
///
/// # Errors
/// Not found (127) or found but not executable (126), each with what to do.
pub fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf> {
    let shown = name.to_string_lossy();
    if name.is_empty() {
        return Err(Error::with_code(exit::NOT_FOUND, "the program's name is empty"));
    }
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name)).map(|()| name.into());
    }
    let mut blocked = None;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        // An empty entry is the current directory.
        let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
        let file = dir.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(error) if error.code() == exit::NOT_RUNNABLE && !file.is_dir() => {
                blocked.get_or_insert(error);
            }
            Err(_) => {}
        }
    }
    if let Some(error) = blocked {
        return Err(error);
    }
    let error = Error::with_code(exit::NOT_FOUND, format!("program not found: `{shown}`"))
        .note("it is in none of the directories of PATH");
    Err(if executable(&Path::new(".").join(name)).is_ok() {
        error.help(format!("there is one in the current directory: `./{shown}`"))
    } else if shown.contains(' ') {
        error.help("give program and arguments as separate words, without quotes round them all")
    } else if Path::new(name).exists() {
        error.help(format!("there is a file of that name here, but it is no program: `./{shown}`"))
    } else {
        error.help("check the spelling, or give its path")
    })
}

/// Whether the file can be executed, as far as its kind and mode tell.
fn executable(file: &Path) -> Result<()> {
    let shown = file.display();
    let not_runnable =
        |what: &str| Error::with_code(exit::NOT_RUNNABLE, format!("cannot run `{shown}`: {what}"));
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::with_code(exit::NOT_FOUND, format!("program not found: `{shown}`"))
                .help("check the path; a relative one starts at the current directory"));
        }
        Err(error) => return Err(not_runnable(&error.to_string())),
    };
    if meta.is_dir() {
        return Err(not_runnable("it is a directory").help("name the program inside it"));
    }
    if !meta.is_file() {
        return Err(not_runnable("it is not a regular file"));
    }
    if !accessible(file) {
        let error = not_runnable("it is not executable");
        return Err(if meta.permissions().mode() & 0o111 == 0 {
            error.help(format!("if it is a program: `chmod +x {shown}`"))
        } else {
            error.help("its mode or mount does not allow you to execute it")
        });
    }
    Ok(())
}

/// access(2) for execution, with the effective ids, which exec(2) goes by.
fn accessible(file: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: `path` is a C string, and is only read.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// `a/tool` is not executable, `b/tool` is, `b/dir` is a directory.
    fn scratch(name: &str) -> Scratch {
        let dir =
            std::env::temp_dir().join(format!("lockwright-path-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("a")).unwrap();
        fs::create_dir_all(dir.join("b/dir")).unwrap();
        for (file, mode) in [("a/tool", 0o644), ("b/tool", 0o755), ("a/text", 0o644)] {
            fs::write(dir.join(file), "#!/bin/sh\n").unwrap();
            fs::set_permissions(dir.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        Scratch(dir)
    }

    #[test]
    fn the_first_executable_one_in_path() {
        let dir = scratch("first");
        let path = std::env::join_paths([dir.0.join("a"), dir.0.join("b")]).unwrap();
        assert_eq!(find(OsStr::new("tool"), Some(&path)).unwrap(), dir.0.join("b/tool"));
    }

    #[test]
    fn failures_have_the_codes_of_env() {
        let dir = scratch("codes");
        let path = std::env::join_paths([dir.0.join("a"), dir.0.join("b")]).unwrap();
        let code = |name: &Path| find(name.as_os_str(), Some(&path)).unwrap_err().code();
        assert_eq!(code(Path::new("no-such-tool")), exit::NOT_FOUND);
        assert_eq!(code(Path::new("text")), exit::NOT_RUNNABLE);
        assert_eq!(code(Path::new("dir")), exit::NOT_FOUND);
        assert_eq!(code(&dir.0.join("a/text")), exit::NOT_RUNNABLE);
        assert_eq!(code(&dir.0.join("b/dir")), exit::NOT_RUNNABLE);
        assert_eq!(code(&dir.0.join("nothing")), exit::NOT_FOUND);
        assert_eq!(code(Path::new("")), exit::NOT_FOUND);
    }

    #[test]
    fn failures_tell_the_remedy() {
        let text = |name: &str| find(OsStr::new(name), None).unwrap_err().to_string();
        assert!(text("no such tool").contains("separate words"));
        assert!(text("Cargo.toml").contains("`./Cargo.toml`"));
        let dir = scratch("help");
        assert!(text(dir.0.join("a/text").to_str().unwrap()).contains("chmod +x"));
    }
}
