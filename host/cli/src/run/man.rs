//! `lockwright man`: the manual pages, for a command that no package has installed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lockwright_console::error::{Error, Result};
use lockwright_console::man;

use super::Ending;
use crate::args::ManArgs;
use crate::program::PROGRAM;

/// Runs the command.
///
/// # Errors
/// If it is not known where to write to, or a page cannot be written.
pub fn run(args: &ManArgs) -> Result<Ending> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_exe().ok().and_then(|file| beside(&file)).ok_or_else(|| {
            Error::new("man looks for no pages where this command is")
                .help("name a directory: --dir DIR")
        })?,
    };
    let pages = man::pages(&[PROGRAM]).map_err(Error::new)?;
    man::write(&dir, &pages)
        .map_err(|error| Error::new(error).help("name another directory: --dir DIR"))?;
    // A reader of these words that is gone does not matter: the pages are there.
    let _ = writeln!(io::stdout(), "{} pages are in {}", pages.len(), dir.display());
    Ok(Ending::Code(0))
}

/// Where `man` looks for pages of a command that the file `command` is (man-db's manpath(1)).
fn beside(command: &Path) -> Option<PathBuf> {
    let bin = command.parent()?;
    (bin.file_name()? == "bin").then(|| bin.with_file_name("share/man/man1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_man_looks_for_them() {
        let home = beside(Path::new("/home/jo/.cargo/bin/lockwright"));
        assert_eq!(home, Some("/home/jo/.cargo/share/man/man1".into()));
        assert_eq!(beside(Path::new("/src/target/release/lockwright")), None);
    }
}
