//! The contents of an executable or library, as far as it matters for watching its locks: which of the functions that
//! take locks it calls, and the marks of languages and libraries with locks of their own.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lockwright_cpython::{Layout, has_own_locks};
use memchr::memmem;
use object::read::{Object, ObjectSection, ObjectSymbol};

use lockwright_analysis::symbolize::elf::with_elf;
use lockwright_analysis::symbolize::has_dwarf;

/// Something that the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// It calls functions that take locks, and that the preload library interposes.
    TakesLocks,
    /// It calls `syscall`: those who make locks of futexes do.
    Syscall,
    /// It opens libraries while it runs.
    Opens,
    /// It has the functions that take locks itself, for all other modules.
    OwnPthread,
    /// A copy of the functions that take locks was linked into it, for itself.
    PthreadInside,
    /// It has malloc itself, for all other modules.
    OwnHeap,
    /// The runtime of a sanitizer was linked into it.
    Sanitizer,
    /// It reports its locks to the preload library, if that is loaded.
    Tells,
    /// Go.
    Go,
    /// Rust, since 1.62.
    Rust,
    /// It has locks of Rust's std or parking_lot, and each place that takes or releases one can be watched.
    Inlined,
    /// Rust's parking_lot.
    ParkingLot,
    /// Its version 0.12, which lockwright's can replace.
    ParkingLot12,
    /// Its version 0.13, which `Traced` can wrap.
    ParkingLot13,
    /// `std::atomic::wait` of C++20, and what is made of it.
    AtomicWait,
    /// Abseil's Mutex.
    Abseil,
    /// CPython whose locks go unseen.
    PythonLocks,
    /// CPython whose lines are not known.
    PythonLines,
    /// Node.js.
    Node,
    /// Ruby's interpreter.
    Ruby,
    /// Mono.
    Mono,
    /// Erlang's emulator.
    Erlang,
    /// OCaml, with threads or domains.
    OCaml,
    /// Haskell, by GHC.
    Haskell,
    /// Rust's tokio.
    Tokio,
    /// Boost's shared_mutex, which is made of a mutex, conditions and flags.
    BoostShared,
}

use Mark::*;

/// Functions that take locks. A program that calls one has a lock that can be seen.
const TAKING: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_clockwrlock",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "mtx_lock",
    "mtx_trylock",
    "mtx_timedlock",
    "sem_wait",
    "sem_trywait",
    "sem_timedwait",
    "sem_clockwait",
    // Functions of libraries, which are interposed where they are called.
    "g_mutex_lock",
    "g_mutex_trylock",
    "g_rec_mutex_lock",
    "g_rec_mutex_trylock",
    "g_rw_lock_reader_lock",
    "g_rw_lock_writer_lock",
    "g_bit_lock",
    "g_bit_lock_and_get",
    "g_bit_trylock",
    "g_pointer_bit_lock",
    "g_pointer_bit_lock_and_get",
    "g_pointer_bit_trylock",
    "g_once_impl",
    "g_once_init_enter",
    "g_once_init_enter_pointer",
    "omp_set_lock",
    "omp_test_lock",
    "omp_set_nest_lock",
    "omp_test_nest_lock",
    "GOMP_critical_start",
    "GOMP_critical_name_start",
    "GOMP_atomic_start",
    "__kmpc_critical",
    "__kmpc_critical_with_hint",
    "_ZN6QMutex4lockEv",
    "_ZN6QMutex7tryLockEi",
    "_ZN14QReadWriteLock11lockForReadEv",
    "_ZN14QReadWriteLock12lockForWriteEv",
];

/// What is called.
const IMPORTS: &[(&str, Mark)] = &[
    ("syscall", Syscall),
    ("dlopen", Opens),
    ("dlmopen", Opens),
    // A weak reference to the preload library's function, as lockwright.h has it.
    ("lockwright_acquired", Tells),
];

/// What the file has, for itself or for others.
const DEFINITIONS: &[(&str, Mark)] = &[
    ("__asan_init", Sanitizer),
    ("__tsan_init", Sanitizer),
    ("__lsan_init", Sanitizer),
    ("__msan_init", Sanitizer),
    ("__hwasan_init", Sanitizer),
    ("node_module_register", Node),
    ("rb_mutex_lock", Ruby),
    ("mono_jit_init", Mono),
    ("ethr_rwmutex_init", Erlang),
    // Of threads, of OCaml 5, and of its interpreter, which loads threads as a library.
    ("caml_thread_initialize", OCaml),
    ("caml_domain_spawn", OCaml),
    ("caml_interprete", OCaml),
    ("stg_takeMVarzh", Haskell),
];

