//! Names of glibc's libraries.

/// The library of threads, which is empty since [`crate::Version::WITH_THREADS`].
pub const THREADS_LIBRARY: &str = "libpthread.so.0";

/// The name of a shared library's file up to its version: `libc` of `libc.so.6`, and of
/// `libc-2.31.so`, as the file is called before 2.34, to which `libc.so.6` is a link. `None`: the file
/// is not called as a shared library is.
pub fn base_name(file_name: &str) -> Option<&str> {
    let by_version = file_name.strip_suffix(".so").and_then(|name| name.rsplit_once("-2."));
    match by_version {
        Some((base, minor)) if minor.bytes().all(|byte| byte.is_ascii_digit()) => Some(base),
        _ => file_name.split_once(".so").map(|(base, _)| base),
    }
}

/// Whether a file of this name is the C library, or its library of threads.
pub fn is_c_library(file_name: &str) -> bool {
    matches!(base_name(file_name), Some("libc" | "libpthread"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_either_name() {
        for name in ["libc.so.6", "libc-2.31.so", "libpthread.so.0", "libpthread-2.33.so"] {
            assert!(is_c_library(name), "{name}");
        }
        for name in
            ["libc++.so.1", "libcurl-2.so", "libc-client.so", "libcxx-2.31.so", "libc", "", "c.so"]
        {
            assert!(!is_c_library(name), "{name}");
        }
        assert_eq!(base_name("ld-2.31.so"), Some("ld"));
        assert_eq!(base_name("libglib-2.0.so.0"), Some("libglib-2.0"));
        assert_eq!(base_name("libstdc++.so.6.0.33"), Some("libstdc++"));
    }
}
