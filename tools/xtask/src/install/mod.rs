//! `cargo xtask install`: the tool, the libraries, and what goes with them, under a prefix.

mod archive;
pub mod check;
pub mod deb;
pub mod dist;
mod files;
mod glibc;
mod place;
mod shipped;

use std::path::{Path, PathBuf};

use clap::Args;

pub use files::SONAME;

use crate::builds::{Form, LIBRARY, SYSROOT};
use crate::workspace::{cargo_command, succeeds, target_dir};

/// Builds and installs the tool and the libraries, with headers, manual pages and completions.
///
/// What is installed can be moved as a whole: nothing in it knows the prefix.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Directory to install under, with bin, lib, include and share.
    #[arg(long, value_name = "DIR")]
    pub prefix: PathBuf,
}

/// Installs everything.
///
/// # Errors
/// When the build fails or a file cannot be written; each file is whole or as it was.
pub fn run(args: &InstallArgs) -> Result<(), String> {
    install(&args.prefix)
}

fn install(prefix: &Path) -> Result<(), String> {
    // Before the build, which takes minutes.
    let root = place::prepare(prefix)?;
    build(None)?;
    let files = files::all(&target_dir())?;
    eprintln!("installing {} files under {}", files.len(), root.display());
    for file in &files {
        println!("{}", place::install(&root, file)?.display());
    }
    eprintln!("{}", afterwards(&root));
    Ok(())
}

/// Builds what is installed, linked with the C library of the sysroot if one is given.
fn build(sysroot: Option<&Path>) -> Result<(), String> {
    eprintln!("building the tool and the libraries (the first time, that takes minutes)");
    Form::Shipped.command(sysroot)?;
    Form::Shipped.lab(sysroot)?;
    let mut cargo = cargo_command();
    cargo.args(["build", "--profile", LIBRARY, "--package", "lockwright-capi"]);
    if let Some(sysroot) = sysroot {
        cargo.env(SYSROOT, sysroot);
    }
    succeeds(&mut cargo)
}

/// What the user may have to do yet.
fn afterwards(root: &std::path::Path) -> String {
    format!(
        "done. Where the loader or a build does not look there by itself:\n  \
         ldconfig, or -Wl,-rpath,{0}/lib when linking, for liblockwright.so\n  \
         PKG_CONFIG_PATH={0}/lib/pkgconfig for pkg-config\n  \
         CMAKE_PREFIX_PATH={0} for cmake\n  \
         PATH={0}/bin:$PATH for the tool",
        root.display()
    )
}
