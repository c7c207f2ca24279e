//! Memory that is given back with locks in it: by `free`, by a `realloc` that moves, by `munmap`,
//! by `mremap`. A held one is misuse; and whatever comes to lie there next is another lock.
//!
//! `free` of a block that holds no lock must cost next to nothing. Of glibc's malloc `free` and `realloc` do not come here
//! before there is a lock in memory that may be freed. From then on, where locks were seen is noted by page, with a page
//! before it, since the block may begin there: of blocks of up to a page the first page tells, and then the lines of 64
//! bytes that it lies in. For larger blocks, which are rare, all pages are looked at. How large a block is,
//! [`crate::interpose::block_size`] knows; a block whose size is not known is not looked at.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

use lockwright_ledger::rows::finding_kind;
use lockwright_ledger::rows::object::object_end;

use crate::debugobjects;
use crate::interpose::guarded::Guarded;
use crate::interpose::locks_within::{self, bit_locks_go};
use crate::interpose::{allocation, block_size, signal_unsafe};
use crate::libc::real;
use crate::lock_id::lock_pages::{self, PAGE, is_noted};
use crate::lock_id::{bit_locks, unstamped};
use crate::lockdep::{self, misuse};
use crate::os::{loader, tls};
use crate::recorder::state;

type Free = unsafe extern "C" fn(*mut c_void);
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

/// Bytes of a block of which the first page tells whether there may be a lock in it.
const SMALL: usize = PAGE as usize;

static NEXT_FREE: AtomicUsize = AtomicUsize::new(0);
static NEXT_REALLOC: AtomicUsize = AtomicUsize::new(0);

/// Looks at what is freed, as soon as that may hold a lock. To be called before the program's main.
pub fn start() {
    NEXT_FREE.store(signal_unsafe::next_free(), Relaxed);
    if loader::next_is_c_librarys(c"free") {
        block_size::are_glibcs();
        NEXT_REALLOC.store(signal_unsafe::next(Guarded::realloc), Relaxed);
        lock_pages::tell_first(look_from_now_on);
    } else if block_size::are_recorded() {
        allocation::start();
        // After that: it has put a `realloc` of its own in the way.
        NEXT_REALLOC.store(signal_unsafe::next(Guarded::realloc), Relaxed);
        signal_unsafe::divert_free(free_by_size as Free as usize);
        signal_unsafe::divert(Guarded::realloc, realloc as Realloc as usize);
    }
}

/// Looks at what glibc's malloc frees from now on. Threads may call this at once, and each finds it done when it returns.
fn look_from_now_on() {
    // Without lockdep no thread has a state, and without that there is nothing to do.
    if lockdep::is_wanted() {
        signal_unsafe::divert_free(free_by_header as Free as usize);
    }
    signal_unsafe::divert(Guarded::realloc, realloc as Realloc as usize);
}

/// glibc's word before a block: its size with this word, and three bits that say something else.
const LARGE_HEADER: usize = SMALL + 8 + 7;

/// `free` of glibc's malloc. Null is on the first page, which [`lock_pages::tell_first`] has noted, so its header is not read.
///
/// # Safety
/// `block` is null or a live block of glibc's malloc, as for `free`.
#[unsafe(naked)]
unsafe extern "C" fn free_by_header(block: *mut c_void) {
    code!(
        free_by_header,
        mask = const lock_pages::PAGES - 1,
        pages = sym lock_pages::LOCK_PAGES,
        large = const LARGE_HEADER,
        look = sym free_looking,
        next = sym NEXT_FREE,
    )
}

/// `free` of a block of glibc's that may hold a lock.
///
/// # Safety
/// As for [`free_by_header`].
unsafe extern "C" fn free_looking(block: *mut c_void) {
    // SAFETY: the program is about to free `block`, so it is null or a live block of glibc's malloc, and the next `free`
    // gets it unchanged.
    unsafe {
        look(block, block_size::of(block));
        core::mem::transmute::<usize, Free>(NEXT_FREE.load(Relaxed))(block);
    }
}

/// `free` of another malloc.
///
/// # Safety
/// `block` is null or a live block of the program's allocator, as for `free`.
unsafe extern "C" fn free_by_size(block: *mut c_void) {
    // SAFETY: the program is about to free `block`, of which the allocator knows so many bytes, and the next `free` has
    // this type and gets it unchanged.
    unsafe {
        let len = block_size::take(block);
        if len > SMALL || lock_pages::is_page_noted(block as u64) {
            look(block, len);
        }
        core::mem::transmute::<usize, Free>(NEXT_FREE.load(Relaxed))(block);
    }
}