/// Words in constants: panics of Rust and errors of Boost name their source, and functions looked up at run time go by name.
const TEXTS: &[(&[u8], Mark)] = &[
    (b"parking_lot_core-", ParkingLot),
    (b"parking_lot_core-0.9.", ParkingLot12),
    (b"parking_lot_core-0.10.", ParkingLot13),
    (b"lockwright_acquired", Tells),
    (b"blocked indefinitely in an MVar operation", Haskell),
    (b"/tokio-1.", Tokio),
    (b"boost::shared_mutex::state_data::", BoostShared),
];

/// Parts of mangled names.
const PARTS: &[(&str, Mark)] = &[
    ("parking_lot_core", ParkingLot),
    ("5tokio7runtime", Tokio),
    ("5tokio4sync", Tokio),
    ("5boost12shared_mutex", BoostShared),
];

/// The minor version of Rust 1 whose std first had locks of its own on Linux.
const RUST_WITH_FUTEXES: u32 = 62;

/// A file's contents.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Where it is.
    pub file: PathBuf,
    /// Its build id, empty if it has none.
    pub build_id: Vec<u8>,
    /// Name and CRC of its debug file.
    pub debug_link: Option<(Vec<u8>, u32)>,
    /// There are names of functions that are not for others.
    pub has_symbols: bool,
    /// There is debug information in the file itself.
    pub has_dwarf: bool,
    /// Names of the libraries that it needs.
    pub libraries: Vec<String>,
    marks: HashSet<Mark>,
}

impl Contents {
    /// Reads an ELF file; `None` if it cannot be read.
    pub fn read(file: &Path) -> Option<Self> {
        let mut contents = Self::read_names(file)?;
        if contents.has(Syscall) && !contents.has(Tells) && has_all_placed(file) {
            contents.marks.extend([Inlined, TakesLocks]);
        }
        Some(contents)
    }

    /// As [`Contents::read`], without a look at its code for [`Mark::Inlined`].
    pub fn read_names(file: &Path) -> Option<Self> {
        with_elf(file, |elf| {
            let mut marks = HashSet::new();
            for symbol in elf.dynamic_symbols() {
                let Ok(name) = symbol.name() else { continue };
                if symbol.is_undefined() {
                    let takes = TAKING.contains(&name) || of_code(name) == Some(Abseil);
                    marks.extend(takes.then_some(TakesLocks));
                    marks.extend(marks_of(name, IMPORTS));
                    marks.extend(waits_in_library(name).then_some(AtomicWait));
                } else {
                    marks.extend(marks_of(name, DEFINITIONS).chain(of_code(name)));
                    marks.extend((name == "pthread_mutex_lock").then_some(OwnPthread));
                    marks.extend((name == "malloc").then_some(OwnHeap));
                }
            }
            let mut has_symbols = false;
            for symbol in elf.symbols().filter(|symbol| symbol.is_definition()) {
                let Ok(name) = symbol.name() else { continue };
                has_symbols = true;
                marks.extend(marks_of(name, DEFINITIONS).chain(of_code(name)));
                marks.extend((name == "pthread_mutex_lock").then_some(PthreadInside));
            }
            if marks.contains(&OwnPthread) && marks.contains(&Sanitizer) {
                // The program's calls end in the runtime, which hands them on.
                marks.insert(TakesLocks);
            }
            if marks.contains(&OwnPthread) || marks.contains(&TakesLocks) {
                marks.remove(&PthreadInside);
            }
            let data = |name: &str| elf.section_by_name(name)?.data().ok();
            marks.extend(unknown_of_python(elf));
            marks.extend(elf.section_by_name(".go.buildinfo").map(|_| Go));
            marks.extend(data(".comment").is_some_and(is_by_rust).then_some(Rust));
            if let Some(constants) = data(".rodata") {
                let has = |text: &[u8]| memmem::find(constants, text).is_some();
                marks.extend(TEXTS.iter().filter(|(text, _)| has(text)).map(|(_, mark)| *mark));
            }
            Self {
                file: file.to_owned(),
                build_id: elf.build_id().ok().flatten().unwrap_or_default().to_vec(),
                debug_link: elf.gnu_debuglink().ok().flatten().map(|(n, crc)| (n.to_vec(), crc)),
                has_symbols,
                has_dwarf: has_dwarf(elf),
                libraries: libraries(elf),
                marks,
            }
        })
    }

