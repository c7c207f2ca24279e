//! Memory for types: they are few, and stay.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::debugobjects::pools::{map, unmap};

/// Room for a type, which is a `T`; null if there is none: pages, taken piece by piece.
pub fn allocate<T>() -> *mut T {
    const PAGE: usize = 4096;
    let piece_size = const {
        let size = size_of::<T>().next_multiple_of(align_of::<T>());
        assert!(2 * size <= PAGE);
        size
    };
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
        let after = piece + piece_size;
        let has_room = (piece % PAGE) + 2 * piece_size <= PAGE;
        if NEXT.compare_exchange(next, if has_room { after } else { 0 }, Relaxed, Relaxed).is_ok() {
            return piece as *mut T;
        }
        if !page.is_null() {
            // SAFETY: mapped above, and nobody has it.
            unsafe { unmap(page, PAGE) };
        }
    }
}
