//! Tracked objects on their thread's stack: when the function of their frame has returned, their
//! memory is gone, and no call says so. So the thread keeps a short list, and checks it when it
//! next reports an object.

use lockwright_ledger::rows::object::object_end;

use crate::debugobjects::{freed_memory, threads};
use crate::stack::stack_bounds;

/// Objects of one stack that are watched. The end of further ones shows late: when the thread ends.
const MOST: usize = 16;

/// `sizeof(struct pthread)` of glibc: what is on a thread's stack above its pthread_t.
const DESCRIPTOR: u64 = 2304;

/// glibc leaves this much of a stack's end to leaf functions (the System V ABI's red zone).
const RED_ZONE: u64 = 128;

/// Part of [`crate::debugobjects::threads::Own`]: zeroed at the thread's start.
#[repr(C)]
pub struct Frames {
    len: u32,
    objects: [u64; MOST],
    /// There were more.
    has_lost: bool,
}

/// A tracked object on the calling thread's stack.
pub fn note(addr: u64) {
    let frames = &mut threads::get().frames;
    let len = frames.len as usize;
    if frames.objects[..len].contains(&addr) {
        return;
    }
    if len == MOST {
        frames.has_lost = true;
        return;
    }
    // The length last: a handler that comes between overwrites one, at worst.
    frames.objects[len] = addr;
    frames.len = len as u32 + 1;
}

/// Reports objects whose frames are gone.
pub fn sweep() {
    let frames = &mut threads::get().frames;
    if frames.len == 0 {
        return;
    }
    let end = stack_bounds::pointer() - RED_ZONE;
    if !stack_bounds::known().contain(end) {
        return;
    }
    let mut i = 0;
    while i < threads::get().frames.len as usize {
        let frames = &mut threads::get().frames;
        let addr = frames.objects[i];
        if addr >= end {
            i += 1;
            continue;
        }
        let last = frames.len as usize - 1;
        frames.objects[i] = frames.objects[last];
        frames.len = last as u32;
        freed_memory::check(addr, addr + 1, object_end::FRAME, None);
    }
}

impl Frames {
    /// For a thread that ends: the part of its stack that may have objects, with its thread-local
    /// memory. `None` for the main thread, whose stack stays.
    pub fn all(&self) -> Option<(u64, u64)> {
        let (rsp, top) = (stack_bounds::pointer(), stack_bounds::descriptor());
        let lowest = stack_bounds::known().lowest();
        if rsp >= top || lowest.is_some() && !stack_bounds::known().contain(rsp) {
            return None;
        }
        let noted = self.objects[..self.len as usize].iter().copied();
        let from = match self.has_lost {
            true => lowest.unwrap_or(rsp),
            false => noted.fold(rsp, u64::min),
        };
        Some((from, top + DESCRIPTOR))
    }
}
