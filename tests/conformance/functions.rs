//! The page of functions lists all that the C library exports for threads, locks, waiting, signals
//! and processes. It says correctly which of them the preload library interposes, and cases call
//! each. And that library loads wherever it should.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, Object, ObjectSymbol};

use crate::FAMILIES;
use crate::family::Family;

/// The preload library, as the tool carries it.
const PRELOAD: &str = env!("LOCKWRIGHT_PRELOAD_SO");
/// The swap library, likewise.
const SWAP: &str = env!("LOCKWRIGHT_SWAP_SO");

/// The oldest glibc that it must load with.
const OLDEST: (u32, u32) = (2, 31);

/// A row of the page.
struct Row {
    functions: Vec<&'static str>,
    about: &'static str,
}

impl Row {
    fn is_watched(&self) -> bool {
        self.about.starts_with("Watched")
    }

    fn is_internal(&self) -> bool {
        self.about.starts_with("Internal")
    }
}

fn page() -> Vec<Row> {
    let page = include_str!("../../docs/functions.md");
    let rows: Vec<Row> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(functions, about)| Row { functions: functions.split("` `").collect(), about })
        .collect();
    for row in &rows {
        let known = row.is_watched() || row.is_internal() || row.about.starts_with("Not watched: ");
        assert!(known, "{}", row.about);
    }
    assert!(rows.len() > 40, "{} rows", rows.len());
    rows
}

/// A function of that name belongs on the page.
fn belongs(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "pthread_",
        "__pthread_",
        "_pthread_",
        "sem_",
        "mtx_",
        "cnd_",
        "thrd_",
        "tss_",
        "sig",
        "__sig",
    ];
    const NAMES: &[&str] = &[
        "call_once",
        "bsd_signal",
        "ssignal",
        "gsignal",
        "sysv_signal",
        "__sysv_signal",
        "__xpg_sigpause",
        "_exit",
        "_Exit",
        "quick_exit",
        "fork",
        "__fork",
        "_Fork",
        "vfork",
        "__vfork",
        "clone",
        "__clone",
        "syscall",
        "flockfile",
        "ftrylockfile",
        "funlockfile",
        "_IO_flockfile",
        "_IO_ftrylockfile",
        "_IO_funlockfile",
        "__register_atfork",
        "__cxa_thread_atexit_impl",
        "timer_create",
        "timer_delete",
        "timer_settime",
        "timer_gettime",
        "timer_getoverrun",
        "dlopen",
        "dlclose",
        "dl_iterate_phdr",
        "longjmp",
        "_longjmp",
        "__longjmp_chk",
        "setjmp",
        "_setjmp",
    ];
    // About numbers.
    const OTHERS: &[&str] =
        &["__signbit", "__signbitf", "__signbitl", "__signbitf128", "__significand"];
    (NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        && !OTHERS.contains(&name)
}

/// Names in a file's table of dynamic symbols: those that it defines, or those that it needs of
/// others.
fn symbols(path: &Path, defined: bool) -> BTreeSet<String> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_undefined() != defined);
    symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}

/// The libraries of this machine's glibc that have such functions; since 2.34 the first has all
/// that the others have not.
fn glibc() -> BTreeSet<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("this process's modules");
    let libc = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    // Before 2.34 it is the file that this name is a link to.
    let is_libc = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name == "libc.so.6" || name.starts_with("libc-2."))
    };
    let libc = libc.map(PathBuf::from).find(is_libc).expect("glibc");
    ["libc.so.6", "libpthread.so.0", "librt.so.1"]
        .iter()
        .map(|name| libc.with_file_name(name))
        .filter(|path| path.exists())
        .flat_map(|path| symbols(&path, true))
        .collect()
}

#[test]
fn the_page_has_every_function() {
    let page = page();
    let mut known = BTreeSet::new();
    for name in page.iter().flat_map(|row| &row.functions) {
        assert!(belongs(name), "{name} is not looked for");
        assert!(known.insert(*name), "{name} is on the page twice");
    }
    let exported = glibc();
    assert!(exported.contains("pthread_mutex_lock") && exported.contains("timer_create"));
    let missing: Vec<_> =
        exported.iter().filter(|name| belongs(name) && !known.contains(name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "this C library exports {missing:?}: add them to docs/functions.md, and stand in front of them if need be"
    );
}

#[test]
fn what_is_watched_is_stood_in_front_of() {
    let preload = symbols(Path::new(PRELOAD), true);
    for row in page() {
        for name in &row.functions {
            assert_eq!(preload.contains(*name), row.is_watched(), "{name}: {}", row.about);
        }
    }
}

#[test]
fn every_function_is_called_by_a_case() {
    let called: BTreeSet<String> =
        FAMILIES.iter().flat_map(|name| symbols(Family::build(name).program(), false)).collect();
    let exported = glibc();
    // It is linked into programs, which then call another.
    let is_linked = |name: &str| name == "pthread_atfork";
    let missing: Vec<_> = page()
        .iter()
        .filter(|row| !row.is_internal())
        .flat_map(|row| row.functions.clone())
        .filter(|&name| exported.contains(name) && !is_linked(name) && !called.contains(name))
        .collect();
    assert!(missing.is_empty(), "no case calls {missing:?}");
}

/// Functions of the table that take a pointer, by the list of the next definitions.
fn take_pointers() -> Vec<&'static str> {
    let list = include_str!("../../guest/preload/src/libc/real.rs");
    let rows = list.lines().filter(|line| line.starts_with("    ") && line.ends_with(';'));
    let rows = rows.filter_map(|row| row.split_once(") -> ")?.0.trim().split_once('('));
    let is_pointer =
        |arguments: &str| ["*mut", "*const", "Strings"].iter().any(|p| arguments.contains(p));
    let names: Vec<_> =
        rows.filter(|(_, arguments)| is_pointer(arguments)).map(|(name, _)| name).collect();
    assert!(names.len() > 150 && names.contains(&"execveat"), "{names:?}");
    names
}

