//! Which frames are only wrappers round a lock call: the place worth showing is the first that is
//! not.
//!
//! Most programs never call `pthread_mutex_lock` themselves but a method of their own mutex class,
//! and that in turn from a guard's constructor. The tables below know the common libraries by name
//! and the rest by how such functions are named everywhere. What the run itself showed to be a
//! wrapper ([`super::seen_wrappers`]) is one without a look at its name, and what it showed to make
//! many locks ([`super::makers`]), or to hold a lock of its own while it takes another ([`super::holders`]), is none whatever its name.

use std::borrow::Cow;

use crate::finding::Frame;

/// Whether the frame is only a wrapper round a call on a lock or condition variable: taking,
/// waiting or creating. A frame without a function name is one only if the run showed it.
pub fn is_lock_wrapper(frame: &Frame) -> bool {
    frame.wraps || (!frame.is_no_wrapper && has_wrapper_name(frame))
}

/// Whether the frame's function is named as such wrappers are.
pub fn has_wrapper_name(frame: &Frame) -> bool {
    frame.function.as_deref().is_some_and(is_wrapper_name)
}

/// The first frame that is not a wrapper; the innermost one if all are.
pub fn first_own_frame(stack: &[Frame]) -> Option<&Frame> {
    own_frames(stack).first()
}

/// The stack from its first frame that is not a wrapper on; all of it if there is none.
pub fn own_frames(stack: &[Frame]) -> &[Frame] {
    match (0..stack.len()).find(|&at| !is_part_of_wrapper(&stack[at..])) {
        Some(first) => &stack[first..],
        None => stack,
    }
}

/// Whether the first of these frames is a wrapper, or inlined into one: a wrapper's own helpers are
/// not the program's, whatever they are called.
fn is_part_of_wrapper(stack: &[Frame]) -> bool {
    let code = stack.iter().find(|frame| !frame.inlined);
    stack.first().is_some_and(is_lock_wrapper) || code.is_some_and(is_lock_wrapper)
}

/// Whether the frame is of a function that takes several locks together: it waits for one, tries the others, and lets all go
/// before it waits for the one that it could not have.
pub fn takes_several(frame: &Frame) -> bool {
    let name = frame.function.as_deref().map(normalise);
    name.is_some_and(|name| SEVERAL.contains(&name.as_str()))
}

/// Such functions: libstdc++'s, libc++'s and Boost's.
const SEVERAL: &[&str] = &[
    "std::lock",
    "std::lock_impl",
    "std::scoped_lock::scoped_lock",
    "std::lock_first",
    "boost::lock",
    "boost::detail::lock_impl",
    "boost::detail::lock_helper",
];

/// Functions whose name the rules below do not catch.
const EXACT: &[&str] = &[
    // C++ standard library
    "std::lock",
    "std::try_lock",
    "std::lock_impl",
    "std::try_lock_impl",
    "std::lock_first_failed_impl",
    "std::call_once",
    "std::thread::join",
    "std::jthread::join",
    "std::this_thread::sleep_for",
    "std::this_thread::sleep_until",
    // Rust's, for guards
    "core::mem::drop",
    "std::thread::sleep",
    "std::thread::JoinHandle::join",
    "std::thread::JoinInner::join",
    // guards' constructors as DWARF names them without a scope
    "lock_guard",
    "unique_lock",
    "shared_lock",
    "scoped_lock",
    // SQLite
    "sqlite3BtreeEnter",
    "sqlite3BtreeEnterAll",
    "sqlite3BtreeEnterCursor",
    "sqlite3VdbeEnter",
    "btreeLockCarefully",
    "btreeEnterAll",
    // Varnish, GraphicsMagick, ImageMagick: they make a lock
    "Lck__New",
    "AllocateSemaphoreInfo",
    "AcquireSemaphoreInfo",
    "ActivateSemaphoreInfo",
    // NSPR, SDL, OpenMP
    "PR_EnterMonitor",
    "SDL_mutexP",
    "omp_set_lock",
    "omp_set_nest_lock",
    // Linux's big kernel lock
    "lock_kernel",
];