    /// Whether the file has it.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// The name of the file.
    pub fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Whether all acquisitions and releases of inlined locks in the file, of which there are some, can be watched.
fn has_all_placed(file: &Path) -> bool {
    let bytes = std::fs::read(file).unwrap_or_default();
    let table = lockwright_inlined::table(&bytes).ok().flatten();
    table.is_some_and(|table| table.is_complete())
}

/// Whether Go made the program.
pub fn is_go(file: &Path) -> bool {
    with_elf(file, |elf| elf.section_by_name(".go.buildinfo").is_some()).unwrap_or(false)
}

/// Runtimes of languages: the [`crate::run::doctor`]'s name of what one hides, how the names of its libraries begin, and
/// functions that programs with one in them export.
const RUNTIMES: &[(&str, &[&str], &[&str])] = &[
    ("java", &["libjli.so"], &[]),
    ("node", &["libnode.so"], &["node_module_register"]),
    ("ruby", &["libruby"], &["rb_mutex_lock"]),
    ("mono", &["libmonosgen-", "libmonoboehm-"], &["mono_jit_init"]),
    ("erlang", &[], &["ethr_rwmutex_init"]),
    ("ocaml", &[], &["caml_thread_initialize", "caml_domain_spawn", "caml_interprete"]),
];

/// What is not known of the CPython that the file is.
fn unknown_of_python<'data>(elf: &impl Object<'data>) -> Option<Mark> {
    let exported = |wanted: &str| {
        let mut defined = elf.dynamic_symbols().filter(|symbol| symbol.is_definition());
        defined.find(|symbol| symbol.name() == Ok(wanted))
    };
    exported("_PyEval_EvalFrameDefault")?;
    // A constant of that type, since 3.11.
    let version = exported("Py_Version").and_then(|version| {
        let mut sections = elf.sections();
        let bytes = sections.find_map(|section| section.data_range(version.address(), 8).ok()?);
        Some(u64::from_le_bytes(bytes?.try_into().ok()?))
    });
    // Only a build without the global lock has it.
    let is_free_threaded = exported("_Py_MergeZeroLocalRefcount").is_some();
    let is_known = version.is_some_and(|version| Layout::of(version).is_some());
    match (version.is_some_and(has_own_locks), is_known && !is_free_threaded) {
        (_, true) => None,
        (true, false) => Some(PythonLocks),
        (false, false) => Some(PythonLines),
    }
}

/// The language whose runtime the program is, by the [`crate::run::doctor`]'s name of what that hides. Looks at names
/// only: this is asked of every program of a run.
pub fn runtime(file: &Path) -> Option<&'static str> {
    with_elf(file, |elf| {
        if elf.section_by_name(".go.buildinfo").is_some() {
            return Some("go");
        }
        let libraries = libraries(elf);
        let known = || RUNTIMES.iter().flat_map(|(.., functions)| *functions);
        let defined = elf.dynamic_symbols().filter(|symbol| symbol.is_definition());
        let exported: Vec<&str> = defined
            .filter_map(|symbol| symbol.name().ok())
            .filter(|name| known().any(|known| known == name))
            .collect();
        let is_named = |wanted: &str| exported.contains(&wanted);
        for (id, files, functions) in RUNTIMES {
            let is_library = |name: &String| files.iter().any(|file| name.starts_with(file));
            if libraries.iter().any(is_library) || functions.iter().any(|name| is_named(name)) {
                return Some(*id);
            }
        }
        let unknown = match libraries.iter().find_map(|name| minor_of_python(name)) {
            Some((..11, _)) => Some(PythonLines),
            Some((15.., _) | (_, true)) => Some(PythonLocks),
            Some(_) => None,
            None => unknown_of_python(elf),
        };
        unknown.map(|unknown| if unknown == PythonLocks { "python" } else { "python-lines" })
    })?
}

