//! The file of `--write-baseline`.

use std::io;
use std::path::Path;

use lockwright_console::error::{Error, Result};

use lockwright_console::whole_file::WholeFile;

/// A file to be written once the findings are known.
#[derive(Debug)]
pub struct Target {
    file: WholeFile,
    shown: String,
}

impl Target {
    /// Checks whether `path` can be written, so that a wrong one is reported before the program
    /// runs.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let file = WholeFile::open(path).map_err(|error| unwritable(&shown, &error))?;
        Ok(Self { file, shown })
    }

    /// Writes it.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn write(&mut self, text: &str) -> Result<()> {
        self.file.put(text.as_bytes()).map_err(|error| unwritable(&self.shown, &error))
    }
}

fn unwritable(file: &str, error: &io::Error) -> Error {
    Error::new(format!("cannot write {file}: {error}"))
        .help("name a file in a directory that can be written: --write-baseline FILE")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let dir = std::env::temp_dir().join(format!("lockwright-target-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("x.json");
        let mut target = Target::check(&path).unwrap();
        assert!(!path.exists(), "a look does not write");
        target.write("one").unwrap();
        target.write("two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside it");
        assert!(Target::check(&dir).is_err());
        fs::remove_dir_all(&dir).unwrap();
        assert!(Target::check(&path).is_err());
        assert!(target.write("three").is_err());
    }
}
