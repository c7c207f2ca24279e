//! The parts that `lockwright-lab bench tables` runs in other processes: preload libraries by features,
//! programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::arm::said;
use super::sources;
use crate::builds::{LIBRARY, preload_build};
use crate::install::SONAME;
use crate::workspace::{cargo, read, root, target_dir};

/// Preload libraries: the file's name, the features, and the documents that have them.
const LIBRARIES: [(&str, &str, &[u8]); 8] = [
    ("shipped", "", &[0]),
    ("unpatched", "unpatched-2,unpatched-3,unpatched-4,unpatched-5", &[0]),
    ("unpatched-2", "unpatched-2", &[0]),
    ("unpatched-3", "unpatched-3", &[0]),
    ("unpatched-4", "unpatched-4", &[0]),
    ("unpatched-5", "unpatched-5", &[0]),
    ("debug-lockdep", "debug-lockdep", &[0]),
    ("pool-switches", "pool-switches", &[1]),
];

/// The driver's name, and that of the one with lockwright's locks.
const DRIVER: &str = "build_driver";
const DRIVER_WITH_LOCKS: &str = "build_driver-lockwright";

/// Builds those of the documents that are wanted, all by default, into `parts`. `quick`: nobody
/// looks at the figures.
///
/// # Errors
/// If something cannot be built. A part that cannot be fetched (sources) is noted instead.
pub fn build(parts: &Path, only: Option<u8>, quick: bool) -> Result<(), String> {
    let wants = |document: u8| only.is_none_or(|only| only == document);
    make_dir(&parts.join("preload"))?;
    for (name, features, documents) in LIBRARIES {
        if documents.iter().any(|document| wants(*document)) {
            library(&parts.join("preload"), name, features, quick)?;
        }
    }
    if wants(0) || wants(1) {
        driver(&parts.join(DRIVER), &[])?;
        let locks = root().join("tools/xtask/src/bench/programs/locks.c");
        compile(&parts.join("locks"), &[locks], &[])?;
        or_why(parts, "lua", |into| {
            sources::fetch("lua5.4", &target_dir().join("bench/sources"), into)
        })?;
    }
    if wants(1) {
        copy(&root().join("tools/xtask/src/bench/programs/futures.py"), &parts.join("futures.py"))?;
    }
    if wants(2) || wants(4) {
        let library = library_of_locks(parts)?;
        bkl_fs(&parts.join("bkl_fs"), &library)?;
        locks(parts, &library)?;
    }
    Ok(())
}

/// A preload library, unless the sources do not know its features.
fn library(dir: &Path, name: &str, features: &str, quick: bool) -> Result<(), String> {
    let manifest = read(root().join("guest/preload/Cargo.toml"))?;
    let is_known =
        |feature: &str| manifest.lines().any(|line| line.starts_with(&format!("{feature} =")));
    let unknown = features.split(',').find(|feature| !feature.is_empty() && !is_known(feature));
    let built = match unknown {
        Some(unknown) => Err(format!("the preload library has no feature {unknown}")),
        None => Ok(preload_build(features, quick)?),
    };
    or_why(dir, &format!("{name}.so"), |file| copy(&built?, file))
}

/// The C library of locks, with the name that programs ask for.
fn library_of_locks(parts: &Path) -> Result<PathBuf, String> {
    cargo(&["build", "--profile", LIBRARY, "--package", "lockwright-capi", "--lib"])?;
    let library = parts.join("lib").join(SONAME);
    make_dir(&parts.join("lib"))?;
    copy(&target_dir().join(LIBRARY).join("liblockwright.so"), &library)?;
    Ok(library)
}

/// One that counts lock events too, and the driver that is linked with either.
fn locks(parts: &Path, library: &Path) -> Result<(), String> {
    // Not in the other's directory: a search for that one would find this one.
    let target = target_dir().join("bench-capi");
    let to = target.display().to_string();
    let counting = ["--features", "lock_events", "--target-dir", &to];
    let build = ["build", "--profile", LIBRARY, "--package", "lockwright-capi", "--lib"];
    cargo(&[&build[..], &counting].concat())?;
    make_dir(&parts.join("lib-events"))?;
    copy(&target.join(LIBRARY).join("liblockwright.so"), &parts.join("lib-events").join(SONAME))?;
    let flags = [
        "-DWITH_LOCKWRIGHT".to_owned(),
        format!("-I{}", root().join("include").display()),
        library.display().to_string(),
    ];
    driver(&parts.join(DRIVER_WITH_LOCKS), &flags)
}

/// The build-like driver, of examples/build_driver.
fn driver(to: &Path, flags: &[String]) -> Result<(), String> {
    compile(to, &sources_in("examples/build_driver")?, flags)
}

/// The file system under a big kernel lock, of examples/c/bkl_fs.
fn bkl_fs(to: &Path, library: &Path) -> Result<(), String> {
    let flags = [
        format!("-I{}", root().join("include").display()),
        library.display().to_string(),
        format!("-Wl,-rpath,{}", library.parent().unwrap_or(library).display()),
    ];
    compile(to, &sources_in("examples/c/bkl_fs")?, &flags)
}

/// The C sources in a directory of ours.
fn sources_in(dir: &str) -> Result<Vec<PathBuf>, String> {
    let dir = root().join(dir);
    let files = fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let sources = files.flatten().map(|entry| entry.path());
    Ok(sources.filter(|file| file.extension().is_some_and(|e| e == "c")).collect())
}

fn compile(to: &Path, sources: &[PathBuf], flags: &[String]) -> Result<(), String> {
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-o"]);
    said(cc.arg(to).args(sources).args(flags)).map(drop)
}

/// Makes a part, or notes why there is none.
///
/// # Errors
/// If that cannot be noted.
pub fn or_why(
    dir: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let (part, note) = (dir.join(name), dir.join(format!("{name}.missing")));
    let _ = fs::remove_file(&note);
    if let Err(why) = make(&part) {
        // One that an earlier version of the sources made.
        let _ = fs::remove_file(&part);
        eprintln!("without {name}: {why}");
        return fs::write(&note, why).map_err(|e| format!("{}: {e}", note.display()));
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}

fn make_dir(dir: &Path) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_part_is_missing_is_noted_as_long_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        or_why(dir, "lua", |_| Err("no network".to_owned())).unwrap();
        let note = dir.join("lua.missing");
        assert_eq!(fs::read_to_string(&note).unwrap(), "no network");
        or_why(dir, "lua", |part| fs::write(part, "").map_err(|e| e.to_string())).unwrap();
        assert!(dir.join("lua").exists() && !note.exists());
    }
}
