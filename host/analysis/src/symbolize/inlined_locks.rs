//! Whether a module has locks that a compiler has inlined, by names alone: for machines whose code nobody looks into.

use std::path::Path;

use object::read::{Object, ObjectSymbol};

use super::elf::with_elf;

/// Parts of mangled names, old and new: types and the functions behind their locks that are not inlined, of Rust's std since
/// 1.62 and of parking_lot.
const BEHIND: &[&str] = &[
    "5Mutex14lock_contended",
    "6RwLock14read_contended",
    "6RwLock15write_contended",
    "8RawMutex9lock_slow",
    "9RawRwLock16lock_shared_slow",
    "9RawRwLock19lock_exclusive_slow",
];

/// The file at `path` has such functions. Not if it is another than that with this build id, or has no names.
pub fn has_inlined_locks(path: &Path, build_id: &[u8]) -> bool {
    with_elf(path, |elf| {
        let is_same = elf.build_id().ok().flatten().unwrap_or_default() == build_id;
        is_same && elf.symbols().filter_map(|symbol| symbol.name().ok()).any(is_behind)
    })
    .unwrap_or(false)
}

fn is_behind(name: &str) -> bool {
    BEHIND.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_behind_inlined_locks_are_known_by_either_mangling() {
        for name in [
            "_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE",
            "_RNvMNtNtNtNtCs1_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended",
            "_ZN11parking_lot9raw_mutex8RawMutex9lock_slow17h0123456789abcdefE",
        ] {
            assert!(is_behind(name), "{name}");
        }
        assert!(!is_behind("_ZN3std4sync5mutex5Mutex4lock17h0123456789abcdefE"));
    }

    #[test]
    fn this_program_has_some_and_no_other_file_of_its_name() {
        let own = std::env::current_exe().expect("this test");
        let id = super::super::elf::own_build_id(&own).unwrap_or_default();
        assert!(has_inlined_locks(&own, &id));
        assert!(!has_inlined_locks(&own, b"another"));
        assert!(!has_inlined_locks(Path::new("/bin/sh"), &id));
    }
}
