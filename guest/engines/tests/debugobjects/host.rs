//! The engine's host, for tests.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_engines::debugobjects::{Buckets, Objects, Place, Source, Switches};

/// Bytes mapped by all tests of the process.
pub static MAPPED: AtomicUsize = AtomicUsize::new(0);

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, bytes).unwrap()
}

fn map(bytes: usize) -> *mut u8 {
    MAPPED.fetch_add(bytes, Relaxed);
    // SAFETY: the layout's size is not 0: the pools ask for whole slabs or pages.
    unsafe { alloc_zeroed(layout(bytes)) }
}

/// # Safety
/// `at` is from `map` with the same number of bytes, and nobody uses it.
unsafe fn unmap(at: *mut u8, bytes: usize) {
    MAPPED.fetch_sub(bytes, Relaxed);
    // SAFETY: from `map`, the caller's promise.
    unsafe { dealloc(at, layout(bytes)) }
}

/// Long enough that no patience ends before a holder runs again, however busy the machine is.
fn relax(_turn: u32) {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

/// Memory without end.
pub static SOURCE: Source = Source { map, unmap, relax };

/// The same where it takes no time to give up the processor: patience is counted and soon at its
/// end.
pub static HASTY: Source = Source { relax: |_| {}, ..SOURCE };

/// Buckets of the test's own.
pub fn buckets() -> &'static Buckets {
    // SAFETY: buckets without objects are all zero, as they say. They are too large for a test's stack.
    Box::leak(unsafe { Box::new_zeroed().assume_init() })
}

/// A started engine of the test's own.
pub fn objects(switches: Switches) -> &'static Objects {
    objects_over(&SOURCE, switches)
}

/// The same with another source.
pub fn objects_over(source: &'static Source, switches: Switches) -> &'static Objects {
    let objects = Box::leak(Box::new(Objects::new(buckets())));
    objects.start(source, switches);
    objects
}

/// Somewhere, at that time.
pub fn at(time_ns: u64) -> Place {
    Place { thread: 1, stack: time_ns as u32, time_ns }
}

/// Numbers that look random: xorshift64* (Vigna). Not from 0.
pub struct Random(pub u64);

impl Random {
    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        let mut x = self.0;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0 = x;
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}