/// Looks at a block that is about to be freed: a large one, or one in whose first page, or the next, there may be a lock.
///
/// # Safety
/// The caller's block of `len` bytes; 0 if that is not known.
unsafe fn look(block: *mut c_void, len: usize) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() }
        && len != 0
        && (len > SMALL || is_noted(block as u64, block as u64 + len as u64))
    {
        // SAFETY: the caller promises its block of `len` bytes, which is not yet freed.
        unsafe { locks_within::look(thread, block, len) };
    }
}

/// Whether the block moves is only known afterwards, when it is too late to look: so the holder of
/// a lock in it is looked up before, if there may be one.
///
/// # Safety
/// `old` is null or a live block of the program's allocator, as for `realloc`.
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the next function of that name.
    let next = unsafe { core::mem::transmute::<usize, Realloc>(NEXT_REALLOC.load(Relaxed)) };
    // Before the call: another thread may be given the block at once.
    // SAFETY: `old` is null or the block that the program is about to reallocate.
    let len = unsafe { block_size::take(old) };
    let (from, to) = (old as u64, old as u64 + len as u64);
    let moves = |new: *mut c_void| !new.is_null() || size == 0;
    // SAFETY: `next` is the next `realloc`, and gets the program's own `old` and `size` unchanged.
    let call = || unsafe { next(old, size) };
    let new = if len == 0 || !is_noted(from, to) {
        call()
    } else {
        may_move(from..to, object_end::MOVED, moves, call)
    };
    if !moves(new) {
        // It keeps the old one.
        block_size::record(old, len);
    }
    new
}

/// `call` moves the memory at `old`, with locks or other objects in it, or leaves it there. It
/// returns the new address if `succeeded` is true of the result.
#[cold]
fn may_move(
    old: core::ops::Range<u64>,
    how: u8,
    succeeded: impl FnOnce(*mut c_void) -> bool,
    call: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let holder = state::with_core(|core| core.holder_in(old.start, old.end)).flatten();
    let holder = holder.filter(|holder| !bit_locks::is_one(holder.addr));
    let objects = debugobjects::freed_memory::may_go(old.start, old.end);
    let new = call();
    if new as u64 != old.start && succeeded(new) {
        bit_locks_go(old.start, old.end);
        unstamped::forget_range(old.start, old.end);
        // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
        if let (Some(holder), Some(thread)) = (holder, unsafe { tls::get().as_mut() }) {
            misuse::held(thread, finding_kind::HELD_FREED, &holder);
        }
        objects.went(how, holder.map(|holder| holder.addr));
    } else {
        objects.stayed();
    }
    new
}

/// # Safety
/// The arguments keep the contract of `munmap`.
pub unsafe extern "C-unwind" fn munmap(at: *mut c_void, len: usize, _site: u64) -> c_int {
    unmaps(at as u64, len);
    // SAFETY: the next `munmap` gets the program's own `at` and `len` unchanged, as without us.
    unsafe { real::munmap(at, len) }
}

/// Memory is about to be unmapped.
fn unmaps(from: u64, len: usize) {
    let to = from.saturating_add(len as u64);
    if state::status() == state::ACTIVE
        && from < to
        && is_noted(from, to)
        // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
        && let Some(thread) = unsafe { tls::get().as_mut() }
    {
        bit_locks_go(from, to);
        let told = misuse::if_held(thread, finding_kind::HELD_FREED, from, to);
        unstamped::forget_range(from, to);
        debugobjects::freed_memory::check(from, to, object_end::UNMAPPED, told);
    }
}

/// Three ranges lose their content: the old place, the part that is cut off, and the target that is
/// overwritten.
///
/// # Safety
/// The arguments keep the contract of `mremap`.
pub unsafe extern "C-unwind" fn mremap(
    old: *mut c_void,
    old_len: usize,
    len: usize,
    flags: c_int,
    to: *mut c_void,
    _site: u64,
) -> *mut c_void {
    if flags & libc::MREMAP_FIXED != 0 {
        unmaps(to as u64, len);
    }
    let kept = old_len.min(len);
    unmaps(old as u64 + kept as u64, old_len - kept);
    // SAFETY: the next `mremap` gets the program's own arguments unchanged, as without us.
    let call = || unsafe { real::mremap(old, old_len, len, flags, to) };
    let stays = old as u64..old as u64 + kept as u64;
    if state::status() != state::ACTIVE || stays.is_empty() || !is_noted(stays.start, stays.end) {
        return call();
    }
    may_move(stays, object_end::UNMAPPED, |new| new != libc::MAP_FAILED, call)
}
