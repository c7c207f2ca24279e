//! An engine's data of threads, by kernel thread id. A hint: threads share places, and ids come
//! again, so a caller that finds one checks that it is the right one.

use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Places.
const PLACES: usize = 4096;

/// By kernel thread id, null for none.
pub struct ByTid<T>([AtomicPtr<T>; PLACES]);

impl<T> ByTid<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self([const { AtomicPtr::new(null_mut()) }; PLACES])
    }

    fn place(&self, tid: u32) -> &AtomicPtr<T> {
        &self.0[tid as usize % PLACES]
    }

    /// Thread `tid` has `state`.
    pub fn set(&self, tid: u32, state: *mut T) {
        // Release pairs with the Acquire in `get`: what is there was written first.
        self.place(tid).store(state, Release);
    }

    /// What `tid` has, or another thread.
    pub fn get(&self, tid: u32) -> *mut T {
        // Acquire pairs with the Release in `set`.
        self.place(tid).load(Acquire)
    }

    /// Thread `tid` has `state` no more.
    pub fn remove(&self, tid: u32, state: *mut T) {
        // Relaxed: nobody reads what is not there.
        let _ = self.place(tid).compare_exchange(state, null_mut(), Relaxed, Relaxed);
    }

    /// Nobody has any. Writes only where something is: what a forked child does not write to it
    /// need not copy.
    pub fn clear(&self) {
        let taken = self.0.iter().filter(|place| !place.load(Relaxed).is_null());
        taken.for_each(|place| place.store(null_mut(), Relaxed));
    }
}
