//! The threads' work under the semaphore, for each page: the kernel's work in a page fault, in part
//! or in whole.

use std::hint::black_box;
use std::ptr::{self, NonNull};

use serde::Serialize;

const PAGE: usize = 4096;

/// Work on pages that threads share out.
pub trait Work: Sync {
    /// For so many pages.
    fn new(pages: usize) -> Self;

    /// Page `index`, of which each is worked on once.
    fn page(&self, index: usize);
}

/// A page's worth of memory is cleared, of the thread's own: nothing but that and the lock.
pub struct Clear;

impl Work for Clear {
    fn new(_pages: usize) -> Self {
        Self
    }

    fn page(&self, _index: usize) {
        let mut page = [0u8; PAGE];
        black_box(&mut page);
    }
}

/// The page of one anonymous mapping is written to for the first time, so that the kernel faults it
/// in.
pub struct Fault {
    mapping: NonNull<u8>,
    pages: usize,
}

// SAFETY: memory that each thread reaches other pages of.
unsafe impl Send for Fault {}
// SAFETY: each thread accesses other pages of the memory, by plain addresses.
unsafe impl Sync for Fault {}

impl Work for Fault {
    fn new(pages: usize) -> Self {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: no address is asked for, so the kernel maps new memory and replaces none.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), pages * PAGE, access, flags, -1, 0) };
        assert_ne!(mapping, libc::MAP_FAILED, "no memory for {pages} pages");
        // SAFETY: that memory. Each page is to be a fault; where there are no huge pages, it is.
        unsafe { libc::madvise(mapping, pages * PAGE, libc::MADV_NOHUGEPAGE) };
        Self { mapping: NonNull::new(mapping.cast()).expect("not at 0"), pages }
    }

    fn page(&self, index: usize) {
        assert!(index < self.pages);
        // SAFETY: `index` is below `pages`, so the page lies within the mapping.
        let byte = unsafe { self.mapping.add(index * PAGE) };
        // SAFETY: nobody else is at this page.
        unsafe { byte.write_volatile(1) };
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        // SAFETY: our memory, which nobody uses any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.pages * PAGE) };
    }
}

/// Page faults of this process until now: minor ones, as all of anonymous memory are.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct PageFaults(u64);

impl PageFaults {
    pub fn now() -> Self {
        // SAFETY: zeros are a valid usage, which the call fills.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        Self(usage.ru_minflt as u64)
    }

    pub fn since(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_a_fault() {
        const PAGES: usize = 1000;
        let before = PageFaults::now();
        let work = Fault::new(PAGES);
        (0..PAGES).for_each(|index| work.page(index));
        assert!(PageFaults::now().since(before).0 >= PAGES as u64);
    }
}
