//! What the engine's pools of records are made of: mappings, and the kernel's patches to them.

use lockwright_engines::debugobjects::{Source, Switches, YIELDS};

use crate::os::sys;

/// Memory for the engine: mappings of its own, so that the program's allocator is not involved.
pub static SOURCE: Source = Source { map, unmap, relax };

/// What the pools have: all of Long's five patches of 2019.
pub fn patches() -> Switches {
    Switches::PATCHED
}

fn relax(turn: u32) {
    if turn < YIELDS { sys::yield_now() } else { sys::sleep_ns(1_000_000) }
}

pub fn map(bytes: usize) -> *mut u8 {
    // Twice as much has a part that is aligned to its size.
    let at = sys::map_zeroed(2 * bytes);
    if at.is_null() {
        return at;
    }
    let (at, aligned) = (at as usize, (at as usize).next_multiple_of(bytes));
    // SAFETY: the parts of our mapping before and after, which nobody uses.
    unsafe {
        if aligned != at {
            sys::munmap(at as *mut u8, aligned - at);
        }
        if aligned + bytes != at + 2 * bytes {
            sys::munmap((aligned + bytes) as *mut u8, at + bytes - aligned);
        }
    }
    aligned as *mut u8
}

/// # Safety
/// The range is a mapping of ours that nobody uses any more.
pub unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller promises a mapping of ours that nobody uses any more.
    unsafe { sys::munmap(at, bytes) };
}