/// Families in which every function of the prefix is one.
const PREFIXES: &[&str] = &[
    "lw_",
    "pthread_",
    "gthread_",
    "gthrw_",
    "mtx_",
    "cnd_",
    "g_mutex_",
    "g_rec_mutex_",
    "g_rw_lock_",
    "g_cond_",
    "apr_thread_mutex_",
    "apr_thread_rwlock_",
    "apr_thread_cond_",
    "uv_mutex_",
    "uv_rwlock_",
    "uv_cond_",
    "gpr_mu_",
    "gpr_cv_",
    "sqlite3_mutex_",
    "pthreadMutex",
    "malloc_mutex_",
    "inline_mysql_mutex_",
    "inline_mysql_rwlock_",
    "inline_mysql_prlock_",
    "inline_mysql_cond_",
    "psi_mutex_",
    "psi_rwlock_",
    "psi_prlock_",
    "psi_cond_",
    "safe_mutex_",
    "safe_cond_",
    "rw_pr_",
    "CRYPTO_THREAD_",
    "PyThread_acquire_lock",
    "PyThread_allocate_lock",
];

/// Scopes in which every function is one.
const SCOPES: &[&str] = &[
    "lockwright::annotate::",
    "lockwright::objects::",
    "lockwright::traced::",
    "lockwright::sync::",
    // liblockwright's, where it is linked statically
    "lockwright::tool::",
    // lockwright.hpp's classes
    "lockwright::condition_variable::",
    "lockwright::detail::",
    "lockwright::kernel_mutex::",
    "lockwright::mutex::",
    "lockwright::pv_spinlock::",
    "lockwright::recursive_mutex::",
    "lockwright::rt_mutex::",
    "lockwright::rw_semaphore::",
    "lockwright::shared_mutex::",
    "lockwright::shared_spinlock::",
    "lockwright::spinlock::",
    "lock_api::",
    "parking_lot::",
    // Rust's std, whose locks are inlined
    "core::sync::atomic::",
    "std::sync::mutex::",
    "std::sync::nonpoison::",
    "std::sync::poison::",
    "std::sync::reentrant_lock::",
    "std::sync::rwlock::",
    "std::sys::sync::",
    "std::sys::unix::locks::",
    "std::sys_common::mutex::",
    "std::sys_common::rwlock::",
    "parking_lot_core::",
];

/// What the last word of a class of locks or guards is, in lower case without underscores.
const LOCK_CLASSES: &[&str] = &[
    "mutex",
    "mutexes",
    "lock",
    "locker",
    "latch",
    "guard",
    "spin",
    "monitor",
    "criticalsection",
    "sharedmutexpthread",
    "mutexholder",
    "lockholder",
];

/// Endings of class names that say nothing, cut before looking at [`LOCK_CLASSES`].
const CLASS_ENDINGS: &[&str] = &["impl", "base", "internal", "pthread", "posix", "t"];

/// Methods of such classes, in lower case without underscores. Constructors count too.
const LOCK_METHODS: &[&str] = &[
    "lock",
    "lockonce",
    "trylock",
    "trylockfor",
    "trylockuntil",
    "lockshared",
    "trylockshared",
    "lockexclusive",
    "lockread",
    "lockwrite",
    "lockreader",
    "lockwriter",
    "readerlock",
    "writerlock",
    "readertrylock",
    "writertrylock",
    "readlock",
    "writelock",
    "rdlock",
    "wrlock",
    "rlock",
    "wlock",
    "slock",
    "xlock",
    "enter",
    "tryenter",
    "acquire",
    "tryacquire",
    "acquireread",
    "acquirewrite",
    "acquireshared",
    "acquireexclusive",
    "init",
    "create",
    "get",
    "nativelock",
];

/// Methods of reader-writer locks, as [`LOCK_METHODS`].
const READ_WRITE: &[&str] = &["read", "write", "tryread", "trywrite"];

