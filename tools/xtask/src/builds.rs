//! Builds for release.

use std::path::PathBuf;

use crate::workspace::{cargo, target_dir};

/// The tool, built for release.
pub(crate) fn release_build() -> Result<PathBuf, String> {
    cargo(&["build", "--release", "--package", "lockwright-cli"])?;
    Ok(target_dir().join("release/lockwright"))
}

/// The laboratory's command, built for release.
pub(crate) fn lab_build() -> Result<PathBuf, String> {
    cargo(&["build", "--release", "--package", "lockwright-lab-cli"])?;
    Ok(target_dir().join("release/lockwright-lab"))
}

/// An example of a package's, built for release.
pub(crate) fn release_example(package: &str, name: &str) -> Result<PathBuf, String> {
    cargo(&["build", "--release", "--package", package, "--example", name])?;
    Ok(target_dir().join("release/examples").join(name))
}

/// The preload library alone, built for release with `features`: the same place whatever they are,
/// so to be copied at once. `quick`: hardly optimised, which takes a third of the time, for when nobody looks at the
/// figures.
pub(crate) fn preload_build(features: &str, quick: bool) -> Result<PathBuf, String> {
    let dir = target_dir().join("bench-preload");
    let text = dir.to_str().ok_or("the target directory's name is no UTF-8")?;
    let profile = if quick { "smoke" } else { LIBRARY };
    cargo(&[
        "build",
        "--profile",
        profile,
        "--package",
        "lockwright-preload",
        "--lib",
        "--features",
        features,
        "--target-dir",
        text,
    ])?;
    Ok(dir.join(profile).join("liblockwright_preload.so"))
}

/// As [`preload_build`], with the same code and the lines of the sources that it comes from.
pub(crate) fn preload_build_with_lines(quick: bool) -> Result<PathBuf, String> {
    let dir = target_dir().join("bench-lines");
    let text = dir.to_str().ok_or("the target directory's name is no UTF-8")?;
    let profile = if quick { "smoke" } else { LIBRARY };
    cargo(&[
        "build",
        "--profile",
        profile,
        "--package",
        "lockwright-preload",
        "--lib",
        "--target-dir",
        text,
        "--config",
        &format!("profile.{profile}.debug='line-tables-only'"),
        "--config",
        &format!("profile.{profile}.strip='none'"),
    ])?;
    Ok(dir.join(profile).join("liblockwright_preload.so"))
}

/// The profile of what is loaded into programs, or linked to them, and the directory that it is built in.
pub(crate) const LIBRARY: &str = "library";
