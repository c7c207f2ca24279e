//! A function of an upper layer, for a lower one to call: set at start, so that lower layers need
//! not know the upper ones. Never on a fast path.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A function of type `F`, a pointer, once it is known.
pub struct Upcall<F>(AtomicPtr<()>, PhantomData<fn() -> F>);

impl<F: Copy> Upcall<F> {
    /// None yet.
    pub const fn none() -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        Self(AtomicPtr::new(core::ptr::null_mut()), PhantomData)
    }

    /// Called at start, before any thread.
    pub fn set(&self, function: F) {
        // SAFETY: of the same size, asserted above, and a pointer.
        self.0.store(unsafe { core::mem::transmute_copy(&function) }, Relaxed);
    }

    /// The function, if there is one.
    pub fn get(&self) -> Option<F> {
        // Relaxed: stored before there was another thread.
        let function = self.0.load(Relaxed);
        // SAFETY: not null, so it is what `set` stored.
        (!function.is_null()).then(|| unsafe { core::mem::transmute_copy(&function) })
    }
}
