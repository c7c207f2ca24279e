//! Memory for a moment. A program's threads may have small stacks, of which little is ours.

use core::ops::{Deref, DerefMut};

use crate::os::sys;

/// The part on the stack, for when there is no memory.
const LITTLE: usize = 512;

/// A mapping that goes with this.
struct Scratch {
    at: *mut u8,
    len: usize,
}

impl Scratch {
    fn new(len: usize) -> Option<Self> {
        // Shared, though with nobody: a private mapping next to a stack that the program has mapped
        // would be one with it in /proc/self/maps, which show how far a stack reaches
        // (objects/frames.rs).
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
        let at = unsafe { sys::mmap(len, prot, flags, -1) };
        usize::try_from(at).ok().filter(|&at| at != 0).map(|at| Self { at: at as *mut u8, len })
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: a mapping of our own, and of zeros at first.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: a mapping of our own, of zeros at first; `&mut self` is the only borrow of it.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: our mapping, to which nobody has a reference any more.
        unsafe { sys::munmap(self.at, self.len) };
    }
}

/// Calls `f` with `len` bytes of zeros, or with few where no memory can be mapped.
pub fn with<T>(len: usize, f: impl FnOnce(&mut [u8]) -> T) -> T {
    match Scratch::new(len) {
        Some(mut scratch) => f(&mut scratch),
        None => with_little(f),
    }
}

/// Out of line: the stack has it only where it must.
#[cold]
#[inline(never)]
fn with_little<T>(f: impl FnOnce(&mut [u8]) -> T) -> T {
    f(&mut [0; LITTLE])
}
