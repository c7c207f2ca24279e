//! `cargo xtask dist`: what is shipped, as a Debian package and as an archive for every other system.

use std::path::PathBuf;

use clap::Args;

use super::{archive, deb, shipped};

/// Builds the tool and the libraries for glibc 2.31 and later, and makes a Debian package and a tar.gz of them.
#[derive(Debug, Args)]
pub struct DistArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    pub out: PathBuf,
}

/// Makes both.
///
/// # Errors
/// When the build fails, or dpkg-deb, or tar.
pub fn run(args: &DistArgs) -> Result<(), String> {
    let shipped = shipped::build_all()?;
    println!("{}", deb::make(&args.out, &shipped)?.display());
    println!("{}", archive::make(&args.out, &shipped)?.display());
    Ok(())
}