#[test]
fn every_function_is_called_with_no_memory() {
    // By these names nobody can be linked with them any more, or only fortified programs are; and
    // ours alone calls the last.
    const OTHERS: &[&str] = &[
        "__longjmp_chk",
        "__ppoll_chk",
        "__pthread_mutexattr_destroy",
        "__pthread_mutexattr_init",
        "__pthread_mutexattr_settype",
        "pthread_mutexattr_setkind_np",
        "pthread_mutexattr_setrobust_np",
        "pthread_setspecific",
    ];
    let called = symbols(Family::build("pointers").program(), false);
    let missing: Vec<_> = take_pointers()
        .into_iter()
        .filter(|name| !called.contains(*name) && !OTHERS.contains(name))
        .collect();
    assert!(missing.is_empty(), "no case of pointers.c calls {missing:?}");
}

/// Libraries that it needs, and the versions of their symbols.
fn needs() -> (Vec<String>, Vec<String>) {
    let bytes = std::fs::read(PRELOAD).expect("the preload library");
    let data = &*bytes;
    let elf = FileHeader64::<Endianness>::parse(data).expect("an ELF file");
    let endian = elf.endian().expect("its endianness");
    let sections = elf.sections(endian, data).expect("its sections");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a name");
    let (dynamic, link) = sections.dynamic(endian, data).expect("readable").expect("a section");
    let names = sections.strings(endian, data, link).expect("its names");
    let libraries = dynamic
        .iter()
        .filter(|entry| entry.tag(endian) == object::elf::DT_NEEDED)
        .map(|entry| text(entry.string(endian, names).expect("a name")))
        .collect();
    assert!(
        sections.gnu_verdef(endian, data).expect("readable").is_none(),
        "with versions of its own it would stand in front of those only"
    );
    let (mut needs, link) =
        sections.gnu_verneed(endian, data).expect("readable").expect("versions");
    let names = sections.strings(endian, data, link).expect("their names");
    let mut versions = Vec::new();
    while let Some((_, mut aux)) = needs.next().expect("readable") {
        while let Some(version) = aux.next().expect("readable") {
            versions.push(text(version.name(endian, names).expect("a name")));
        }
    }
    (libraries, versions)
}

#[test]
fn the_library_loads_with_every_glibc() {
    let (libraries, versions) = needs();
    for library in &libraries {
        assert!(
            ["libc.so.6", "ld-linux-x86-64.so.2"].contains(&library.as_str()),
            "{library} would be loaded into every program"
        );
    }
    assert!(versions.len() > 3, "{versions:?}");
    for version in &versions {
        let numbers = version.strip_prefix("GLIBC_").and_then(|text| text.split_once('.'));
        let (major, minor) = numbers.unwrap_or_else(|| panic!("{version} is no glibc's"));
        let minor = minor.split('.').next().unwrap_or(minor);
        let number = (major.parse().expect("a number"), minor.parse().expect("a number"));
        assert!(number <= OLDEST, "{version} is younger than {OLDEST:?}");
    }
}

/// What any shared object may ask for: the compiler's.
const OF_ANY: &[&str] = &[
    "__cxa_finalize",
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
];

/// All that the preload library asks of others.
const ASKED_BY_PRELOAD: &[&str] = &[
    "__errno_location",
    "_r_debug",
    "abort",
    "environ",
    "getauxval",
    "getenv",
    "on_exit",
    "pthread_self",
    "sched_getcpu",
    "sysconf",
];

/// All that the swap library does.
const ASKED_BY_SWAP: &[&str] = &[
    "_r_debug",
    "__pthread_register_cancel",
    "__pthread_unregister_cancel",
    "__pthread_unwind_next",
    "__register_atfork",
    "__sigsetjmp",
    "abort",
    "clock_gettime",
    "dl_iterate_phdr",
    "environ",
    "gnu_get_libc_version",
    "pthread_condattr_destroy",
    "pthread_condattr_getclock",
    "pthread_condattr_getpshared",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_condattr_setpshared",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutexattr_getprotocol",
    "pthread_mutexattr_getpshared",
    "pthread_mutexattr_getrobust",
    "pthread_mutexattr_gettype",
    "pthread_rwlockattr_getkind_np",
    "pthread_rwlockattr_getpshared",
    "pthread_setspecific",
];

/// A function of the program's own, or of its allocator or sanitizer, is not called by accident:
/// what is asked of others is what is listed, and each is needed.
#[test]
fn the_libraries_ask_for_nothing_else() {
    for (library, asked) in [(PRELOAD, ASKED_BY_PRELOAD), (SWAP, ASKED_BY_SWAP)] {
        let expected = OF_ANY.iter().chain(asked).map(|&name| name.to_owned());
        let found = symbols(Path::new(library), false);
        assert_eq!(found, expected.collect(), "{library}");
    }
}

#[test]
fn the_library_calls_no_function_of_the_loader() {
    for name in symbols(Path::new(PRELOAD), false) {
        let asks = name.starts_with("dl") || name.starts_with("_dl") || name.starts_with("__tls");
        assert!(!asks, "{name} takes the loader's lock, or allocates");
    }
}
