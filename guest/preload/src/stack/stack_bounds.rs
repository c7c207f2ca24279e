//! The calling thread's stack: where it lies. Looked up when first asked for, and kept in
//! initial-exec TLS.

use core::arch::global_asm;
use core::mem::size_of;

use super::modules;
use crate::arch::stack_pointer;
use crate::os::sys;

/// How often to look for the bounds of a stack. More than once, since the first caller may be on
/// another (a coroutine's).
const TRIES: u32 = 4;

/// Bounds of a thread's stack, 0 and 0 if not known. Zeroed at the thread's start.
#[repr(C)]
pub struct Bounds {
    from: u64,
    to: u64,
    tries: u32,
}

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl lockwright_stack",
    ".hidden lockwright_stack",
    ".type lockwright_stack, @object",
    ".size lockwright_stack, {size}",
    "lockwright_stack:",
    ".zero {size}",
    ".text",
    size = const size_of::<Bounds>(),
);

/// Those of the calling thread, as far as they were looked up.
#[inline(always)]
pub fn known() -> &'static mut Bounds {
    // SAFETY: the address of this thread's copy of the symbol above.
    let own = (unsafe { own_address!("lockwright_stack") }) as *mut Bounds;
    // SAFETY: the thread's, as long as it runs. A handler that comes between looks up the same.
    unsafe { &mut *own }
}

/// The calling thread's pthread_t: where its stack ends, unless it is the main thread.
pub fn descriptor() -> u64 {
    // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
    unsafe { libc::pthread_self() }
}

/// The address is on the calling thread's stack, in a frame that is there or in one that was.
pub fn has(addr: u64) -> bool {
    let sp = stack_pointer();
    let bounds = known();
    if bounds.to == 0 && bounds.tries < TRIES {
        bounds.tries += 1;
        bounds.look(sp);
    }
    bounds.contain(sp) && bounds.contain(addr)
}

/// The address is on the calling thread's stack, in a frame that is there.
#[inline]
pub fn has_now(addr: u64) -> bool {
    let sp = stack_pointer();
    // Everything between is the thread's stack, or this is not called on its stack.
    addr >= sp && (descriptor() <= sp || addr < descriptor()) && has(addr)
}

impl Bounds {
    /// They are known, and the address is within.
    pub fn contain(&self, addr: u64) -> bool {
        (self.from..self.to).contains(&addr)
    }

    /// The lower one, if they are known.
    pub fn lowest(&self) -> Option<u64> {
        (self.to != 0).then_some(self.from)
    }

    /// Looks for the bounds of the stack that `sp` is on, if that is the thread's own.
    #[cold]
    fn look(&mut self, sp: u64) {
        let Some(found) = modules::mapping_of(sp) else { return };
        let top = descriptor();
        if found.is_main_stack {
            /// Where there is no limit: what nobody's frames reach.
            const MOST: u64 = 1 << 30;
            let size = sys::limit(libc::RLIMIT_STACK).min(MOST);
            (self.from, self.to) = (found.end.saturating_sub(size).min(found.start), found.end);
        } else if sp < top && top < found.end {
            (self.from, self.to) = (found.start, top);
        }
    }
}