/// Classes of condition variables, as [`LOCK_CLASSES`]; their methods are those that start with one
/// of [`WAIT_METHODS`].
const CONDITION_CLASSES: &[&str] =
    &["condvar", "cond", "condition", "conditionvariable", "conditionvariableany", "waitcondition"];

/// See [`CONDITION_CLASSES`].
const WAIT_METHODS: &[&str] = &["wait", "timedwait", "sleep", "notify", "signal", "broadcast"];

/// Words that name a lock in a plain function's name.
const LOCK_WORDS: &[&str] = &[
    "mutex",
    "mtx",
    "mu",
    "lock",
    "rwlock",
    "prlock",
    "spinlock",
    "spin",
    "latch",
    "monitor",
    "critsec",
    "rw",
    "semaphore",
    "sem",
];

/// Words that say what is done to it.
const ACTION_WORDS: &[&str] = &[
    "lock",
    "trylock",
    "rdlock",
    "wrlock",
    "rlock",
    "wlock",
    "acquire",
    "enter",
    "take",
    "grab",
    "get",
    "init",
    "create",
    "new",
    "alloc",
    "make",
    "nested",
    "shared",
    "exclusive",
];

/// Words at the end of a name that say nothing, cut first.
const TRAILING_WORDS: &[&str] =
    &["func", "impl", "internal", "slow", "fast", "final", "common", "inline", "noinline", "real"];

fn is_wrapper_name(name: &str) -> bool {
    let scoped = normalise(name);
    let mut parts = scoped.rsplit("::");
    let last = parts.next().unwrap_or_default();
    let plain = last.trim_start_matches("GI_").trim_start_matches('_');
    let in_scope = |name: &str| SCOPES.iter().any(|scope| name.starts_with(scope));
    if EXACT.contains(&scoped.as_str()) || in_scope(&scoped) || in_scope(dropped_or_self(name)) {
        return true;
    }
    match parts.next() {
        Some(class) => is_lock_method(class, last),
        None => {
            PREFIXES.iter().any(|prefix| plain.starts_with(prefix))
                || is_lock_function(&words(plain))
        }
    }
}

/// What begins with the type of `drop_in_place::<Type>` or `<Type as Trait>::method`.
fn dropped_or_self(name: &str) -> &str {
    let name = name.strip_prefix("core::ptr::drop_in_place").unwrap_or(name);
    name.trim_start_matches([':', '<'])
}

/// `class::method` is a method or constructor of a lock, a guard or a condition variable.
fn is_lock_method(class: &str, method: &str) -> bool {
    let class = squash(class);
    let mut class = class.as_str();
    let method = squash(method);
    let constructor = class == method;
    while let Some(shorter) = CLASS_ENDINGS.iter().find_map(|ending| class.strip_suffix(ending)) {
        // "spinlockt" loses its t, "SecurityAgent" is no agen.
        if shorter.is_empty() || !LOCK_CLASSES.iter().any(|noun| shorter.contains(noun)) {
            break;
        }
        class = shorter;
    }
    // What a block or a flock reads is no business of locks.
    if class.ends_with("rwlock") && READ_WRITE.contains(&method.as_str()) {
        return true;
    }
    if LOCK_CLASSES.iter().any(|noun| class.ends_with(noun)) {
        return constructor || LOCK_METHODS.contains(&method.as_str());
    }
    CONDITION_CLASSES.contains(&class) && WAIT_METHODS.iter().any(|wait| method.starts_with(wait))
}

