//! GLib's GMutex and GCond, which are a futex each, and memory that GLib hands out.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::mode;

use super::steps::{self, Call};
use crate::callsite::Return;
use crate::interpose::locks_within;
use crate::os::tls;

pub type Mutex = *mut c_void;
pub type RwLock = *mut c_void;
pub type Cond = *mut c_void;
/// What `g_slice_alloc` gave.
pub type Block = *mut c_void;

next_functions! {
    g_mutex_init(m: Mutex) -> ();
    g_mutex_clear(m: Mutex) -> ();
    g_mutex_lock(m: Mutex) -> ();
    g_mutex_trylock(m: Mutex) -> c_int;
    g_mutex_unlock(m: Mutex) -> ();
    g_cond_init(c: Cond) -> ();
    g_cond_clear(c: Cond) -> ();
    g_cond_wait(c: Cond, m: Mutex) -> ();
    g_cond_wait_until(c: Cond, m: Mutex, end: i64) -> c_int;
    g_cond_signal(c: Cond) -> ();
    g_cond_broadcast(c: Cond) -> ();
    g_slice_free1(size: usize, block: Block) -> ();
    g_slice_free_chain_with_offset(size: usize, chain: Block, offset: usize) -> ();
    g_rec_mutex_lock(m: Mutex) -> ();
    g_rec_mutex_trylock(m: Mutex) -> c_int;
    g_rw_lock_writer_lock(l: RwLock) -> ();
    g_rw_lock_writer_trylock(l: RwLock) -> c_int;
    g_rw_lock_reader_lock(l: RwLock) -> ();
    g_rw_lock_reader_trylock(l: RwLock) -> c_int;
}

/// `g_mutex_init`.
///
/// # Safety
/// The arguments keep the contract of `g_mutex_init`; the stub passes `site`.
pub unsafe extern "C-unwind" fn init(m: Mutex, site: u64) {
    // SAFETY: the next `g_mutex_init` gets the program's own `m` unchanged, as without us.
    unsafe { next::g_mutex_init(m) };
    steps::init(m as u64, site);
}

/// `g_mutex_clear`.
///
/// # Safety
/// The arguments keep the contract of `g_mutex_clear`; the stub passes `site`.
pub unsafe extern "C-unwind" fn clear(m: Mutex, site: u64) {
    steps::destroy(m as u64, site);
    // SAFETY: the next `g_mutex_clear` gets the program's own `m` unchanged, as without us.
    unsafe { next::g_mutex_clear(m) };
}

/// `g_mutex_lock`.
///
/// # Safety
/// The arguments keep the contract of `g_mutex_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: 0, site, back };
    // SAFETY: the program passed `m` to `g_mutex_lock`, which asks of it what `g_mutex_trylock`
    // asks.
    steps::take(
        call,
        || unsafe { next::g_mutex_trylock(m) } != 0,
        || unsafe {
            next::g_mutex_lock(m);
        },
    );
}

/// `g_mutex_trylock`.
///
/// # Safety
/// The arguments keep the contract of `g_mutex_trylock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: the next `g_mutex_trylock` gets the program's own `m` unchanged, as without us.
    let had = unsafe { next::g_mutex_trylock(m) };
    steps::tried(Call { lock: m as u64, flags: 0, site, back }, had != 0);
    had
}

/// `g_mutex_unlock`.
///
/// # Safety
/// The arguments keep the contract of `g_mutex_unlock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, site: u64) {
    // SAFETY: `m` is the program's GMutex, of eight aligned bytes, which `g_mutex_unlock` reads.
    let state = || unsafe { AtomicU32::from_ptr(m.cast()) }.load(Relaxed);
    // Relaxed: a thread that holds the lock reads its own store; other threads' stores do not count.
    // Zero is an unlocked GMutex, and GLib then ends the process.
    steps::release_checked(m as u64, site, || state() == 0);
    // SAFETY: the next `g_mutex_unlock` gets the program's own `m` unchanged, as without us.
    unsafe { next::g_mutex_unlock(m) };
}

