//! Call stacks by number, each kept once. Read and written without a lock; nothing is ever taken
//! out. A stack through a module that is gone is none until the module is there again.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use super::blocks::STACKS;
use crate::os::sys;
use crate::stack::modules;

/// Frames that are kept: enough to get past `operator new` and what the standard library puts
/// before it.
pub const FRAMES: usize = 12;

/// Stacks that fit. Address space is taken for all, memory for those that there are.
const MOST: u32 = 1 << 20;
const INDEX: usize = 2 * MOST as usize;

const _: () = assert!(MOST <= STACKS);

struct Stack {
    len: u32,
    /// For [`super::paths`].
    path: AtomicU32,
    /// 0 before it can be read, then [`THERE`]; or that its code is gone, and what it was: see [`gone`].
    state: AtomicU64,
    frames: [u64; FRAMES],
}

/// Its code is there.
const THERE: u64 = 1;

/// The state of a stack whose code is gone: a hash of its lasting addresses. Asked for while the code is there.
fn gone(frames: &[u64]) -> u64 {
    hash(frames.iter().map(|&pc| modules::lasting(pc))) | 1 << 63
}

/// All zero at first.
struct Table {
    /// Open addressing: 44 bits of the hash, then 20 of the number; 0 is free.
    index: [AtomicU64; INDEX],
    /// Numbers given away so far; 0 is none.
    used: AtomicU32,
    stacks: [UnsafeCell<Stack>; MOST as usize],
}

// SAFETY: the thread that drew a stack's number writes the stack, before the number is published.
unsafe impl Sync for Table {}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the table. False where there is no address space for it.
pub fn start() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let bytes = size_of::<Table>();
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
    let at = unsafe { sys::mmap(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1) };
    if at <= 0 {
        return false;
    }
    // SAFETY: the range is the mapping made above, which nobody else knows yet, and advice changes
    // no content.
    unsafe {
        sys::madvise(at as *mut u8, bytes, libc::MADV_NOHUGEPAGE);
        sys::madvise(at as *mut u8, bytes, libc::MADV_DONTDUMP);
    }
    TABLE.store(at as *mut Table, Release);
    true
}

fn table() -> Option<&'static Table> {
    // Acquire pairs with the Release in `start`.
    // SAFETY: null or the table, which stays mapped.
    unsafe { TABLE.load(Acquire).as_ref() }
}

