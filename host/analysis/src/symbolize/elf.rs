//! Opens an ELF file without trusting it: reads the parts that are asked for, so a file that is cut
//! short or replaced meanwhile is an error and never a fault.

use std::path::Path;

use lockwright_ledger::file;
use object::read::{File as Elf, Object, ReadCache};

use super::buffered::Buffered;

/// Calls `read` with the parsed file, or gives `None` if it is not a readable ELF file.
pub fn with_elf<T>(
    path: &Path,
    read: impl for<'data> FnOnce(&Elf<'data, &'data ReadCache<Buffered>>) -> T,
) -> Option<T> {
    // The path is a ledger's: it may name anything.
    let file = file::open_solid(path).ok()?;
    let cache = ReadCache::new(Buffered::new(file));
    let elf = Elf::parse(&cache).ok()?;
    Some(read(&elf))
}

/// Build id of the file at `path`.
pub fn own_build_id(path: &Path) -> Option<Vec<u8>> {
    with_elf(path, |file| file.build_id().ok().flatten().map(<[u8]>::to_vec))?
}
