//! Which part of the tool, or of what it watches, an instruction belongs to.

/// A part: its name, and what the source files of it have in their paths. Of several that fit the first counts.
const PARTS: [(&str, &[&str]); 13] = [
    ("call sites and wrappers", &["preload/src/callsite/"]),
    ("symbols and modules", &["exec/src/", "preload/src/os/loader", "preload/src/stack/modules"]),
    ("unwinding, and what replaces it", &["preload/src/stack/", "/gimli"]),
    ("freed memory", &["preload/src/interpose/memory/", "preload/src/lock_id/lock_pages"]),
    ("identity of locks", &["preload/src/lock_id/"]),
    ("debugobjects", &["preload/src/debugobjects/", "engines/src/debugobjects/"]),
    ("lockmeter", &["preload/src/lockmeter/", "engines/src/lockmeter/"]),
    ("lockdep, and what engines share", &["preload/src/lockdep/", "engines/src/"]),
    ("ledger", &["ledger/src/", "preload/src/recorder/"]),
    ("threads and processes", &["preload/src/threads/", "preload/src/process/"]),
    ("thread-local state and system calls", &["preload/src/os/"]),
    ("interposition", &["preload/src/", "glibc/src/"]),
    (
        CORE,
        &[
            "/library/core/",
            "/library/alloc/",
            "core/src/",
            "compiler-builtins",
            "compiler_builtins",
        ],
    ),
];

const CORE: &str = "the Rust core library";

/// Parts that a whole object is.
pub const C_LIBRARY: &str = "the C library";
pub const LINKER: &str = "the dynamic linker";
pub const PROGRAM: &str = "the program and its libraries";
/// Code of the tool that has neither a source file nor a Rust name.
pub const STUBS: &str = "stubs, and what is not attributed";

/// The names of all parts in the order of the page.
pub fn names() -> impl Iterator<Item = &'static str> {
    [PROGRAM, C_LIBRARY, LINKER].into_iter().chain(PARTS.map(|(name, _)| name)).chain([STUBS])
}

/// The part that an object is, if it is not the tool's library, whose file name is `library`.
pub fn of_object(object: &str, library: &str) -> Option<&'static str> {
    match object.rsplit('/').next().unwrap_or_default() {
        name if name == library => None,
        name if name.starts_with("ld-linux") => Some(LINKER),
        name if name.starts_with("libc.so") || name.starts_with("libpthread") => Some(C_LIBRARY),
        _ => Some(PROGRAM),
    }
}

/// The part of the tool that a function is, by the source files of what is inlined at an instruction of it and of itself,
/// innermost first. Code of the core library that is inlined is its caller's.
pub fn of_code<'a>(files: impl Iterator<Item = &'a str>, function: &str) -> &'static str {
    let found: Vec<_> = files.filter_map(of_path).collect();
    let ours = found.iter().copied().find(|&name| name != CORE);
    ours.or_else(|| of_path(&as_path(function))).or(found.first().copied()).unwrap_or(STUBS)
}

/// As [`of_code`], if the innermost source file says it.
pub fn of_file(file: &str) -> Option<&'static str> {
    of_path(file).filter(|&name| name != CORE)
}

fn of_path(path: &str) -> Option<&'static str> {
    PARTS
        .iter()
        .find(|(_, paths)| paths.iter().any(|part| path.contains(part)))
        .map(|(name, _)| *name)
}

/// The path of a Rust function's module, as if modules were files: `lockwright_preload::os::tls::get` is in
/// `preload/src/os/tls/`.
fn as_path(function: &str) -> String {
    let name = function.trim_start_matches(['<', '&']);
    let name = name.strip_prefix("lockwright_").unwrap_or(name);
    match name.split_once("::") {
        Some((package, rest)) => format!("{package}/src/{}/", rest.replace("::", "/")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_belongs_to_its_source_file_and_then_to_its_function() {
        let ours = |files: &[&str], function| of_code(files.iter().copied(), function);
        let mutex = "lockwright_preload::lockdep::locks::mutex::lock";
        let (lockdep, core) =
            ("/src/guest/preload/src/lockdep/x.rs", "/rustc/0/library/core/src/x.rs");
        let pool = "/src/guest/engines/src/debugobjects/pool.rs";
        assert_eq!(ours(&[lockdep], mutex), "lockdep, and what engines share");
        assert_eq!(ours(&[pool, lockdep], mutex), "debugobjects");
        assert_eq!(ours(&[core, core, pool, lockdep], mutex), "debugobjects");
        assert_eq!(ours(&[core], mutex), "lockdep, and what engines share");
        assert_eq!(ours(&[], "lockwright_ledger::writer::Writer::row"), "ledger");
        let key = "<lockwright_preload::os::tls::Key as X>::get";
        assert_eq!(ours(&["??"], key), "thread-local state and system calls");
        assert_eq!(ours(&[core], "core::slice::sort"), CORE);
        assert_eq!(ours(&["??"], "pthread_mutex_lock"), STUBS);
        assert_eq!((of_file(pool), of_file(core)), (Some("debugobjects"), None));
    }

    #[test]
    fn other_objects_are_parts_of_their_own() {
        let found = |object| of_object(object, "liblockwright.so");
        assert_eq!(found("/lib/x86_64-linux-gnu/libc.so.6"), Some(C_LIBRARY));
        assert_eq!(found("/lib64/ld-linux-x86-64.so.2"), Some(LINKER));
        assert_eq!(found("/usr/bin/python3"), Some(PROGRAM));
        assert_eq!(found("/tmp/liblockwright.so"), None);
    }

    #[test]
    fn each_part_has_one_row() {
        let mut all: Vec<_> = names().collect();
        let rows = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), rows);
    }
}
