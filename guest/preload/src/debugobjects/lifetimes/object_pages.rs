//! Pages that are known to have objects, so that what frees memory looks at no others.

use crate::lock_id::lock_pages;

/// There is an object of `size` bytes at `addr`, in memory that may go. What is noted already costs
/// next to nothing; that its page [`is_noted`] is not enough, for frees look at lines.
pub fn note(addr: u64, size: u64) {
    lock_pages::note_object(addr, size.max(1));
}

/// The page of `addr` is known to have objects.
pub fn is_noted(addr: u64) -> bool {
    lock_pages::may_have_objects(addr, addr + 1)
}
