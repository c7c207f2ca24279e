//! Memory for types: they are few, and stay.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::types::OwnType;
use crate::debugobjects::pools::{map, unmap};

/// Room for a type, null if there is none: pages, taken piece by piece.
pub fn allocate() -> *mut OwnType {
    const PAGE: usize = 4096;
    const PIECE: usize = size_of::<OwnType>().next_multiple_of(align_of::<OwnType>());
    const { assert!(2 * PIECE <= PAGE) };
    /// The next piece; 0: of a page that is still to be mapped.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    loop {
        // Relaxed throughout: an address, and nobody has touched the memory.
        let next = NEXT.load(Relaxed);
        let (piece, page) = match next {
            0 => {
                let page = map(PAGE);
                if page.is_null() {
                    return null_mut();
                }
                (page as usize, page)
            }
            piece => (piece, null_mut()),
        };
        let after = piece + PIECE;
        let has_room = (piece % PAGE) + 2 * PIECE <= PAGE;
        if NEXT.compare_exchange(next, if has_room { after } else { 0 }, Relaxed, Relaxed).is_ok() {
            return piece as *mut OwnType;
        }
        if !page.is_null() {
            // SAFETY: mapped above, and nobody has it.
            unsafe { unmap(page, PAGE) };
        }
    }
}