/// A plain function's name, in words, reads like "lock it": `mutex_enter`, `acquire_lock`,
/// `item_lock`.
fn is_lock_function(words: &[String]) -> bool {
    let is = |table: &[&str], word: &String| table.contains(&word.as_str());
    let end = words.iter().rposition(|word| !is(TRAILING_WORDS, word)).map_or(0, |last| last + 1);
    let words = &words[..end];
    match words {
        [] => false,
        [word] => word != "new" && (word == "lock" || word == "trylock" || word == "acquire"),
        // `item_lock`, `db_rdlock`; `mutex_init`; `acquire_lock`
        [first, last] => {
            matches!(last.as_str(), "lock" | "trylock" | "rdlock" | "wrlock")
                || (is(LOCK_WORDS, first) && is(ACTION_WORDS, last))
                || (is(ACTION_WORDS, first) && is(LOCK_WORDS, last))
        }
        // `ldap_pvt_thread_mutex_init`
        [_, .., lock, action] if is(LOCK_WORDS, lock) && is(ACTION_WORDS, action) => true,
        [first, between @ .., last] => {
            (words.len() <= 4
                && is(ACTION_WORDS, last)
                && between.iter().chain([first]).any(|word| is(LOCK_WORDS, word)))
                || (words.len() == 3
                    && (is(ACTION_WORDS, first) || is(ACTION_WORDS, &between[0]))
                    && matches!(last.as_str(), "mutex" | "rwlock" | "spinlock" | "latch"))
        }
    }
}

/// Without template arguments and without the namespaces that libraries hide (`__1`, `_V2`,
/// `__detail`, anonymous ones); leading underscores of the rest go too.
pub(super) fn normalise(name: &str) -> String {
    let flat = without_templates(&without_self(name));
    let mut parts: Vec<&str> = flat.split("::").collect();
    let last = parts.pop().unwrap_or_default();
    // A class may begin with underscores (`std::__mutex_base`): keep the innermost scope.
    let innermost = parts.pop().filter(|scope| !is_hidden(scope));
    parts.retain(|scope| !is_hidden(scope) && !scope.starts_with('_'));
    parts.extend(innermost);
    let mut text = String::new();
    for part in &parts {
        text.push_str(part.trim_start_matches('_'));
        text.push_str("::");
    }
    text + last.trim_start_matches('_')
}

/// Rust's `<Type as path::Trait>::method` as `path::Trait::method`, and `<path::Type>::method` as
/// `path::Type::method`.
fn without_self(name: &str) -> Cow<'_, str> {
    let mut depth = 0usize;
    let mut scope = 1;
    for (i, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return (name[scope..i].to_owned() + &name[i + 1..]).into(),
            '>' => depth -= 1,
            ' ' if depth == 1 && name[i..].starts_with(" as ") => scope = i + " as ".len(),
            _ if depth == 0 => break,
            _ => {}
        }
    }
    name.into()
}

fn is_hidden(scope: &str) -> bool {
    matches!(
        scope,
        "__1" | "_V2" | "__cxx11" | "__detail" | "(anonymous namespace)" | "{anonymous}"
    )
}

/// Cuts every balanced `<...>`, but not the signs of `operator<` and its kin.
fn without_templates(name: &str) -> String {
    let mut flat = String::with_capacity(name.len());
    let mut depth = 0usize;
    for (i, c) in name.char_indices() {
        match c {
            '<' if depth > 0 || !name[..i].ends_with("operator") => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => flat.push(c),
            _ => {}
        }
    }
    flat
}