/// The minor version of CPython 3 whose library has this name, as `libpython3.11.so.1.0`, and whether it has no global lock, as
/// `libpython3.13t.so.1.0` has none.
fn minor_of_python(library: &str) -> Option<(u32, bool)> {
    let version = library.strip_prefix("libpython3.")?.split('.').next()?;
    let minor = version.strip_suffix('t');
    Some((minor.unwrap_or(version).parse().ok()?, minor.is_some()))
}

fn libraries<'data>(elf: &impl Object<'data>) -> Vec<String> {
    let names = elf.import_libraries().into_iter().flatten().flatten();
    names.map(|library| String::from_utf8_lossy(library.name()).into_owned()).collect()
}

fn marks_of<'m>(name: &'m str, table: &'m [(&str, Mark)]) -> impl Iterator<Item = Mark> + 'm {
    table.iter().filter(move |(known, _)| *known == name).map(|(_, mark)| *mark)
}

/// Mangled names of functions that are compiled into the programs that use them.
fn of_code(name: &str) -> Option<Mark> {
    // libstdc++'s, whole names, as its constants have longer ones in every program with <atomic>; then
    // libc++'s.
    let waits = [
        "18__waiter_pool_base",
        "15__platform_wait",
        "21__platform_wait_until",
        "__libcpp_atomic_wait",
    ];
    if waits.iter().any(|part| name.contains(part)) {
        return Some(AtomicWait);
    }
    // Namespaces between absl and Mutex are those of its releases.
    if name.starts_with("_ZN4absl") && name.ends_with("5Mutex4LockEv") {
        return Some(Abseil);
    }
    let (_, mark) = PARTS.iter().find(|(part, _)| name.contains(part))?;
    Some(*mark)
}

/// Whether this is a function of libstdc++ that std::atomic::wait calls. Since GCC 16 programs import it; older ones have
/// the code in themselves.
fn waits_in_library(name: &str) -> bool {
    ["_ZNSt8__detail11__wait_impl", "_ZNSt8__detail17__wait_until_impl"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether the compilers that `.comment` names are among them a rustc whose std has its own locks.
fn is_by_rust(comment: &[u8]) -> bool {
    String::from_utf8_lossy(comment).split('\0').any(|compiler| {
        let version = compiler.strip_prefix("rustc version 1.");
        let minor = version.and_then(|version| version.split('.').next()?.parse().ok());
        minor.is_some_and(|minor: u32| minor >= RUST_WITH_FUTEXES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_atomics_are_told_from_constants_beside_them() {
        assert_eq!(of_code("_ZNSt8__detail15__platform_waitIiEEvPKT_S1_"), Some(AtomicWait));
        assert_eq!(of_code("_ZNSt8__detailL25__platform_wait_alignmentE"), None);
    }

    #[test]
    fn compilers_by_version() {
        assert!(is_by_rust(b"GCC: (Debian) 12.2.0\0rustc version 1.95.0 (59807616e 2026-04-14)\0"));
        assert!(is_by_rust(b"rustc version 1.62.0\0"));
        assert!(!is_by_rust(b"rustc version 1.61.0\0"));
        assert!(!is_by_rust(b"GCC: (Debian) 12.2.0\0"));
        assert!(!is_by_rust(b""));
    }

    #[test]
    fn mangled_names() {
        assert_eq!(of_code("_ZN4absl12lts_202308025Mutex4LockEv"), Some(Abseil));
        assert_eq!(of_code("_ZN4mine5Mutex4LockEv"), None);
        let pool = "_ZZNSt8__detail18__waiter_pool_base8_S_forEPKvE3__w";
        assert_eq!(of_code(pool), Some(AtomicWait));
        assert!(waits_in_library("_ZNSt8__detail11__wait_implEPKvRNS_16__wait_args_baseE"));
    }

    /// This test is a Rust program, which has threads and std's locks.
    #[test]
    fn what_is_in_this_program() {
        let own = Contents::read(Path::new("/proc/self/exe")).unwrap();
        assert!(own.has(Rust) && own.has(Syscall) && own.has_symbols, "{own:?}");
        assert!(!own.has(Go) && !own.has(OwnPthread) && !own.has(Sanitizer), "{own:?}");
        assert!(own.libraries.iter().any(|name| name == "libc.so.6"), "{own:?}");
    }
}
