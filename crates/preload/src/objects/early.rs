//! What was initialised before the engine began: by constructors that run before ours.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Operation, Place};

use super::Type;

/// Objects that are remembered.
const MOST: usize = 256;

/// Addresses, 0 for none.
static ADDRESSES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
/// What is there: addresses of [`Type`]s.
static TYPES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
/// There were more.
static LOST: AtomicBool = AtomicBool::new(false);

/// An object is initialised before the engine has begun.
#[cold]
pub fn initialised(kind: &'static Type, addr: u64) {
    let is_free = |at: &AtomicU64| at.compare_exchange(0, addr, Relaxed, Relaxed).is_ok();
    match ADDRESSES.iter().position(is_free) {
        Some(i) => TYPES[i].store(core::ptr::from_ref(kind) as u64, Relaxed),
        None => LOST.store(true, Relaxed),
    }
}

/// An object is destroyed before the engine has begun.
#[cold]
pub fn destroyed(kind: &'static Type, addr: u64) {
    for (at, of) in ADDRESSES.iter().zip(&TYPES) {
        if at.load(Relaxed) == addr && of.load(Relaxed) == core::ptr::from_ref(kind) as u64 {
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
    for (at, of) in ADDRESSES.iter().zip(&TYPES) {
        let addr = at.swap(0, Relaxed);
        // SAFETY: null or what `initialised` stored: a static.
        if let Some(kind) = unsafe { (of.load(Relaxed) as *const Type).as_ref() }
            && addr != 0
        {
            super::gone::note(addr, kind.size);
            let place = Place::default();
            super::OBJECTS.apply(None, &kind.descr, addr, Operation::Init, place, 0);
        }
    }
}
