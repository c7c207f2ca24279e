//! A table of inlined locks, as it is mapped while it is applied.

use core::mem::size_of;

use lockwright_ledger::inlined::{Header, MAGIC, MOST_BYTES, Place, Relocation, SLOTS};

use crate::os::sys;

/// Bytes of a jump or call of 32 bits.
pub const CALL: usize = 5;
/// The greatest file that is mapped: some 200,000 places.
const MOST_FILE: u64 = 64 << 20;

/// A mapped file whose parts are where its header says.
pub struct Table {
    at: *const u8,
    len: usize,
}

impl Table {
    /// Maps the file, if there is one that is ours and whole.
    ///
    /// # Safety
    /// `path` is NUL terminated.
    pub unsafe fn map(path: *const u8) -> Option<Self> {
        // SAFETY: the caller promises a NUL-terminated path.
        let fd = unsafe { sys::open_read(path) };
        if fd < 0 {
            return None;
        }
        let len = sys::length(fd);
        let is_ours = sys::owner_of_regular(fd) == Some(sys::effective_user())
            && (size_of::<Header>() as u64..MOST_FILE).contains(&len);
        let (prot, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
        // SAFETY: a new mapping of a file that is as long.
        let at = if is_ours { unsafe { sys::mmap(len as usize, prot, flags, fd) } } else { 0 };
        sys::close(fd);
        if at <= 0 {
            return None;
        }
        let table = Self { at: at as *const u8, len: len as usize };
        if table.is_whole() {
            return Some(table);
        }
        table.unmap();
        None
    }

    /// Ends the mapping.
    pub fn unmap(self) {
        // SAFETY: our mapping, to which nothing refers any more: whatever does borrows `self`.
        unsafe { sys::munmap(self.at.cast_mut(), self.len) };
    }

    fn header(&self) -> &Header {
        // SAFETY: `map` has checked that the file is as long; the mapping is page-aligned, and every bit pattern is valid.
        unsafe { &*self.at.cast::<Header>() }
    }

    fn is_whole(&self) -> bool {
        let header = self.header();
        let len = size_of::<Header>() as u64
            + u64::from(header.places) * size_of::<Place>() as u64
            + u64::from(header.relocations) * size_of::<Relocation>() as u64
            + u64::from(header.code);
        header.magic == MAGIC
            && len == self.len as u64
            && header.code as usize >= SLOTS * size_of::<u64>()
            && self.places().iter().all(|place| {
                (CALL..=MOST_BYTES).contains(&(place.len as usize)) && place.entry < header.code
            })
            && self
                .relocations()
                .iter()
                .all(|it| u64::from(it.at) + 4 <= header.code.into() && it.next <= header.code)
    }

    /// How many acquisitions have a place, and how many there are.
    pub fn acquisitions(&self) -> [u32; 2] {
        [self.header().placed_acquisitions, self.header().acquisitions]
    }

    /// Each release has a place. Without, a lock that was released there would be taken for held.
    pub fn has_all_releases(&self) -> bool {
        self.header().placed_releases == self.header().releases
    }

    /// Where calls are put.
    pub fn places(&self) -> &[Place] {
        // SAFETY: `is_whole` has checked that the file is as long as its header says, and its parts are aligned: each has a size
        // that is a multiple of 8. Every bit pattern is valid.
        unsafe {
            let at = self.at.add(size_of::<Header>()).cast();
            core::slice::from_raw_parts(at, self.header().places as usize)
        }
    }

    /// What depends on where the block is.
    pub fn relocations(&self) -> &[Relocation] {
        let at = self.places().as_ptr_range().end.cast();
        // SAFETY: as for `places`, which they follow.
        unsafe { core::slice::from_raw_parts(at, self.header().relocations as usize) }
    }

    /// The block.
    pub fn code(&self) -> &[u8] {
        let at = self.relocations().as_ptr_range().end.cast();
        // SAFETY: as for `places`; it follows the relocations.
        unsafe { core::slice::from_raw_parts(at, self.header().code as usize) }
    }
}

const _: () = assert!(
    size_of::<Header>().is_multiple_of(8)
        && size_of::<Place>().is_multiple_of(8)
        && size_of::<Relocation>().is_multiple_of(8)
);
