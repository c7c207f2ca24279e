//! The check of what is published: the crates are packaged, and the command is installed from the
//! packages alone.
//!
//! Nothing of the workspace is near them then, no network is used, and the target directory is
//! empty.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test::{Build, Extent};
use crate::workspace::{cargo_command, output, read, root, target_dir};

/// The crates that are published, and the files that each must have in addition to its sources.
const PUBLISHED: &[&str] = &[
    "lockwright",
    "lockwright-console",
    "lockwright-measure",
    "lockwright-cpython",
    "lockwright-glibc",
    "lockwright-ledger",
    "lockwright-bpf",
    "lockwright-inlined",
    "lockwright-engines",
    "lockwright-lab",
    "lockwright-sim",
    "lockwright-lab-cli",
    "lockwright-analysis",
    "lockwright-report",
    "lockwright-top",
    "lockwright-cli",
];

/// Files that every package has.
const EVERYWHERE: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "Cargo.lock"];

/// What every manifest says.
const SAID: &[&str] = &["description", "license", "readme", "rust-version"];

/// Packages all, and installs the command.
///
/// # Errors
/// When something is missing in a package, or the installed command does not find the planted
/// deadlock.
pub fn run(extent: Extent) -> Result<(), String> {
    let dir = target_dir().join("package-check");
    let _ = fs::remove_dir_all(&dir);
    let crates = dir.join("crates");
    others(&crates)?;
    for (name, file) in package(&dir)? {
        is_whole(name, &unpack(&file, &crates)?)?;
    }
    if !extent.has_build(Build::Packaged) {
        eprintln!(
            "not installed this time: this commit has another of the builds that take minutes"
        );
        return Ok(());
    }
    let installed = install(&dir, &crates)?;
    says_its_version(&installed)?;
    demo_finds(&installed)
}

/// The packages, as crates.io would have them.
fn package(dir: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let mut cargo = cargo_command();
    // The change under test need not be committed yet. Whether they build is what is tested
    // afterwards.
    cargo.args(["package", "--locked", "--allow-dirty", "--no-verify", "--quiet", "--target-dir"]);
    cargo.arg(dir);
    for name in PUBLISHED {
        cargo.args(["--package", name]);
    }
    output(cargo)?;
    let version = env!("CARGO_PKG_VERSION");
    let file = |name| dir.join("package").join(format!("{name}-{version}.crate"));
    Ok(PUBLISHED.iter().map(|&name| (name, file(name))).collect())
}

/// The crates of others that the workspace uses, as a directory that cargo takes them from.
fn others(crates: &Path) -> Result<(), String> {
    let mut cargo = cargo_command();
    cargo.args(["vendor", "--locked", "--quiet"]).arg(crates);
    output(cargo).map(drop)
}

/// Adds a package to them. Returns its directory.
fn unpack(file: &Path, crates: &Path) -> Result<PathBuf, String> {
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(file).arg("-C").arg(crates);
    output(tar)?;
    let mut sum = Command::new("sha256sum");
    sum.arg(file);
    let sum = output(sum)?;
    let sum = sum.split_whitespace().next().unwrap_or_default();
    let package = crates.join(file.file_stem().expect("a package has a name"));
    write(
        &package.join(".cargo-checksum.json"),
        &format!("{{\"files\":{{}},\"package\":\"{sum}\"}}"),
    )?;
    Ok(package)
}

fn is_whole(name: &str, package: &Path) -> Result<(), String> {
    let text = read(package.join("Cargo.toml"))?;
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        lines.next().map(|value| value.trim_matches('"').to_owned())
    };
    if let Some(missing) = SAID.iter().find(|key| value(key).is_none()) {
        return Err(format!("the manifest of {name} does not say its {missing}"));
    }
    let readme = value("readme").unwrap_or_default();
    let missing = EVERYWHERE.iter().copied().chain([readme.as_str()]);
    match missing.into_iter().find(|file| !package.join(file).is_file()) {
        Some(missing) => Err(format!("the package of {name} lacks {missing}")),
        None => Ok(()),
    }
}

/// Installs the command from the packages. Returns the program.
fn install(dir: &Path, crates: &Path) -> Result<PathBuf, String> {
    let home = dir.join("home");
    // In a configuration file, so that the build of the preload library inside the build finds it,
    // too. What is tested does not depend on how well it is optimised.
    let config = format!(
        "[source.crates-io]\nreplace-with = \"packages\"\n\n[source.packages]\ndirectory = {:?}\n\n\
         [profile.library]\nlto = \"off\"\nopt-level = 1\ncodegen-units = 16\n",
        crates.display().to_string()
    );
    write(&home.join("config.toml"), &config)?;
    let installed = dir.join("installed");
    let mut cargo = cargo_command();
    cargo.args(["install", "lockwright-cli", "--locked", "--offline", "--quiet", "--root"]);
    cargo.arg(&installed).arg("--target-dir").arg(dir.join("target"));
    cargo.args(["--debug", "--config", "profile.dev.debug=false"]);
    cargo.env("CARGO_HOME", &home).env_remove("CARGO_TARGET_DIR");
    // Nothing of the workspace, not even its configuration.
    cargo.current_dir(&home);
    output(cargo)?;
    Ok(installed.join("bin/lockwright"))
}

/// Which commit it is of is noted in the package.
fn says_its_version(program: &Path) -> Result<(), String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "--short=12", "HEAD"]).current_dir(root());
    let commit = output(git)?;
    let mut version = Command::new(program);
    version.arg("--version");
    let said = output(version)?;
    let first = format!("lockwright {} (commit {})\n", env!("CARGO_PKG_VERSION"), commit.trim());
    if said.starts_with(&first) && said.contains("needs glibc 2.") {
        Ok(())
    } else {
        Err(format!("{} says it is {said:?}, not {first:?}", program.display()))
    }
}

fn demo_finds(program: &Path) -> Result<(), String> {
    let mut demo = Command::new(program);
    demo.arg("demo").current_dir("/");
    let out = demo.output().map_err(|e| format!("{demo:?}: {e}"))?;
    let report = String::from_utf8_lossy(&out.stderr);
    if report.contains("error[circular-dependency]") {
        Ok(())
    } else {
        Err(format!("{demo:?} finds nothing, {}:\n{report}", out.status))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let dir = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
    written.map_err(|e| format!("{}: {e}", path.display()))
}
