//! Objects that were initialised before the engine began: by constructors that run before ours.

use core::ptr::{self, from_ref, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Descr, Operation, Place};

use super::object_pages;
use crate::debugobjects::engine::OBJECTS;

/// Objects that are remembered.
const MOST: usize = 256;

/// Addresses, 0 for none.
static ADDRESSES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
/// What is there.
static TYPES: [AtomicPtr<Descr>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// How large it is.
static SIZES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
/// There were more.
static LOST: AtomicBool = AtomicBool::new(false);

/// An object is initialised before the engine has begun.
#[cold]
pub fn initialised(descr: &'static Descr, size: u64, addr: u64) {
    let is_free = |at: &AtomicU64| at.compare_exchange(0, addr, Relaxed, Relaxed).is_ok();
    match ADDRESSES.iter().position(is_free) {
        Some(i) => {
            TYPES[i].store(from_ref(descr).cast_mut(), Relaxed);
            SIZES[i].store(size, Relaxed);
        }
        None => LOST.store(true, Relaxed),
    }
}

/// An object is destroyed before the engine has begun.
#[cold]
pub fn destroyed(descr: &'static Descr, addr: u64) {
    for (at, of) in ADDRESSES.iter().zip(&TYPES) {
        if at.load(Relaxed) == addr && ptr::eq(of.load(Relaxed), descr) {
            at.store(0, Relaxed);
        }
    }
}

/// Whether all were remembered: then an object that is not known was not initialised.
pub fn knows_all() -> bool {
    !LOST.load(Relaxed)
}

/// The engine has begun.
pub fn import() {
    for ((at, of), size) in ADDRESSES.iter().zip(&TYPES).zip(&SIZES) {
        let addr = at.swap(0, Relaxed);
        // SAFETY: null or what `initialised` stored: a static.
        if let Some(descr) = unsafe { of.load(Relaxed).as_ref() }
            && addr != 0
        {
            object_pages::note(addr, size.load(Relaxed));
            let place = Place::default();
            OBJECTS.apply(None, descr, addr, Operation::Init, place, 0);
        }
    }
}
