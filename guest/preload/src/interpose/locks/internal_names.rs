//! The C library's internal names for functions of mutexes and reader-writer locks. Their stubs go
//! where those of the functions themselves go, except where another library stands before those
//! functions: it may call the C library's by these names, which would come to our wrapper, which
//! would forward to that library again. Then they forward.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::os::loader;

/// The only version that internal names have.
const VERSION: &CStr = c"GLIBC_2.2.5";

/// Calls a function for each internal name: with the function's name, the internal one, where the
/// stub of the function goes, and the variable of where that of the internal name goes.
type ForEach = fn(&dyn Fn(&CStr, &CStr, *mut (), &AtomicPtr<()>));

/// Decides where the stubs of internal names go.
pub fn follow(for_each: ForEach) {
    let object_of = |name| loader::next(name, None).map(|function| function.object);
    // Only glibc has these. The latter is in libpthread, before glibc 2.34.
    let glibcs = [object_of(c"gnu_get_libc_version"), object_of(c"__pthread_initialize_minimal")];
    for_each(&|name, internal, follows, stub| {
        let others = loader::next(name, None).filter(|f| !glibcs.contains(&Some(f.object)));
        let forwards = others.and_then(|_| loader::next(internal, Some(VERSION)));
        // Relaxed: the function has been there since the program began.
        stub.store(forwards.map_or(follows, |next| next.at.cast()), Relaxed);
    });
}
