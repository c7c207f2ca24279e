//! Which glibc the files that are installed need.

use std::fs;
use std::path::Path;

use object::elf::FileHeader64;
use object::endian::Endianness;
use object::read::elf::FileHeader;

/// A version of glibc.
pub type Glibc = (u32, u32);

/// The oldest that what is shipped has to run with.
pub const OLDEST: Glibc = (2, 31);

/// What the command carries inside: the library that watches, the one that swaps, the demo.
const CARRIED: usize = 3;

/// The latest version that a file, or one of the ELF files inside it, asks the dynamic loader for. None: it asks for none.
///
/// # Errors
/// When the file cannot be read.
pub fn needed(path: &Path) -> Result<Option<Glibc>, String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(images(&bytes).filter_map(version).max())
}

/// Checks that a command runs with the oldest glibc, and what it carries, too.
///
/// # Errors
/// Which version it needs, or that it carries less than it should.
pub fn is_old_enough(command: &Path) -> Result<(), String> {
    let bytes = fs::read(command).map_err(|e| format!("{}: {e}", command.display()))?;
    let versions: Vec<Glibc> = images(&bytes).filter_map(version).collect();
    if versions.len() < 1 + CARRIED {
        return Err(format!(
            "{} carries {} programs and libraries, not {CARRIED}",
            command.display(),
            versions.len().saturating_sub(1)
        ));
    }
    match versions.into_iter().max().filter(|&latest| latest > OLDEST) {
        Some(latest) => Err(too_new(command, latest)),
        None => Ok(()),
    }
}

/// That a file needs a later glibc than the oldest.
pub fn too_new(path: &Path, (major, minor): Glibc) -> String {
    format!(
        "{} needs glibc {major}.{minor}, not {}.{}: something in it was not linked with the sysroot",
        path.display(),
        OLDEST.0,
        OLDEST.1
    )
}

/// Everything that begins as an ELF file of 64 bits: the bytes themselves, and those that they contain.
fn images(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const MAGIC: &[u8] = b"\x7fELF\x02\x01\x01";
    let starts = bytes.windows(MAGIC.len()).enumerate().filter(|(_, part)| *part == MAGIC);
    starts.map(|(at, _)| &bytes[at..])
}

/// The latest version that an ELF file asks for. None: it asks for none, or is no such file.
fn version(file: &[u8]) -> Option<Glibc> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (mut files, link) = sections.gnu_verneed(endian, file).ok()??;
    let names = sections.strings(endian, file, link).ok()?;
    let mut latest = None;
    while let Some((_, mut versions)) = files.next().ok()? {
        while let Some(version) = versions.next().ok()? {
            latest = latest.max(number(version.name(endian, names).ok()?));
        }
    }
    latest
}

/// As in `GLIBC_2.34` or `GLIBC_2.2.5`.
fn number(version: &[u8]) -> Option<Glibc> {
    let mut numbers = std::str::from_utf8(version).ok()?.strip_prefix("GLIBC_")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_inside_a_file_is_found() {
        let test = fs::read("/proc/self/exe").expect("this test");
        let own = version(&test).expect("it needs glibc");
        let wrapped = [b"something else \x7fELF".as_slice(), &test].concat();
        assert_eq!(images(&wrapped).filter_map(version).max(), Some(own));
        assert_eq!(needed(Path::new("/proc/self/exe")), Ok(Some(own)));
        assert_eq!(images(b"\x7fELF\x02\x01\x01").filter_map(version).max(), None);
    }

    #[test]
    fn a_command_that_carries_nothing_is_a_fault() {
        let error = is_old_enough(Path::new("/bin/true")).unwrap_err();
        assert!(error.contains("/bin/true carries 0"), "{error}");
    }
}
