//! In which pages locks and tracked objects were seen, for those who give memory back.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::*};

use crate::os::readable;
use crate::os::upcall::Upcall;
use crate::stack::modules;

/// What was seen in a page, by the low bits of its number: 0, or bits of [`STAMPED`] and
/// [`UNSTAMPED`]. A page with nothing in it costs `free` a load and a branch.
pub static LOCK_PAGES: [AtomicU8; PAGES] = [const { AtomicU8::new(0) }; PAGES];
/// Entries of [`LOCK_PAGES`]: 128 MiB have one each.
pub const PAGES: usize = 1 << 15;
/// Where in a page something was seen: a bit for each [`LINE`]. A block next to a lock costs a look
/// at these, which are touched only where there are locks.
static LINES: [AtomicU64; PAGES] = [const { AtomicU64::new(0) }; PAGES];
/// Bytes of a line.
const LINE: u64 = PAGE / 64;
pub const PAGE: u64 = 4096;
/// A lock that carries a stamp.
pub const STAMPED: u8 = 1;
/// A lock that is known by its address.
pub const UNSTAMPED: u8 = 2;
/// An object that debugobjects tracks.
pub const TRACKED: u8 = 4;

/// The page of null, on which there is nothing.
const NULL: u8 = 8;

/// Is called when something was seen in memory that may be freed.
static FIRST: Upcall<fn()> = Upcall::none();
/// It was seen.
static IS_SEEN: AtomicBool = AtomicBool::new(false);
/// [`FIRST`] was called.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Has `first` be called once something may be in memory that is freed, before the thread that notes it goes on. Several
/// threads may call it at once. Null counts as on a page with something from now on. To be called before the program's main.
pub fn tell_first(first: fn()) {
    LOCK_PAGES[0].fetch_or(NULL, Relaxed);
    FIRST.set(first);
    if IS_SEEN.load(Relaxed) {
        tell();
    }
}

#[cold]
#[inline(never)]
fn seen_at(addr: u64) {
    // What lies in a module is unmapped, never freed.
    if modules::locate(addr).is_none() {
        tell();
    }
}

fn tell() {
    IS_SEEN.store(true, Relaxed);
    if let Some(first) = FIRST.get() {
        first();
        // After the call: a thread that finds this need not call it.
        IS_TOLD.store(true, Release);
    }
}

/// There is a lock at `addr`, in memory that may be freed or unmapped.
pub fn note_lock(addr: u64, is_stamped: bool) {
    // Any lock and its stamp.
    note(addr, 64, if is_stamped { STAMPED } else { UNSTAMPED });
}

/// There is a tracked object of `size` bytes at `addr`, in memory that may be freed or unmapped.
pub fn note_object(addr: u64, size: u64) {
    note(addr, size, TRACKED);
}

#[inline(always)]
fn note(addr: u64, size: u64, what: u8) {
    // Acquire pairs with the Release in `tell`.
    if !IS_TOLD.load(Acquire) {
        seen_at(addr);
    }
    // A block may begin on the page before.
    note_page((addr / PAGE).wrapping_sub(1), what);
    match in_one_page(addr, addr + size) {
        Some((page, lines)) => note_lines(page, lines, what),
        None => {
            lines_of(addr, addr + size).for_each(|(page, lines)| note_lines(page, lines, what));
        }
    }
}

#[inline(always)]
fn note_lines(page: u64, lines: u64, what: u8) {
    note_page(page, what);
    let noted = &LINES[page as usize % PAGES];
    if noted.load(Relaxed) & lines != lines {
        noted.fetch_or(lines, Relaxed);
    }
}

fn note_page(page: u64, what: u8) {
    let noted = &LOCK_PAGES[page as usize % PAGES];
    if noted.load(Relaxed) & what == 0 {
        noted.fetch_or(what, Relaxed);
    }
}

/// Something was seen in the page of `addr` or the next.
pub fn is_page_noted(addr: u64) -> bool {
    LOCK_PAGES[(addr / PAGE) as usize % PAGES].load(Relaxed) != 0
}

/// Something was seen in the lines of `[from, to)`, which is not empty. Relaxed: what is in memory
/// that goes here and now was noted before it came to that.
pub fn is_noted(from: u64, to: u64) -> bool {
    let has = |(page, lines): (u64, u64)| LINES[page as usize % PAGES].load(Relaxed) & lines != 0;
    match in_one_page(from, to) {
        Some(lines) => has(lines),
        None => lines_of(from, to).any(has),
    }
}

/// There is an object at `at`, or there was: the C library answers the end of some without a look
/// at them.
pub fn has_memory<T>(at: *const T) -> bool {
    let from = at as u64;
    let to = from.saturating_add(size_of::<T>() as u64);
    from != 0 && (is_noted(from, to) || readable::is_readable(at))
}

/// As [`lines_of`], for what lies in one page, as nearly everything does.
#[inline(always)]
fn in_one_page(from: u64, to: u64) -> Option<(u64, u64)> {
    let (first, last) = (from / LINE, (to - 1) / LINE);
    let lines = (!0 << (first % 64)) & (!0 >> (63 - last % 64));
    (first / 64 == last / 64).then_some((first / 64, lines))
}

/// The pages of `[from, to)`, which is not empty, and for each the bits of its lines in there. More
/// than there are entries for are not told apart.
fn lines_of(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let (first, last) = (from / LINE, (to - 1) / LINE);
    (first / 64..=last / 64).take(PAGES).map(move |page| {
        let after = if page == first / 64 { !0 << (first % 64) } else { !0 };
        let before = if page == last / 64 { !0 >> (63 - last % 64) } else { !0 };
        (page, after & before)
    })
}

/// There may be tracked objects in `[from, to)`.
pub fn may_have_objects(from: u64, to: u64) -> bool {
    seen(from, to) & TRACKED != 0
}

/// All that was seen in the pages of `[from, to)`.
pub fn seen(from: u64, to: u64) -> u8 {
    let pages = from / PAGE..=(to - 1) / PAGE;
    let most = pages.take(PAGES);
    most.fold(0, |seen, page| seen | LOCK_PAGES[page as usize % PAGES].load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_one_page_are_found_as_those_in_several() {
        for (from, to) in
            [(0, 1), (63, 65), (4032, 4096), (8192, 12288), (PAGE * 7 + 100, PAGE * 7 + 140)]
        {
            assert_eq!(
                in_one_page(from, to).into_iter().collect::<Vec<_>>(),
                lines_of(from, to).collect::<Vec<_>>()
            );
        }
        assert_eq!(in_one_page(4095, 4097), None);
        assert_eq!(lines_of(4095, 4097).collect::<Vec<_>>(), [(0, 1 << 63), (1, 1)]);
    }

    #[test]
    fn what_was_noted_is_found_in_its_lines_and_no_others() {
        // Two pages of no mapping that a test uses.
        let at = 0x5000_0000_0fe0;
        note(at, 64, STAMPED);
        assert!(
            is_noted(at, at + 1) && is_noted(at + 63, at + 64) && is_noted(at - 5000, at + 5000)
        );
        assert!(!is_noted(at - 64, at - 32) && !is_noted(at + 96, at + 128));
        assert!(is_page_noted(at) && is_page_noted(at - PAGE) && is_page_noted(at + PAGE));
    }
}
