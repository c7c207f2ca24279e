//! Builds for release.

use std::path::{Path, PathBuf};

use crate::workspace::{cargo, cargo_command, succeeds, target_dir};

/// They have no std: built together with the rest, they would get the std features of what they
/// share with them. Most of them is tested from outside, end to end.
pub(crate) const PRELOAD: &str = "lockwright-preload";
pub(crate) const SWAP: &str = "lockwright-swap";
pub(crate) const LOCKS: &str = "lockwright";
/// They take long, and are a check of their own.
pub(crate) const MODELS: &str = "lockwright-models";
/// What is not built together with the rest of the workspace for its tests.
pub(crate) const TESTED_APART: &[&str] = &[PRELOAD, SWAP, LOCKS, MODELS];

/// Names the directory with the C library that what is shipped is linked with, to the build scripts.
pub const SYSROOT: &str = "LOCKWRIGHT_SYSROOT";

/// How the command and the laboratory are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are shipped.
    Shipped,
    /// As their tests use them. What they load into programs is the same as in what is shipped.
    Tested,
}

impl Form {
    /// For benchmarks. `quick`: for when nobody looks at the figures.
    fn of_benchmark(quick: bool) -> Self {
        if quick { Self::Tested } else { Self::Shipped }
    }

    /// The folder below the target directory that it is built to.
    fn folder(self) -> &'static str {
        match self {
            Self::Shipped => "release",
            Self::Tested => "debug",
        }
    }

    /// Builds the command, linked with the C library of the sysroot if one is given.
    pub(crate) fn command(self, sysroot: Option<&Path>) -> Result<PathBuf, String> {
        self.build("lockwright-cli", "lockwright", sysroot)
    }

    /// Likewise the laboratory's.
    pub(crate) fn lab(self, sysroot: Option<&Path>) -> Result<PathBuf, String> {
        self.build("lockwright-lab-cli", "lockwright-lab", sysroot)
    }

    fn build(self, package: &str, name: &str, sysroot: Option<&Path>) -> Result<PathBuf, String> {
        let mut cargo = cargo_command();
        match self {
            Self::Shipped => cargo.args(["build", "--release", "--package", package]),
            // Alone, it would be rebuilt with fewer features.
            Self::Tested => {
                let apart = TESTED_APART.iter().flat_map(|package| ["--exclude", package]);
                cargo.args(["build", "--workspace"]).args(apart).arg("--bins")
            }
        };
        if let Some(sysroot) = sysroot {
            cargo.env(SYSROOT, sysroot);
        }
        succeeds(&mut cargo)?;
        Ok(target_dir().join(self.folder()).join(name))
    }
}

/// The tool, built for release, or `quick`.
pub(crate) fn release_build(quick: bool) -> Result<PathBuf, String> {
    Form::of_benchmark(quick).command(None)
}

/// The laboratory's command, likewise.
pub(crate) fn lab_build(quick: bool) -> Result<PathBuf, String> {
    Form::of_benchmark(quick).lab(None)
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
