//! The C library's other names for functions of mutexes and reader-writer locks. Ours are as the functions themselves,
//! but where another library stands before those: it may go on to the C library by these names, which comes to us, who
//! would go on to it. So then they go straight on.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::chosen;
use crate::loader;

/// The only version that other names have.
const VERSION: &CStr = c"GLIBC_2.2.5";

/// Stubs, and the functions whose other names they are, which begin with two underscores more.
const ALIASES: [(&AtomicPtr<()>, &CStr); 12] = [
    (&chosen::__pthread_mutex_init, c"__pthread_mutex_init"),
    (&chosen::__pthread_mutex_destroy, c"__pthread_mutex_destroy"),
    (&chosen::__pthread_mutex_lock, c"__pthread_mutex_lock"),
    (&chosen::__pthread_mutex_trylock, c"__pthread_mutex_trylock"),
    (&chosen::__pthread_mutex_unlock, c"__pthread_mutex_unlock"),
    (&chosen::__pthread_rwlock_init, c"__pthread_rwlock_init"),
    (&chosen::__pthread_rwlock_destroy, c"__pthread_rwlock_destroy"),
    (&chosen::__pthread_rwlock_rdlock, c"__pthread_rwlock_rdlock"),
    (&chosen::__pthread_rwlock_wrlock, c"__pthread_rwlock_wrlock"),
    (&chosen::__pthread_rwlock_tryrdlock, c"__pthread_rwlock_tryrdlock"),
    (&chosen::__pthread_rwlock_trywrlock, c"__pthread_rwlock_trywrlock"),
    (&chosen::__pthread_rwlock_unlock, c"__pthread_rwlock_unlock"),
];

/// Has the stubs go straight on whose functions another library stands before. Called before any of those is gone on to
/// for the first time, and whenever the stubs have been sent elsewhere.
pub fn part() {
    let object_of = |name| loader::next(name, None).map(|function| function.object);
    // Of these nobody has others. The latter is in libpthread, before glibc 2.34.
    let glibcs = [object_of(c"gnu_get_libc_version"), object_of(c"__pthread_initialize_minimal")];
    for (stub, alias) in ALIASES {
        let name = alias.to_bytes_with_nul().get(2..);
        let Some(name) = name.and_then(|name| CStr::from_bytes_with_nul(name).ok()) else {
            continue;
        };
        let Some(function) = loader::next(name, None) else { continue };
        if !glibcs.contains(&Some(function.object))
            && let Some(next) = loader::next(alias, Some(VERSION))
        {
            // Relaxed: the function has been there since the program began.
            stub.store(next.at.cast(), Relaxed);
        }
    }
}
