//! Tracked objects on their thread's stack: when the function of their frame has returned, their
//! memory is gone, and no call says so. So the thread keeps a short list, and checks it when it
//! next reports an object.

use lockwright_ledger::rows::object::object_end;

use super::frame_list::MOST;
use crate::arch::{RED_ZONE, stack_pointer};
use crate::debugobjects::{freed_memory, threads};
use crate::stack::stack_bounds;
use crate::stack::unwind::Frame;

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
    frames.lowest = if len == 0 { addr } else { frames.lowest.min(addr) };
    // The length last: a handler that comes between overwrites one, at worst.
    frames.objects[len] = addr;
    frames.len = len as u32 + 1;
}

/// Reports objects whose frames are gone: those below the frame of the call `from`, if it is known.
#[inline(always)]
pub fn sweep(from: Option<Frame>) {
    let frames = &threads::get().frames;
    if frames.len == 0 {
        return;
    }
    let end = from.map_or_else(stack_pointer, |call| call.sp) - RED_ZONE;
    if frames.lowest < end {
        sweep_below(end);
    }
}

#[cold]
#[inline(never)]
fn sweep_below(end: u64) {
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
    let frames = &mut threads::get().frames;
    frames.lowest = frames.objects[..frames.len as usize].iter().copied().fold(u64::MAX, u64::min);
}
