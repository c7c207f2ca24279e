//! Memory that notices uses after its end: a page for each object, which is taken away once the
//! object is freed. A later access reads zeros, and is counted.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard};

/// The size of an object's memory.
pub(super) const PAGE: usize = 4096;

static BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static SIZE: AtomicUsize = AtomicUsize::new(0);
static TOUCHED: AtomicU64 = AtomicU64::new(0);

/// There is one handler of faults in a process.
static ARENA: Mutex<()> = Mutex::new(());

extern "C" fn fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // Acquire: pairs with the Release in `Arena::new`.
    let base = BASE.load(Acquire).addr();
    // SAFETY: the kernel's; a fault has an address.
    let at = unsafe { (*info).si_addr() }.addr();
    if at.wrapping_sub(base) < SIZE.load(Relaxed) {
        TOUCHED.fetch_add(1, Relaxed);
        let page = ptr::with_exposed_provenance_mut(at & !(PAGE - 1));
        // SAFETY: a page of the arena that is free, and of no use to anybody.
        unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
    } else {
        // SAFETY: the access faults again, and ends the process as it should.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Pages, each used once.
pub(super) struct Arena {
    base: NonNull<u8>,
    pages: usize,
    before: libc::sigaction,
    _alone: MutexGuard<'static, ()>,
}

// SAFETY: no arena moves to another thread with its guard: threads only share references to it.
unsafe impl Send for Arena {}
// SAFETY: an arena is memory that its users reach by address, and its own fields do not change.
unsafe impl Sync for Arena {}

impl Arena {
    /// So many pages of zeros.
    pub fn new(pages: usize) -> Self {
        let alone = ARENA.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: no address is asked for, so the kernel maps new memory and replaces none.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                pages * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED, "no memory for {pages} pages");
        SIZE.store(pages * PAGE, Relaxed);
        TOUCHED.store(0, Relaxed);
        // Release: pairs with the Acquire in `fault`.
        BASE.store(base.cast(), Release);
        // SAFETY: a sigaction consists of integers and an optional pointer, for which zeros are
        // valid values.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: zeros are a sigaction, of which the handler is then set; both structures live
        // during the call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = fault as extern "C" fn(_, _, _) as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before), 0);
        }
        let base = NonNull::new(base.cast()).expect("not at 0");
        Self { base, pages, before, _alone: alone }
    }

    /// The memory of object `index`.
    pub fn page(&self, index: usize) -> *mut u8 {
        assert!(index < self.pages);
        // SAFETY: `index` is below `pages`, so the page lies in the arena's mapping.
        unsafe { self.base.as_ptr().add(index * PAGE) }
    }

    /// Ends object `index`.
    pub fn free(&self, index: usize) {
        let page = self.page(index).cast();
        // SAFETY: a page of ours, which nobody should use any more.
        unsafe {
            assert_eq!(libc::mprotect(page, PAGE, libc::PROT_NONE), 0, "too many pages");
            libc::madvise(page, PAGE, libc::MADV_DONTNEED);
        }
    }

    /// How many freed pages were touched until now.
    pub fn touched(&self) -> u64 {
        TOUCHED.load(Relaxed)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        SIZE.store(0, Relaxed);
        // SAFETY: the handler that was there; our memory.
        unsafe {
            libc::sigaction(libc::SIGSEGV, &raw const self.before, ptr::null_mut());
            libc::munmap(self.base.as_ptr().cast(), self.pages * PAGE);
        }
    }
}
