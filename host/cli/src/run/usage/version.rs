//! `lockwright --version`: which one, from which commit, and which glibc it needs.

use std::io::Write;

use clap::error::ErrorKind;
use object::elf::FileHeader64;
use object::endian::Endianness;
use object::read::elf::FileHeader;

use crate::run::watch::preload;

/// Prints it and ends, if that is what the command line asks for.
pub fn print_if_asked(error: &clap::Error) {
    if error.kind() != ErrorKind::DisplayVersion {
        return;
    }
    let command = std::fs::read("/proc/self/exe").ok().and_then(|file| needed_glibc(&file));
    let text =
        text(option_env!("LOCKWRIGHT_COMMIT"), command, needed_glibc(preload::LIBRARY.contents));
    // The reader closed the stream and has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    std::process::exit(0);
}

/// A version of glibc.
type Glibc = (u32, u32);

fn text(commit: Option<&str>, command: Option<Glibc>, preload: Option<Glibc>) -> String {
    let mut text = concat!("lockwright ", env!("CARGO_PKG_VERSION")).to_owned();
    if let Some(commit) = commit {
        text += &format!(" (commit {commit})");
    }
    text += "\n";
    let needs = [("needs", command), ("the programs that it watches need", preload)];
    for (who, glibc) in needs {
        if let Some((major, minor)) = glibc {
            text += &format!("{who} glibc {major}.{minor} or later\n");
        }
    }
    text
}

/// The latest version of glibc that an ELF file asks the dynamic loader for; none if it asks for
/// none.
fn needed_glibc(file: &[u8]) -> Option<Glibc> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (mut files, link) = sections.gnu_verneed(endian, file).ok()??;
    let names = sections.strings(endian, file, link).ok()?;
    let mut latest = None;
    while let Some((_, mut versions)) = files.next().ok()? {
        while let Some(version) = versions.next().ok()? {
            latest = latest.max(parse(version.name(endian, names).ok()?));
        }
    }
    latest
}

/// As in `GLIBC_2.34` or `GLIBC_2.2.5`.
fn parse(version: &[u8]) -> Option<Glibc> {
    let mut numbers = std::str::from_utf8(version).ok()?.strip_prefix("GLIBC_")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(parse(b"GLIBC_2.34"), Some((2, 34)));
        assert_eq!(parse(b"GLIBC_2.2.5"), Some((2, 2)));
        assert!(parse(b"GLIBC_2.34") > parse(b"GLIBC_2.4"));
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GCC_3.0"), None);
    }

    #[test]
    fn the_library_needs_no_later_glibc_than_this_test() {
        let test = needed_glibc(&std::fs::read("/proc/self/exe").expect("this test"));
        let library = needed_glibc(preload::LIBRARY.contents);
        assert!(library.is_some() && library <= test, "{library:?} {test:?}");
        assert_eq!(needed_glibc(b"no ELF file"), None);
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(text(None, None, None), format!("lockwright {version}\n"));
        assert_eq!(
            text(Some("0123456789ab"), Some((2, 34)), Some((2, 16))),
            format!(
                "lockwright {version} (commit 0123456789ab)\nneeds glibc 2.34 or later\n\
                 the programs that it watches need glibc 2.16 or later\n"
            )
        );
    }
}
