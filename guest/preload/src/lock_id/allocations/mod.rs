//! Where live blocks of the heap were allocated, if the user wants that known: it tells apart locks
//! that nobody initialises (`std::mutex`) and that are all first taken in one place.

mod blocks;
mod paths;
mod stacks;

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::Stretch;

use self::blocks::Block;
pub use self::blocks::LEAST;
use crate::os::tls;
use crate::recorder::state;
use crate::stack::memo::Noted;
use crate::stack::modules;
use crate::stack::unwind::{self, Frame};

/// The block that a lock lies in.
pub struct Home {
    /// Call stack of its allocation, innermost frame first.
    pub frames: &'static [u64],
    /// The lock's offset in it.
    pub offset: u64,
    /// When it was allocated, and by which thread.
    pub stretch: Stretch,
}

/// Gets ready for the first block. Where there is no memory for that, all blocks count as lost.
pub fn start() {
    // Relaxed: nobody else is here.
    ARE_RECORDED.store(true, Relaxed);
    stacks::start();
    paths::start();
}

/// A module in `[from, to)` was unloaded, which is on the list yet: its addresses may come to mean something else.
pub fn unloaded(from: u64, to: u64) {
    if are_recorded() {
        paths::forget();
        stacks::unloaded(from, to);
    }
}

/// Blocks are recorded.
static ARE_RECORDED: AtomicBool = AtomicBool::new(false);

/// Blocks are recorded: a lock's class may be made of its block.
pub fn are_recorded() -> bool {
    ARE_RECORDED.load(Relaxed)
}

/// The program was given a block by an allocating function that was called from `call`.
///
/// # Safety
/// The call has not returned.
#[inline(always)]
pub unsafe fn record(call: Frame, block: u64, size: usize) {
    if block == 0 || size < LEAST {
        return;
    }
    // SAFETY: the caller promises a call that has not returned.
    let known = unsafe { paths::find(call) };
    // SAFETY: the caller promises a call that has not returned.
    let Some(stack) = known.or_else(|| unsafe { stack_from(call) }) else { return lost() };
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let stretch = unsafe { tls::get().as_ref() }.map_or(Stretch(0), |thread| thread.stretch());
    if !blocks::insert(block, Block { size: size as u64, stack, stretch }) {
        lost();
    }
}

/// A block is not recorded.
#[cold]
pub fn lost() {
    if let Some(header) = state::header() {
        header.allocations_lost.fetch_add(1, Relaxed);
    }
}

/// The number of the stack from a frame on.
///
/// # Safety
/// Its call has not returned.
#[cold]
unsafe fn stack_from(frame: Frame) -> Option<u32> {
    let mut frames = [0; stacks::FRAMES];
    let mut noted = Noted::new();
    noted.begin(frame);
    let n = unwind::capture_noting(&mut frames, frame, &mut noted);
    let (id, is_new) = stacks::intern(&frames[..n])?;
    if !is_new || frames[..n].iter().all(|&pc| modules::find(pc).is_some()) {
        if let Some(last) = stacks::path(id) {
            // SAFETY: the caller promises a call that has not returned.
            unsafe { paths::keep(frame, &noted, id, last) };
        }
        return Some(id);
    }
    // The first block of a module loaded since: once we know of the module the stack goes on.
    if state::with_core(|core| modules::cover(core, &frames[..n])) != Some(true) {
        return Some(id);
    }
    let n = unwind::capture_from(&mut frames, frame);
    Some(stacks::intern(&frames[..n])?.0)
}

/// The program is about to give a block back. What was known of it, for [`restore`].
pub fn forget(block: u64) -> Option<Block> {
    blocks::remove(block)
}

/// It kept it.
pub fn restore(block: u64, what: Block) {
    blocks::insert(block, what);
}

/// The live block that `address` lies in, if it was recorded.
pub fn find(address: u64) -> Option<Home> {
    let (start, block) = blocks::find(address)?;
    let frames = stacks::get(block.stack);
    (!frames.is_empty()).then(|| Home { frames, offset: address - start, stretch: block.stretch })
}
