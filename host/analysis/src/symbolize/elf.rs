//! Opens an ELF file without trusting it: reads the parts that are asked for, so a file that is cut
//! short or replaced meanwhile is an error and never a fault.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use lockwright_ledger::file;
use object::read::{CompressionFormat, File as Elf, Object, ObjectSection, ReadCache};

use super::buffered::Buffered;

/// A parsed file.
type Parsed<'data> = Elf<'data, &'data ReadCache<Buffered>>;

/// Calls `read` with the parsed file, or gives `None` if it is not a readable ELF file.
pub fn with_elf<T>(path: &Path, read: impl for<'data> FnOnce(&Parsed<'data>) -> T) -> Option<T> {
    with_elf_and_file(path, |elf, _| read(elf))
}

/// As [`with_elf`], with the file itself: what is large is read from that ([`section_bytes`]), as
/// the parsed file keeps a copy of all that is read from it.
pub fn with_elf_and_file<T>(
    path: &Path,
    read: impl for<'data> FnOnce(&Parsed<'data>, &File) -> T,
) -> Option<T> {
    // The path is a ledger's: it may name anything.
    let file = file::open_solid(path).ok()?;
    let cache = ReadCache::new(Buffered::new(file.try_clone().ok()?));
    let elf = Elf::parse(&cache).ok()?;
    Some(read(&elf, &file))
}

/// The bytes of a section, unpacked; `None` if they cannot be read.
pub fn section_bytes<'data>(section: &impl ObjectSection<'data>, file: &File) -> Option<Vec<u8>> {
    let range = section.compressed_file_range().ok()?;
    if range.format != CompressionFormat::None {
        return Some(section.uncompressed_data().ok()?.into_owned());
    }
    // What the section's header says need not be so.
    let end = range.offset.checked_add(range.compressed_size)?;
    if end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(range.compressed_size.try_into().ok()?).ok()?;
    let mut part = file;
    part.seek(SeekFrom::Start(range.offset)).ok()?;
    let read = part.take(range.compressed_size).read_to_end(&mut bytes).ok()?;
    (read as u64 == range.compressed_size).then_some(bytes)
}

/// Build id of the file at `path`.
pub fn own_build_id(path: &Path) -> Option<Vec<u8>> {
    with_elf(path, |file| file.build_id().ok().flatten().map(<[u8]>::to_vec))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What can be read of `.rodata` of the file at `path`, and what it has.
    fn rodata(path: &Path) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let read = with_elf_and_file(path, |elf, file| {
            let section = elf.section_by_name(".rodata").expect(".rodata");
            let whole = section.uncompressed_data().ok().map(std::borrow::Cow::into_owned);
            (section_bytes(&section, file), whole)
        });
        read.expect("an ELF file")
    }

    #[test]
    fn a_section_is_read_as_it_is_and_not_if_its_header_is_wrong() {
        let (read, whole) = rodata(Path::new("/bin/sh"));
        assert!(read.is_some() && read == whole);

        let mut bytes = std::fs::read("/bin/sh").expect("/bin/sh");
        let number = with_elf(Path::new("/bin/sh"), |elf| {
            elf.section_by_name(".rodata").expect(".rodata").index().0
        });
        // The header of a 64-bit file has the place of its sections' headers, of 64 bytes each, at 40;
        // each has its size at 32.
        let headers = u64::from_le_bytes(bytes[40..48].try_into().expect("8 bytes"));
        let size = headers as usize + 64 * number.expect("an ELF file") + 32;
        let damaged = std::env::temp_dir().join(format!("damaged-elf-{}", std::process::id()));
        for wrong in [1 << 40, u64::MAX] {
            bytes[size..size + 8].copy_from_slice(&wrong.to_le_bytes());
            std::fs::write(&damaged, &bytes).expect("written");
            assert_eq!(rodata(&damaged).0, None);
        }
        std::fs::remove_file(&damaged).expect("removed");
    }
}
