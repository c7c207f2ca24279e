//! The tracked objects on a thread's stack, as far as there is room to keep them.

use crate::arch::stack_pointer;
use crate::stack::stack_bounds;

/// Objects of one stack that are watched. The end of further ones shows late: when the thread ends.
pub(super) const MOST: usize = 16;

/// `sizeof(struct pthread)` of glibc: what is on a thread's stack above its pthread_t.
const DESCRIPTOR: u64 = 2304;

/// Part of [`crate::debugobjects::threads::Own`]: zeroed at the thread's start.
#[repr(C)]
pub struct Frames {
    pub(super) len: u32,
    pub(super) objects: [u64; MOST],
    /// None of them lies below. Of no meaning if there are none.
    pub(super) lowest: u64,
    /// There were more.
    pub(super) has_lost: bool,
}

impl Frames {
    /// For a thread that ends: the part of its stack that may have objects, with its thread-local
    /// memory. `None` for the main thread, whose stack stays.
    pub fn all(&self) -> Option<(u64, u64)> {
        let (sp, top) = (stack_pointer(), stack_bounds::descriptor());
        let lowest = stack_bounds::known().lowest();
        if sp >= top || lowest.is_some() && !stack_bounds::known().contain(sp) {
            return None;
        }
        let noted = self.objects[..self.len as usize].iter().copied();
        let from = match self.has_lost {
            true => lowest.unwrap_or(sp),
            false => noted.fold(sp, u64::min),
        };
        Some((from, top + DESCRIPTOR))
    }
}
