//! The C library that this process runs on, and so do the programs that it starts.

use std::ffi::CStr;

use lockwright_glibc::Version;

/// Its version, as it says it.
pub fn version_text() -> String {
    // SAFETY: a function without conditions, whose text is terminated and stays.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_string_lossy().into_owned()
}

/// Whether it has the functions of threads, or leaves them to a library of their own.
pub fn has_threads() -> bool {
    let version = Version::parse(version_text().as_bytes());
    version.is_none_or(|version| version >= Version::WITH_THREADS)
}
