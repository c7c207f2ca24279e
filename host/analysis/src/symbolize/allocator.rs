//! Which frames only allocate: the place worth showing is the first that asks for an object.

use super::wrapper::normalise;
use crate::finding::Frame;

/// The innermost frame of an allocation's stack that is the program's own; the innermost of all if
/// there is none.
pub fn place_of_allocation(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().find(|frame| !is_allocator(frame)).or(stack.first())
}

/// Whether the frame is only a wrapper round an allocating call. A frame without a function name is
/// not.
pub fn is_allocator(frame: &Frame) -> bool {
    frame.function.as_deref().is_some_and(is_allocator_name)
}

/// What comes from a language's own library.
const LIBRARIES: &[&str] = &["std::", "alloc::", "core::", "boost::", "absl::"];

/// How the names of plain functions end that allocate whatever they are asked for, in lower case.
const ENDINGS: &[&str] = &[
    "malloc",
    "mallocz",
    "malloc0",
    "calloc",
    "realloc",
    "reallocarray",
    "zalloc",
    "memalign",
    "aligned_alloc",
    "rust_alloc",
    "rust_alloc_zeroed",
    "rdl_alloc",
    "rdl_alloc_zeroed",
];

fn is_allocator_name(name: &str) -> bool {
    let name = normalise(name);
    if LIBRARIES.iter().any(|library| name.starts_with(library)) {
        return true;
    }
    let mut parts = name.rsplit("::");
    let last = parts.next().unwrap_or_default();
    match parts.next() {
        // `new_allocator::allocate`, `ut_allocator::allocate_large`
        Some(class) if last.starts_with("alloc") => {
            class.to_ascii_lowercase().ends_with("allocator")
        }
        _ if last.starts_with("operator new") => true,
        _ => {
            let last = last.to_ascii_lowercase();
            ENDINGS.iter().any(|ending| last.ends_with(ending))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_allocates_anything_for_anybody() {
        for name in [
            "operator new",
            "operator new[]",
            "std::make_unique<Desk>",
            "std::allocator_traits<std::allocator<Desk> >::allocate",
            "__gnu_cxx::new_allocator<Desk>::allocate",
            "std::_Vector_base<Desk, std::allocator<Desk> >::_M_allocate",
            "xmalloc",
            "g_malloc0",
            "sqlite3MemMalloc",
            "CRYPTO_zalloc",
            "ut_allocator<unsigned char>::allocate",
            "alloc::boxed::Box<T>::new",
            "__rust_alloc",
        ] {
            assert!(is_allocator_name(name), "{name}");
        }
    }

    #[test]
    fn what_makes_something() {
        for name in [
            "make_desk",
            "Desk::create",
            "bank::Bank::Bank",
            "session_alloc",
            "Pool::allocate",
            "main",
            "operator<",
        ] {
            assert!(!is_allocator_name(name), "{name}");
        }
    }
}
