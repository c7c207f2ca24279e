//! GLib's GMutex and GCond, which are a futex each, and memory that GLib hands out.

use core::ffi::{c_int, c_void};

use lockwright_ledger::rows::mode;

use super::steps::{self, Call};
use super::table::next;
use crate::callsite::Return;
use crate::interpose::freed;
use crate::os::tls;

pub type Mutex = *mut c_void;
pub type RwLock = *mut c_void;
pub type Cond = *mut c_void;
/// What `g_slice_alloc` gave.
pub type Block = *mut c_void;

/// `g_mutex_init`.
pub unsafe extern "C-unwind" fn init(m: Mutex, site: u64) {
    // SAFETY: forwarded.
    unsafe { next::g_mutex_init(m) };
    steps::init(m as u64, site);
}

/// `g_mutex_clear`.
pub unsafe extern "C-unwind" fn clear(m: Mutex, site: u64) {
    steps::destroy(m as u64, site);
    // SAFETY: forwarded.
    unsafe { next::g_mutex_clear(m) };
}

/// `g_mutex_lock`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: 0, site, back };
    // SAFETY: the caller's mutex.
    steps::take(
        call,
        || unsafe { next::g_mutex_trylock(m) } != 0,
        || unsafe {
            next::g_mutex_lock(m);
        },
    );
}

/// `g_mutex_trylock`.
pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    let had = unsafe { next::g_mutex_trylock(m) };
    steps::tried(Call { lock: m as u64, flags: 0, site, back }, had != 0);
    had
}

/// `g_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, site: u64) {
    steps::release(m as u64, site);
    // SAFETY: forwarded.
    unsafe { next::g_mutex_unlock(m) };
}

/// `g_cond_init`.
pub unsafe extern "C-unwind" fn cond_init(c: Cond, _site: u64) {
    steps::forget(c as u64);
    // SAFETY: forwarded.
    unsafe { next::g_cond_init(c) };
}

/// `g_cond_clear`.
pub unsafe extern "C-unwind" fn cond_clear(c: Cond, _site: u64) {
    // SAFETY: forwarded.
    unsafe { next::g_cond_clear(c) };
    steps::forget(c as u64);
}

/// `g_cond_wait`.
pub unsafe extern "C-unwind" fn cond_wait(c: Cond, m: Mutex, site: u64) {
    // SAFETY: forwarded.
    steps::wait(c as u64, m as u64, site, 0, || unsafe { next::g_cond_wait(c, m) });
}

/// `g_cond_wait_until`.
pub unsafe extern "C-unwind" fn cond_wait_until(c: Cond, m: Mutex, end: i64, site: u64) -> c_int {
    let mut signalled = 0;
    steps::wait(c as u64, m as u64, site, mode::TIMED, || {
        // SAFETY: forwarded.
        signalled = unsafe { next::g_cond_wait_until(c, m, end) };
    });
    signalled
}

/// `g_cond_signal`.
pub unsafe extern "C-unwind" fn cond_signal(c: Cond, site: u64) {
    steps::signal(c as u64, site, false);
    // SAFETY: forwarded.
    unsafe { next::g_cond_signal(c) };
}

/// `g_cond_broadcast`.
pub unsafe extern "C-unwind" fn cond_broadcast(c: Cond, site: u64) {
    steps::signal(c as u64, site, true);
    // SAFETY: forwarded.
    unsafe { next::g_cond_broadcast(c) };
}

/// A GRecMutex or GRWLock without its pthread lock is about to be used, and to get one from the
/// calling thread. That is not the first to know of it, for all that its lock is new.
pub unsafe extern "C-unwind" fn makes() {
    // SAFETY: the calling thread's state, or null.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
    }
}

/// `g_slice_free1`. Until GLib 2.76 the memory does not pass through `free`.
pub unsafe extern "C-unwind" fn slice_free(size: usize, block: Block, _site: u64) {
    // SAFETY: the caller's block; forwarded.
    unsafe {
        freed::given_back(block, size);
        next::g_slice_free1(size, block);
    }
}

/// `g_slice_free_chain_with_offset`: of blocks that each point to the next.
pub unsafe extern "C-unwind" fn slice_free_chain(
    size: usize,
    chain: Block,
    offset: usize,
    _site: u64,
) {
    let mut block = chain;
    while !block.is_null() {
        // SAFETY: the caller's blocks, with the word that it names in each.
        unsafe {
            freed::given_back(block, size);
            block = block.byte_add(offset).cast::<Block>().read();
        }
    }
    // SAFETY: forwarded.
    unsafe { next::g_slice_free_chain_with_offset(size, chain, offset) };
}
