//! Tracked objects on their thread's stack: when the function has returned in whose frame one was,
//! its memory is gone, and nobody is told. So the thread keeps a short list, and looks through it
//! when it next tells of an object.

use core::arch::asm;

use lockwright_ledger::rows::object::object_end;

use super::{gone, threads};
use crate::os::sys;
use crate::stack::modules;

/// Objects of one stack that are watched. Of more than these it shows late that they are gone: when
/// the thread ends.
const MOST: usize = 16;

/// How often to look for the bounds of a stack. More than once, since a first object may be on
/// another (a coroutine's).
const TRIES: u32 = 4;

/// `sizeof(struct pthread)` of glibc: what is on a thread's stack above its pthread_t.
const DESCRIPTOR: u64 = 2304;

/// glibc leaves this much of a stack's end to leaf functions (the System V ABI's red zone).
const RED_ZONE: u64 = 128;

/// Part of [`super::threads::Own`]: zeroed at the thread's start.
#[repr(C)]
pub struct Frames {
    /// Bounds of the thread's stack, 0 and 0 if not known.
    from: u64,
    to: u64,
    tries: u32,
    len: u32,
    objects: [u64; MOST],
    /// There were more.
    has_lost: bool,
}

fn stack_pointer() -> u64 {
    let rsp: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) rsp, options(nomem, nostack, preserves_flags)) };
    rsp
}

/// The calling thread's pthread_t: where its stack ends, unless it is the main thread.
fn descriptor() -> u64 {
    // SAFETY: no arguments.
    unsafe { libc::pthread_self() }
}

/// The object at `addr` is in a frame on the calling thread's stack.
pub fn has(addr: u64) -> bool {
    let rsp = stack_pointer();
    // Of a thread, everything between is its stack, or this is not called on its stack.
    if addr < rsp || descriptor() > rsp && addr >= descriptor() {
        return false;
    }
    let frames = &mut threads::get().frames;
    if frames.to == 0 && frames.tries < TRIES {
        frames.tries += 1;
        frames.look(rsp);
    }
    frames.is_on(rsp) && frames.is_on(addr)
}

/// The address is on the calling thread's stack, in a frame that is there or in one that was.
pub fn is_own(addr: u64) -> bool {
    let rsp = stack_pointer();
    let frames = &mut threads::get().frames;
    if frames.to == 0 && frames.tries < TRIES {
        frames.tries += 1;
        frames.look(rsp);
    }
    frames.is_on(rsp) && frames.is_on(addr)
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

/// Tells of objects whose frames are gone.
pub fn sweep() {
    let frames = &mut threads::get().frames;
    if frames.len == 0 {
        return;
    }
    let end = stack_pointer() - RED_ZONE;
    if !frames.is_on(end) {
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
        gone::check(addr, addr + 1, object_end::FRAME, None);
    }
}

impl Frames {
    fn is_on(&self, addr: u64) -> bool {
        (self.from..self.to).contains(&addr)
    }

    /// Looks for the bounds of the stack that `rsp` is on, if that is the thread's own.
    #[cold]
    fn look(&mut self, rsp: u64) {
        let Some(found) = modules::mapping_of(rsp) else { return };
        let top = descriptor();
        if found.is_main_stack {
            /// Where there is no limit: what nobody's frames reach.
            const MOST: u64 = 1 << 30;
            let size = sys::limit(libc::RLIMIT_STACK).min(MOST);
            (self.from, self.to) = (found.end.saturating_sub(size).min(found.start), found.end);
        } else if rsp < top && top < found.end {
            (self.from, self.to) = (found.start, top);
        }
    }

    /// Of a thread that ends: what of its stack may have objects, with its thread-local memory.
    /// `None` of the main thread, whose stack stays.
    pub fn all(&self) -> Option<(u64, u64)> {
        let (rsp, top) = (stack_pointer(), descriptor());
        if rsp >= top || self.to != 0 && !self.is_on(rsp) {
            return None;
        }
        let noted = self.objects[..self.len as usize].iter().copied();
        let from = match self.has_lost {
            true => self.from,
            false => noted.fold(rsp, u64::min),
        };
        Some((from, top + DESCRIPTOR))
    }
}