/// `g_cond_init`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_init`.
pub unsafe extern "C-unwind" fn cond_init(c: Cond, _site: u64) {
    steps::forget(c as u64);
    // SAFETY: the next `g_cond_init` gets the program's own `c` unchanged, as without us.
    unsafe { next::g_cond_init(c) };
}

/// `g_cond_clear`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_clear`.
pub unsafe extern "C-unwind" fn cond_clear(c: Cond, _site: u64) {
    // SAFETY: the next `g_cond_clear` gets the program's own `c` unchanged, as without us.
    unsafe { next::g_cond_clear(c) };
    steps::forget(c as u64);
}

/// `g_cond_wait`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_wait(c: Cond, m: Mutex, site: u64) {
    // SAFETY: the next `g_cond_wait` gets the program's own `c` and `m` unchanged, as without us.
    steps::wait(c as u64, m as u64, site, 0, || unsafe { next::g_cond_wait(c, m) });
}

/// `g_cond_wait_until`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_wait_until`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_wait_until(c: Cond, m: Mutex, end: i64, site: u64) -> c_int {
    let mut signalled = 0;
    steps::wait(c as u64, m as u64, site, mode::TIMED, || {
        // SAFETY: the next `g_cond_wait_until` gets the program's own arguments unchanged, as
        // without us.
        signalled = unsafe { next::g_cond_wait_until(c, m, end) };
    });
    signalled
}

/// `g_cond_signal`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_signal`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_signal(c: Cond, site: u64) {
    steps::signal(c as u64, site, false);
    // SAFETY: the next `g_cond_signal` gets the program's own `c` unchanged, as without us.
    unsafe { next::g_cond_signal(c) };
}

/// `g_cond_broadcast`.
///
/// # Safety
/// The arguments keep the contract of `g_cond_broadcast`; the stub passes `site`.
pub unsafe extern "C-unwind" fn cond_broadcast(c: Cond, site: u64) {
    steps::signal(c as u64, site, true);
    // SAFETY: the next `g_cond_broadcast` gets the program's own `c` unchanged, as without us.
    unsafe { next::g_cond_broadcast(c) };
}

/// A GRecMutex or GRWLock without its pthread lock is about to be used, and to get one from the
/// calling thread. That is not the first to know of it, for all that its lock is new.
///
/// # Safety
/// None: it uses nothing but the calling thread's own state.
pub unsafe extern "C-unwind" fn makes() {
    // SAFETY: the calling thread's state, or null.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
    }
}

/// `g_slice_free1`. Until GLib 2.76 the memory does not pass through `free`.
///
/// # Safety
/// The arguments keep the contract of `g_slice_free1`.
pub unsafe extern "C-unwind" fn slice_free(size: usize, block: Block, _site: u64) {
    // SAFETY: the program gives `block` of `size` bytes back, and `g_slice_free1` gets both
    // unchanged.
    unsafe {
        locks_within::given_back(block, size);
        next::g_slice_free1(size, block);
    }
}

/// `g_slice_free_chain_with_offset`: of blocks that each point to the next.
///
/// # Safety
/// The arguments keep the contract of `g_slice_free_chain_with_offset`.
pub unsafe extern "C-unwind" fn slice_free_chain(
    size: usize,
    chain: Block,
    offset: usize,
    _site: u64,
) {
    let mut block = chain;
    while !block.is_null() {
        // SAFETY: the program's chain is of live blocks, each with the address of the next at
        // `offset`.
        unsafe {
            locks_within::given_back(block, size);
            block = block.byte_add(offset).cast::<Block>().read();
        }
    }
    // SAFETY: the next `g_slice_free_chain_with_offset` gets the program's own arguments unchanged,
    // as without us.
    unsafe { next::g_slice_free_chain_with_offset(size, chain, offset) };
}