/// Multiply and fold: two stacks rarely differ in their last bits only.
fn hash(frames: impl ExactSizeIterator<Item = u64>) -> u64 {
    let mut h = frames.len() as u64;
    for pc in frames {
        h = (h.rotate_left(23) ^ pc).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (h ^ h >> 29).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// The number of a stack, and whether it is new. `None` for no stack at all, or if the table is
/// full. As with the kernel's chain keys a hash stands for the whole.
pub fn intern(frames: &[u64]) -> Option<(u32, bool)> {
    let table = table()?;
    if frames.is_empty() {
        return None;
    }
    let hash = hash(frames.iter().copied());
    let tag = hash & !u64::from(MOST - 1);
    let mut mine = 0;
    let mut i = (hash >> 11) as usize;
    // The index is never more than half full, so a free word is near.
    loop {
        let word = &table.index[i % INDEX];
        // Acquire pairs with the Release of the exchange: the stack is there.
        let mut found = word.load(Acquire);
        if found == 0 {
            if mine == 0 {
                mine = draw(table, frames)?;
            }
            match word.compare_exchange(0, tag | u64::from(mine), AcqRel, Acquire) {
                Ok(_) => return Some((mine, true)),
                // Another thread was faster, maybe with the same stack; then our number is wasted.
                Err(theirs) => found = theirs,
            }
        }
        let id = found as u32 & (MOST - 1);
        if found & !u64::from(MOST - 1) == tag && is_there(id, frames) {
            return Some((id, false));
        }
        i = i.wrapping_add(1);
    }
}

/// The code of a stack with these addresses is there. It is that of these frames, if it is there again.
fn is_there(id: u32, frames: &[u64]) -> bool {
    let Some(stack) = stack(id) else { return false };
    let state = stack.state.load(Relaxed);
    // Relaxed: another thread that finds it gone asks for itself.
    let is_again = || {
        state == gone(frames) && {
            stack.state.store(THERE, Relaxed);
            true
        }
    };
    state == THERE || is_again()
}

/// The module in `[from, to)` is about to be taken off the list.
pub fn unloaded(from: u64, to: u64) {
    let Some(table) = table() else { return };
    for id in 1..=table.used.load(Relaxed) {
        let Some(at) = table.stacks.get(id as usize) else { return };
        // SAFETY: its number was drawn, so it stays; only its atomic is looked at.
        let state = unsafe { &(*at.get()).state };
        // Acquire pairs with the Release in `draw`: the frames are there.
        if state.load(Acquire) == THERE {
            let frames = frames(id);
            if frames.iter().any(|pc| (from..to).contains(pc)) {
                state.store(gone(frames), Relaxed);
            }
        }
    }
}

/// Writes a stack where nobody looks yet.
fn draw(table: &Table, frames: &[u64]) -> Option<u32> {
    let drawn = table.used.fetch_update(Relaxed, Relaxed, |n| (n < MOST - 1).then_some(n + 1));
    let id = drawn.ok()? + 1;
    // SAFETY: the number is ours alone until it is published.
    let stack = unsafe { &mut *table.stacks[id as usize].get() };
    let n = frames.len().min(FRAMES);
    stack.frames[..n].copy_from_slice(&frames[..n]);
    stack.len = n as u32;
    // Release pairs with the Acquire in `unloaded`.
    stack.state.store(THERE, Release);
    Some(id)
}

fn stack(id: u32) -> Option<&'static Stack> {
    let stack = table()?.stacks.get(id as usize)?;
    // SAFETY: published, so nobody writes it any more, except its atomic.
    Some(unsafe { &*stack.get() })
}

/// The frames of stack `id`; none if there is no such stack, or its code is gone.
pub fn get(id: u32) -> &'static [u64] {
    // Relaxed: the code goes at any time.
    match stack(id) {
        Some(stack) if stack.state.load(Relaxed) == THERE => frames(id),
        _ => &[],
    }
}

fn frames(id: u32) -> &'static [u64] {
    stack(id).map_or(&[], |stack| &stack.frames[..(stack.len as usize).min(FRAMES)])
}

/// The path of stack `id` that was kept last.
pub fn path(id: u32) -> Option<&'static AtomicU32> {
    stack(id).map(|stack| &stack.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_have_one_number() {
        assert!(start());
        let (one, is_new) = intern(&[1, 2, 3]).unwrap();
        assert!(is_new && one != 0);
        assert_eq!(intern(&[1, 2, 3]), Some((one, false)));
        let (two, _) = intern(&[1, 2]).unwrap();
        assert_ne!(one, two);
        assert_eq!((get(one), get(two)), (&[1, 2, 3][..], &[1, 2][..]));
        assert_eq!(intern(&[]), None);
        for i in 0..100_000 {
            assert_eq!(intern(&[i, 7]).map(|(id, _)| get(id)), Some(&[i, 7][..]));
        }
        code_that_is_gone_is_no_stack();
    }

    /// In no module, so it is the same code that comes again.
    fn code_that_is_gone_is_no_stack() {
        let code = [0x7000_0000_1000, 0x7000_0000_2000];
        let (id, _) = intern(&code).unwrap();
        unloaded(0x7000_0000_3000, 0x7000_0000_4000);
        assert_eq!(get(id), code);
        unloaded(0x7000_0000_2000, 0x7000_0000_3000);
        assert!(get(id).is_empty());
        assert_eq!(intern(&code), Some((id, false)));
        assert_eq!(get(id), code);
        // Other code was there.
        stack(id).unwrap().state.store(1 << 63, Relaxed);
        let (other, is_new) = intern(&code).unwrap();
        assert!(is_new && other != id && get(id).is_empty());
        assert_eq!(get(other), code);
    }
}
