//! `cargo xtask deb`: all that is installed, as a Debian package.
//!
//! It is made by dpkg-deb of the same table of files as `cargo xtask install` has (`files.rs`): a
//! tool with a table of its own would have everything said twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::files::{File, What};
use super::shipped::{self, Shipped};
use super::{archive, place};
use crate::workspace::{output, target_dir};

/// Builds the tool and the libraries, and makes a Debian package of them for the machine's
/// architecture.
#[derive(Debug, Args)]
pub struct DebArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = "target/deb")]
    pub out: PathBuf,
}

/// The package's files before they are packed, in a directory of this name.
const TREE: &str = "lockwright-deb-tree";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes it.
///
/// # Errors
/// When the build fails, or dpkg-deb.
pub fn run(args: &DebArgs) -> Result<(), String> {
    println!("{}", make(&args.out, &shipped::build_all()?)?.display());
    Ok(())
}

/// Returns the package's file.
///
/// # Errors
/// When a file cannot be written, or dpkg-deb fails.
pub fn make(out: &Path, Shipped { files, glibc }: &Shipped) -> Result<PathBuf, String> {
    // Only what an earlier run has left: the directory may be one that has other things in it.
    let _ = fs::remove_dir_all(out.join(TREE));
    let tree = place::prepare(&out.join(TREE))?;
    let usr = tree.join("usr");
    let copyright = text("share/doc/lockwright/copyright", COPYRIGHT.into());
    let bytes = shipped::place_all(files, &usr)? + shipped::place_all(&[copyright], &usr)?;
    let control = control(&architecture()?, *glibc, bytes.div_ceil(1024));
    place::install(&tree, &text("DEBIAN/control", control))?;
    // The dynamic loader learns of the library.
    place::install(&tree, &text("DEBIAN/triggers", "activate-noawait ldconfig\n".into()))?;
    let deb = out.join(format!("lockwright_{VERSION}_{}.deb", architecture()?));
    let mut dpkg_deb = Command::new("dpkg-deb");
    // As fast as may be: a check makes one at each change.
    dpkg_deb.args(["--root-owner-group", "-Zgzip", "-z1", "--build"]).arg(&tree).arg(&deb);
    output(dpkg_deb)?;
    Ok(deb)
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: lockwright

Files: *
Copyright: 2026 The lockwright authors
License: Expat or Apache-2.0
 LICENSE-MIT and LICENSE-APACHE, beside this file, have the texts.
Comment:
 /usr/bin/lockwright contains the Rust crate inferno, which draws flame graphs and is under the
 Common Development and Distribution License 1.0. Its source is at https://crates.io/crates/inferno.
";

fn text(to: &str, text: String) -> File {
    File { to: to.into(), what: What::Text(text.into_bytes()) }
}

fn control(architecture: &str, (major, minor): (u32, u32), kilobytes: u64) -> String {
    format!(
        "Package: lockwright\n\
         Version: {VERSION}\n\
         Architecture: {architecture}\n\
         Maintainer: The lockwright authors\n\
         Installed-Size: {kilobytes}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Section: devel\n\
         Priority: optional\n\
         Description: finds deadlocks before they happen, and measures locks\n \
         The Linux kernel's locking tools for programs that nobody rebuilds: lockdep,\n \
         debugobjects and lockmeter for pthreads; and the kernel's locks for C and C++.\n"
    )
}

fn architecture() -> Result<String, String> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg("--print-architecture");
    Ok(output(dpkg)?.trim().to_owned())
}

/// Makes a package, installs it in a directory with a dpkg of its own, runs the tool there, and
/// removes it. Makes the archive, too, and runs the tool where it was unpacked.
///
/// # Errors
/// When dpkg fails, the tool does not run, or something is left.
pub fn check() -> Result<(), String> {
    let dir = target_dir().join("deb-check");
    let _ = fs::remove_dir_all(&dir);
    let shipped = shipped::build_all()?;
    let packed = archive::make(&dir, &shipped)?;
    super::check::is_usable(&archive::unpack(&packed, &dir.join("unpacked"))?)?;
    let deb = make(&dir, &shipped)?;
    let root = deb.with_file_name("root");
    for dir in ["info", "updates"] {
        let dir = root.join("var/lib/dpkg").join(dir);
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let status = root.join("var/lib/dpkg/status");
    fs::write(&status, "").map_err(|e| format!("{}: {e}", status.display()))?;
    dpkg(&root, "--install", deb.as_os_str())?;
    super::check::is_usable(&root.join("usr"))?;
    dpkg(&root, "--purge", "lockwright".as_ref())?;
    match fs::read_dir(root.join("usr")) {
        Ok(_) => Err(format!("{} is left after the package's removal", root.join("usr").display())),
        Err(_) => Ok(()),
    }
}

/// On the files below `root` alone. What the package depends on is not there.
fn dpkg(root: &Path, action: &str, what: &std::ffi::OsStr) -> Result<(), String> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg("--root").arg(root).args(["--force-depends", "--force-not-root", "--no-triggers"]);
    dpkg.arg("--log=/dev/null").arg(action).arg(what);
    output(dpkg).map(drop)
}
