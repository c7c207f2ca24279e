//! The layouts of the C library that the process has: chosen by its version, checked at start on
//! objects of our own.
//!
//! Whatever is concluded from an object's bytes rests on its type's layout. Where the check of a
//! type fails, nothing is concluded from the bytes of its objects, and the header tells the report.

mod trials;

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use lockwright_glibc::table::{self, cond};
use lockwright_glibc::{Field, Version};
use lockwright_ledger::rows::object::object_type::{OWN, TIMER};

use crate::os::loader;

/// Types whose bytes are not read at all, a bit for each number in
/// [`lockwright_ledger::rows::object::object_type`].
const NOT_READ: u32 = 1 << OWN | 1 << TIMER;

/// Types whose layout holds, likewise. None before the check: what is used before then is judged
/// by no bytes.
static HOLDING: AtomicU32 = AtomicU32::new(NOT_READ);

/// The C library's version, [`Version::word`]; 0: not known.
static VERSION: AtomicU32 = AtomicU32::new(0);

/// Where `__wrefs` of a condition variable is. Before the check some place within the object:
/// stubs read it.
pub static COND_WREFS: AtomicUsize = AtomicUsize::new(28);

/// How many bytes of a condition variable the C library uses.
static COND_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Looks which C library there is, and tries its objects. To be called at start, when its functions
/// have been looked up and before the program has threads.
pub fn start() {
    let Some(version) = version() else { return };
    VERSION.store(version.word(), Relaxed);
    if let (Some(wrefs), Some(bytes)) = (cond::WREFS.at(version), table::cond_bytes(version)) {
        COND_WREFS.store(wrefs, Relaxed);
        COND_BYTES.store(bytes, Relaxed);
    }
    HOLDING.store(NOT_READ | trials::holding(version), Relaxed);
}

/// Whether the bytes of objects of that type can be read as the table says.
#[inline]
pub fn holds(object_type: u32) -> bool {
    HOLDING.load(Relaxed) & 1 << object_type != 0
}

/// The types whose layout does not hold, a bit for each: for the ledger.
pub fn differing() -> u32 {
    trials::TRIED & !HOLDING.load(Relaxed)
}

/// The C library's version in one word, 0 if it is not known.
pub fn version_word() -> u32 {
    VERSION.load(Relaxed)
}

/// Where `__wrefs` of a condition variable is.
pub fn cond_wrefs() -> u64 {
    COND_WREFS.load(Relaxed) as u64
}

/// How many bytes of a condition variable the C library uses.
pub fn cond_bytes() -> u64 {
    COND_BYTES.load(Relaxed) as u64
}

/// The field's offset, of one that never moved, for a read of memory.
pub const fn offset(field: &Field) -> u64 {
    field.always() as u64
}

fn version() -> Option<Version> {
    type Function = unsafe extern "C" fn() -> *const c_char;
    let found = loader::address(c"gnu_get_libc_version", None);
    if found.is_null() {
        return None;
    }
    // SAFETY: the symbol of that name has this type, and returns a static text.
    let text = unsafe {
        let function: Function = core::mem::transmute(found);
        CStr::from_ptr(function())
    };
    Version::parse(text.to_bytes())
}
