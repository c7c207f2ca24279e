//! Why a file has no table.

use std::fmt;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is no ELF file, or a broken one.
    Elf(String),
    /// A table would need more bytes than its fields can count.
    TooLarge,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elf(why) => write!(f, "the file cannot be read as ELF: {why}"),
            Self::TooLarge => f.write_str("the module has more locks than a table can have"),
        }
    }
}

impl std::error::Error for Error {}

impl From<object::read::Error> for Error {
    fn from(error: object::read::Error) -> Self {
        Self::Elf(error.to_string())
    }
}