/// In lower case, without underscores.
fn squash(name: &str) -> String {
    name.chars().filter(|&c| c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// `pthreadMutexEnter` and `sqlite3_mutex_enter` in words, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if (c == '_' || (c.is_ascii_uppercase() && !before.is_ascii_uppercase()))
            && !word.is_empty()
        {
            words.push(std::mem::take(&mut word));
        }
        if c != '_' {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRAPPERS: &[&str] = &[
        // C and glibc
        "pthread_mutex_lock",
        "___pthread_mutex_lock",
        "__pthread_mutex_trylock",
        "pthread_rwlock_rdlock",
        "pthread_cond_wait",
        "pthread_spin_lock",
        "mtx_lock",
        "cnd_timedwait",
        // lockwright.hpp
        "lockwright::mutex::lock()",
        "lockwright::shared_mutex::lock_shared()",
        "lockwright::rw_semaphore::downgrade()",
        "lockwright::condition_variable::wait(std::unique_lock<lockwright::mutex>&)",
        "lockwright::detail::wait_for<long, std::ratio<1l, 1000l> >(int)",
        // libstdc++ and libc++
        "__gthread_mutex_lock",
        "__gthrw_pthread_mutex_lock",
        "std::mutex::lock",
        "std::__1::mutex::lock",
        "std::recursive_mutex::lock",
        // Rust
        "std::sync::poison::mutex::Mutex<T>::lock",
        "<std::sync::poison::rwlock::RwLock<u32>>::read",
        "lock_api::mutex::Mutex<R,T>::lock",
        "<lockwright::traced::Traced<R> as lock_api::mutex::RawMutex>::lock",
        "lockwright::traced::Traced<R>::told_surely::{{closure}}",
        "<lockwright::traced::Traced<R,_> as lock_api::rwlock::RawRwLock>::lock_shared",
        "lockwright::traced::Traced<R,_>::told_surely::{{closure}}",
        "<lockwright::objects::tracked::Tracked<T> as core::ops::drop::Drop>::drop",
        "core::ptr::drop_in_place<lockwright::objects::tracked::Tracked<app::Timer>>",
        "core::ptr::drop_in_place::<lockwright::objects::tracked::Tracked<app::Timer>>",
        "std::__shared_mutex_pthread::lock_shared",
        "std::shared_mutex::lock",
        "std::shared_timed_mutex::try_lock_for<long, std::ratio<1l, 1000l> >",
        "std::lock_guard<std::mutex>::lock_guard",
        "std::lock_guard<std::recursive_mutex>::lock_guard",
        "std::unique_lock<std::mutex>::unique_lock",
        "std::unique_lock<std::mutex>::lock",
        "std::shared_lock<std::shared_mutex>::shared_lock",
        "std::scoped_lock<std::mutex, std::mutex>::scoped_lock",
        "std::lock<std::mutex, std::mutex>",
        "std::__detail::__lock_impl<std::mutex, std::mutex>",
        "std::condition_variable::wait",
        "std::condition_variable::wait<main::{lambda()#1}>",
        "std::_V2::condition_variable_any::wait<std::unique_lock<std::mutex> >",
        "std::__condvar::wait",
        "std::call_once<void (&)(), >",
        "std::thread::join",
        "std::this_thread::sleep_for<long, std::ratio<1l, 1000l> >",
        "std::this_thread::__sleep_for",
        "std::thread::JoinHandle<T>::join",
        "lock_guard",
        // Boost, Qt, LLVM, Poco
        "boost::mutex::lock",
        "boost::unique_lock<boost::mutex>::lock",
        "boost::recursive_mutex::recursive_mutex",
        "llvm::sys::SmartMutex<true>::lock",
        "llvm::sys::MutexImpl::acquire",
        "Poco::FastMutex::lock",
        "mozilla::detail::MutexImpl::lock",
        // RocksDB, LevelDB
        "rocksdb::port::Mutex::Lock",
        "rocksdb::port::Mutex::Mutex",
        "rocksdb::port::RWMutex::ReadLock",
        "rocksdb::MutexLock::MutexLock",
        "rocksdb::InstrumentedMutex::Lock",
        "rocksdb::InstrumentedMutexLock::InstrumentedMutexLock",
        "rocksdb::SpinMutex::lock",
        "leveldb::port::Mutex::Lock",
        // MySQL, MariaDB
        "inline_mysql_mutex_lock",
        "inline_mysql_mutex_init",
        "inline_mysql_rwlock_wrlock",
        "psi_mutex_lock",
        "safe_mutex_lock",
        "pfs_mutex_enter_func",
        "PolicyMutex<TTASEventMutex<GenericPolicy> >::enter",
        "OSMutex::enter",
        "rw_lock_s_lock_func",
        // GLib, SQLite, Kyoto Cabinet, others
        "g_mutex_lock",
        "g_rec_mutex_lock",
        "g_mutex_init",
        "sqlite3_mutex_enter",
        "pthreadMutexEnter",
        "pthreadMutexAlloc",
        "sqlite3MutexAlloc",
        "lockBtreeMutex",
        "kyotocabinet::Mutex::lock",
        "kyotocabinet::ScopedMutex::ScopedMutex",
        "kyotocabinet::ScopedRWLock::ScopedRWLock",
        "kyotocabinet::SlottedRWLock::lock_reader",
        "kyotocabinet::SpinLock::lock",
        "uv_mutex_lock",
        "apr_thread_mutex_lock",
        "CRYPTO_THREAD_write_lock",
        "SDL_LockMutex",
        "malloc_mutex_lock_slow",
        "item_lock",
        "mutex_lock",
        "my_mutex_lock",
        "ldap_pvt_thread_mutex_init",
        "Semaphore_create",
        "sem_new",
        "acquire_lock",
        "lock",
        "app::(anonymous namespace)::Mutex::lock",
        // Rust
        "core::sync::atomic::atomic_compare_exchange",
        "core::sync::atomic::AtomicU32::compare_exchange",
        "std::sys::sync::mutex::futex::Mutex::lock_contended",
        "std::sys::unix::locks::futex_mutex::Mutex::lock",
        "std::sync::poison::mutex::Mutex<u64>::lock",
        "std::sync::mutex::Mutex<T>::lock",
        "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock",
    ];

    const OTHERS: &[&str] = &[
        "<bank::Account as bank::Payee>::pay",
        "std::sync::mpmc::array::Channel<T>::send",
        "core::sync::atomic_user::run",
        "fs::Block::read",
        "main",
        "transfer",
        "worker",
        "std::thread::_State_impl<int>::_M_run",
        "bank::Account::lock",
        "rocksdb::PointLockManager::TryLock",
        "rocksdb::DBImpl::Write",
        "LockTable::acquire",
        "MDL_context::acquire_lock",
        "trx_start_low",
        "lock_rec_lock_slow_path_for_all",
        "lock_table",
        "do_store_item",
        "assoc_maintenance_thread",
        "std::mutex_user::run",
        "std::map<int, std::mutex>::operator[]",
        "std::vector<std::mutex>::vector",
        "operator<",
        "Guardian::visit",
        "new",
        "",
        "start_thread",
        "mutex_stats_report",
        "do_store_item_under_lock",
        "assembler_init",
        "Semaphore_wait_all",
        "block",
        "clock",
        "get_clock",
        "Agent::init",
    ];

    #[test]
    fn wrappers_are_skipped() {
        let missed: Vec<_> = WRAPPERS.iter().filter(|name| !is_wrapper_name(name)).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn work_is_shown() {
        let skipped: Vec<_> = OTHERS.iter().filter(|name| is_wrapper_name(name)).collect();
        assert!(skipped.is_empty(), "{skipped:?}");
    }

    #[test]
    fn unknown_frames_are_shown() {
        assert!(!is_lock_wrapper(&Frame::default()));
        let named = |name: &str| Frame { function: Some(name.to_owned()), ..Frame::default() };
        let stack = [named("std::mutex::lock"), named("push"), named("main")];
        assert_eq!(first_own_frame(&stack), Some(&stack[1]));
        assert_eq!(first_own_frame(&stack[..1]), Some(&stack[0]), "better than nothing");
        assert_eq!(first_own_frame(&[]), None);
    }

    #[test]
    fn what_is_inlined_into_a_wrapper_is_part_of_it() {
        let named = |name: &str, inlined: bool| Frame {
            function: Some(name.to_owned()),
            inlined,
            ..Frame::default()
        };
        let stack = [
            named("lock_surely_of_it", true),
            named("lw_bkl_lock", false),
            named("step", true),
            named("work", false),
        ];
        assert_eq!(first_own_frame(&stack), Some(&stack[2]));
        assert_eq!(first_own_frame(&stack[..2]), Some(&stack[0]), "better than nothing");
    }
}
