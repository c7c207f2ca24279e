//! The code of a function, from its file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use iced_x86::{Decoder, DecoderOptions};
use object::read::{Object, ObjectSection};

use crate::symbolize::elf::section_bytes;

/// A function is looked at up to so many bytes.
pub const MOST_BYTES: u64 = 1 << 16;

/// The function that covers an address, as the unwind tables have it: a stripped file has those, too.
pub fn unwound<'data>(elf: &impl Object<'data>, file: &File, address: u64) -> Option<(u64, u64)> {
    let section = elf.section_by_name(".eh_frame")?;
    let bytes = section_bytes(&section, file)?;
    let frames = EhFrame::new(&bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let entry = frames.fde_for_address(&bases, address, EhFrame::cie_from_offset).ok()?;
    Some((entry.initial_address(), entry.len()))
}

/// A function's code.
pub struct Function {
    bytes: Vec<u8>,
    /// Its first address.
    pub start: u64,
}

impl Function {
    /// So many bytes from an address on.
    pub fn read<'data>(
        elf: &impl Object<'data>,
        file: &File,
        start: u64,
        size: u64,
    ) -> Option<Self> {
        Some(Self { bytes: bytes(elf, file, start, size)?, start })
    }

    /// Its instructions from an address on.
    pub fn decoder(&self, at: u64) -> Option<Decoder<'_>> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..).filter(|bytes| !bytes.is_empty())?;
        Some(Decoder::with_ip(64, bytes, at, DecoderOptions::NONE))
    }

    /// Whether an address is in it.
    pub fn has(&self, at: u64) -> bool {
        at.checked_sub(self.start).is_some_and(|from| (from as usize) < self.bytes.len())
    }
}

/// Bytes of a function, or of a stub of the linker's.
fn bytes<'data>(elf: &impl Object<'data>, file: &File, start: u64, size: u64) -> Option<Vec<u8>> {
    let has = |section: &_| {
        let (at, len) = (ObjectSection::address(section), ObjectSection::size(section));
        start >= at && start.checked_add(size).is_some_and(|end| end <= at.saturating_add(len))
    };
    let section = elf.sections().find(has)?;
    let (from, _) = section.file_range()?;
    let mut bytes = vec![0; size.try_into().ok()?];
    file.read_exact_at(&mut bytes, from.checked_add(start - section.address())?).ok()?;
    Some(bytes)
}
