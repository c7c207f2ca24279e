//! The purpose of a wait at a futex, by the functions on its stack: the one table of names. It also
//! says which frames are a library's own: the first frame of the program's is the place worth
//! showing.

use std::rc::Rc;

use lockwright_ledger::rows::meter::futex_call;

use crate::finding::Frame;
use crate::finding::futex::{FutexKind, FutexUse};

use super::wrapper::{is_lock_wrapper, normalise};

/// A function, or all whose name begins so where it ends with `*`, without template arguments.
type Row = (&'static str, FutexUse, &'static str);

use FutexUse::{Barrier, Condition, Lock, Once, Park, Semaphore};

/// Functions that say what a wait is for, each of one library. If a stack has several, the
/// innermost counts: a condition's function that waits for its mutex waits for a lock.
const FUNCTIONS: &[Row] = &[
    // Rust's std; the first component is that of the module, which has moved.
    ("Mutex::lock_contended", Lock, "std::sync::Mutex"),
    ("RwLock::read_contended", Lock, "std::sync::RwLock"),
    ("RwLock::write_contended", Lock, "std::sync::RwLock"),
    ("RwLock::downgrade_slow", Lock, "std::sync::RwLock"),
    ("std::sys::sync::condvar::futex::Condvar::*", Condition, "std::sync::Condvar"),
    ("std::sys::unix::locks::futex_condvar::Condvar::*", Condition, "std::sync::Condvar"),
    ("std::sync::poison::condvar::Condvar::*", Condition, "std::sync::Condvar"),
    ("std::sync::condvar::Condvar::*", Condition, "std::sync::Condvar"),
    ("std::sys::sync::once::futex::Once::*", Once, "std::sync::Once"),
    ("std::sys::sync::thread_parking::futex::Parker::*", Park, "std::thread::park"),
    ("std::thread::park*", Park, "std::thread::park"),
    ("std::thread::thread::Thread::park*", Park, "std::thread::park"),
    // parking_lot
    ("parking_lot::raw_mutex::RawMutex::*", Lock, "parking_lot::Mutex"),
    ("parking_lot::raw_fair_mutex::RawFairMutex::*", Lock, "parking_lot::FairMutex"),
    ("parking_lot::raw_rwlock::RawRwLock::*", Lock, "parking_lot::RwLock"),
    ("parking_lot::condvar::Condvar::*", Condition, "parking_lot::Condvar"),
    ("parking_lot::once::Once::*", Once, "parking_lot::Once"),
    ("parking_lot_core::word_lock::WordLock::*", Lock, "parking_lot's table"),
    // GLib
    ("g_mutex_lock*", Lock, "GMutex"),
    ("g_rec_mutex_lock*", Lock, "GRecMutex"),
    ("g_rw_lock_*", Lock, "GRWLock"),
    ("g_cond_wait*", Condition, "GCond"),
    ("g_bit_lock*", Lock, "GLib's bit locks"),
    ("g_pointer_bit_lock*", Lock, "GLib's bit locks"),
    ("g_once_*", Once, "GOnce"),
    // Abseil; its inline namespaces are not looked at.
    ("absl::Mutex::*", Lock, "absl::Mutex"),
    ("absl::CondVar::*", Condition, "absl::CondVar"),
    ("absl::base_internal::SpinLock::*", Lock, "absl's SpinLock"),
    ("AbslInternalSpinLockDelay*", Lock, "absl's SpinLock"),
    ("absl::base_internal::SpinLockWait", Once, "absl::call_once"),
    ("absl::Notification::*", Condition, "absl::Notification"),
    ("absl::BlockingCounter::*", Barrier, "absl::BlockingCounter"),
    // Qt
    ("QBasicMutex::*", Lock, "QMutex"),
    ("QMutex::*", Lock, "QMutex"),
    ("QRecursiveMutex::*", Lock, "QRecursiveMutex"),
    ("QReadWriteLock::*", Lock, "QReadWriteLock"),
    ("QSemaphore::*", Semaphore, "QSemaphore"),
    // OpenMP of LLVM; GCC's runtime makes the system call itself.
    ("kmp_acquire_futex_lock*", Lock, "OpenMP (libomp)"),
    ("kmpc_critical*", Lock, "OpenMP (libomp)"),
    // libstdc++: what of C++20 is made of atomics, and of C++11's futures.
    ("std::atomic_futex_unsigned_base::*", Condition, "std::future"),
    ("std::counting_semaphore::*", Semaphore, "std::counting_semaphore"),
    ("std::atomic_semaphore::*", Semaphore, "std::counting_semaphore"),
    ("std::platform_semaphore::*", Semaphore, "std::counting_semaphore"),
    ("std::barrier::*", Barrier, "std::barrier"),
    ("std::tree_barrier::*", Barrier, "std::barrier"),
    ("std::latch::*", Barrier, "std::latch"),
    // oneTBB
    ("tbb::detail::d1::mutex::*", Lock, "tbb::mutex"),
    ("tbb::detail::d1::rw_mutex::*", Lock, "tbb::rw_mutex"),
    ("tbb::detail::r1::binary_semaphore::*", Park, "oneTBB's workers"),
    ("tbb::detail::r1::concurrent_monitor*", Park, "oneTBB's workers"),
    ("tbb::detail::r1::rml::private_worker::*", Park, "oneTBB's workers"),
    // HotSpot
    ("LinuxWaitBarrier::wait", Barrier, "the JVM's safepoints"),
    // folly
    ("folly::SharedMutexImpl::*", Lock, "folly::SharedMutex"),
    ("folly::Baton::*", Park, "folly::Baton"),
    ("folly::MicroLockBase::*", Lock, "folly::MicroLock"),
];

/// The same, of functions that others of [`FUNCTIONS`] are made with: they say it if those do not.
const COMMON: &[Row] = &[
    ("parking_lot_core::parking_lot::park", Park, "parking_lot_core"),
    ("std::atomic::wait", FutexUse::Unknown, "std::atomic::wait"),
    ("std::atomic_base::wait", FutexUse::Unknown, "std::atomic::wait"),
    ("std::atomic_flag::wait", FutexUse::Unknown, "std::atomic::wait"),
    ("std::atomic_wait_address*", FutexUse::Unknown, "std::atomic::wait"),
    ("tbb::detail::r1::wait_on_address", FutexUse::Unknown, "oneTBB"),
];

/// Libraries in which functions without a name wait for this alone: all others that wait are
/// exported.
const NAMELESS: &[Row] = &[("libglib-2.0.so", Lock, "GMutex")];

/// Whose waiters have a futex each, not each lock: these say nothing of which lock it is.
const OF_THREADS: &[&str] = &[
    "std::thread::park",
    "parking_lot::Mutex",
    "parking_lot::FairMutex",
    "parking_lot::RwLock",
    "parking_lot::Condvar",
    "parking_lot_core",
    "absl::Mutex",
    "absl::CondVar",
    "absl::Notification",
    "absl::BlockingCounter",
    "oneTBB's workers",
    // Each waiter sleeps at a word of its own stack.
    "tbb::mutex",
    "tbb::rw_mutex",
    "oneTBB",
];

/// Whether the futex is that of a thread that waits, not of what it waits for.
pub fn is_of_thread(kind: FutexKind) -> bool {
    kind.of.is_some_and(|of| OF_THREADS.contains(&of))
}

/// What else is between such a function and `syscall`, or wakes.
const INNER: &[&str] = &[
    "syscall",
    "futex_wait*",
    "futex_wake*",
    // All of the standard libraries of Rust and C++.
    "std::*",
    "core::*",
    "alloc::*",
    "drop_in_place",
    "parking_lot::*",
    "parking_lot_core::*",
    "lock_api::*",
    "absl::*",
    "g_mutex_*",
    "g_cond_*",
    "g_bit_*",
    "g_rec_mutex_*",
    "g_rw_lock_*",
    "QtFutex*",
    "QtLinuxFutex*",
    "omp_*",
    "kmp*",
    "tbb::detail::*",
];

/// Libraries none of whose functions is the program's: names may be missing there.
const LIBRARIES: &[&str] = &[
    "libomp.so",
    "libiomp5.so",
    "libstdc++.so",
    "libtbb.so",
    "libabsl_",
    "libglib-2.0.so",
    "libc.so",
    "libpthread.so",
];

/// Names without what inline namespaces add.
fn plain_name(frame: &Frame) -> Option<String> {
    let name = normalise(frame.function.as_deref()?);
    // `absl::debian3::Mutex`, `absl::lts_20230125::Mutex`.
    let Some(rest) = name.strip_prefix("absl::") else { return Some(name) };
    match rest.split_once("::") {
        Some((inline, rest)) if inline.starts_with("lts_") || inline.starts_with("debian") => {
            Some(format!("absl::{rest}"))
        }
        _ => Some(name),
    }
}

fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        // A method of Rust's std is known whatever its module is called.
        None => {
            name == pattern
                || name
                    .strip_suffix(pattern)
                    .is_some_and(|scope| scope.starts_with("std::sys") && scope.ends_with("::"))
        }
        Some((start, "")) => name.starts_with(start),
        Some((start, rest)) => {
            name.starts_with(start) && name[start.len()..].contains(rest.trim_end_matches('*'))
        }
    }
}

fn row_of(name: &str, table: &[Row]) -> Option<FutexKind> {
    let row = table.iter().find(|(pattern, ..)| fits(name, pattern))?;
    Some(FutexKind { used_as: row.1, of: Some(row.2) })
}

/// What a wait with this stack is for, made by one of [`futex_call`].
pub fn kind_of(call: u32, stack: &[Frame]) -> FutexKind {
    if call == futex_call::LOCK_PI {
        return FutexKind { used_as: Lock, of: Some("a priority-inheriting futex") };
    }
    let names: Vec<String> = inner(stack).filter_map(plain_name).collect();
    let by = |table: &[Row]| names.iter().find_map(|name| row_of(name, table));
    let nameless = || {
        let first = stack.first().filter(|frame| frame.function.is_none())?;
        let module = library_of(first)?;
        let row = NAMELESS.iter().find(|(library, ..)| module.starts_with(library))?;
        Some(FutexKind { used_as: row.1, of: Some(row.2) })
    };
    by(FUNCTIONS).or_else(|| by(COMMON)).or_else(nameless).unwrap_or(FutexKind::UNKNOWN)
}

/// Name of the file that a frame is in.
fn library_of(frame: &Frame) -> Option<&str> {
    frame.module.as_deref()?.rsplit('/').next()
}

/// The frames that a library has on top of the program's.
fn inner(stack: &[Frame]) -> impl Iterator<Item = &Frame> {
    // The function that makes the system call is one whatever it is called.
    let own = stack.iter().enumerate().position(|(at, frame)| at > 0 && !is_inner(frame));
    stack[..own.unwrap_or(stack.len())].iter()
}

fn is_inner(frame: &Frame) -> bool {
    let library = library_of(frame);
    let is_library = |name: &str| LIBRARIES.iter().any(|library| name.starts_with(library));
    let Some(name) = plain_name(frame) else { return library.is_some_and(is_library) };
    library.is_some_and(is_library)
        || INNER.iter().any(|pattern| fits(&name, pattern))
        || row_of(&name, FUNCTIONS).is_some()
        || row_of(&name, COMMON).is_some()
        || is_lock_wrapper(frame)
}

/// The stack with its library's frames marked as such: the first other is the place worth showing.
pub fn folded(stack: &[Frame]) -> Rc<[Frame]> {
    let inner = inner(stack).count();
    let mut frames = stack.to_vec();
    // In a stack with frames of a library only, the outermost says most.
    if inner < frames.len() {
        frames[..inner].iter_mut().for_each(|frame| frame.wraps = true);
    }
    frames.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(names: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame { function: Some((*name).into()), ..Frame::default() };
        names.iter().map(frame).collect()
    }

    fn of(names: &[&str]) -> (FutexUse, Option<&'static str>, String) {
        let stack = stack(names);
        let FutexKind { used_as, of } = kind_of(futex_call::WAIT, &stack);
        let folded = folded(&stack);
        let own = crate::symbolize::wrapper::first_own_frame(&folded);
        (used_as, of, own.and_then(|frame| frame.function.clone()).unwrap_or_default())
    }

    #[test]
    fn rust_std_is_known_by_its_functions() {
        let lock = [
            "std::sys::pal::unix::futex::futex_wait",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
        ];
        let user = "bank::transfer";
        let mutex = Some("std::sync::Mutex");
        assert_eq!(of(&[lock[0], lock[1], user]), (Lock, mutex, user.into()));
        let wrapped = [lock[0], lock[1], "std::sync::poison::mutex::Mutex<T>::lock", user];
        assert_eq!(of(&wrapped), (Lock, mutex, user.into()));
        let old = [
            "std::sys::unix::futex::futex_wait",
            "std::sys::unix::locks::futex_mutex::Mutex::lock_contended",
        ];
        assert_eq!(of(&[old[0], old[1], user]), (Lock, mutex, user.into()));
        // A condition that takes its mutex back waits for a lock.
        let back = [lock[0], lock[1], "std::sys::sync::condvar::futex::Condvar::wait", user];
        assert_eq!(of(&back), (Lock, mutex, user.into()));
        let wait = [lock[0], "std::sys::sync::condvar::futex::Condvar::wait_timeout", user];
        assert_eq!(of(&wait), (Condition, Some("std::sync::Condvar"), user.into()));
        let park = [
            lock[0],
            "std::sys::sync::thread_parking::futex::Parker::park",
            "std::thread::park",
            user,
        ];
        assert_eq!(of(&park), (Park, Some("std::thread::park"), user.into()));
        let drop = [
            "std::sys::sync::mutex::futex::Mutex::wake",
            "core::ptr::drop_in_place<std::sync::MutexGuard<u32>>",
            user,
        ];
        assert_eq!(of(&drop).2, user);
    }

    #[test]
    fn what_parks_for_a_lock_is_none() {
        let park = "parking_lot_core::parking_lot::park::{{closure}}";
        let inner = ["parking_lot_core::thread_parker::imp::ThreadParker::futex_wait", park];
        let core = "parking_lot_core::parking_lot::park";
        let lock =
            [inner[0], inner[1], core, "parking_lot::raw_mutex::RawMutex::lock_slow", "user::f"];
        assert_eq!(of(&lock), (Lock, Some("parking_lot::Mutex"), "user::f".into()));
        let cond =
            [inner[0], core, "parking_lot::condvar::Condvar::wait_until_internal", "user::f"];
        assert_eq!(of(&cond), (Condition, Some("parking_lot::Condvar"), "user::f".into()));
        assert_eq!(
            of(&[inner[0], core, "user::f"]),
            (Park, Some("parking_lot_core"), "user::f".into())
        );
    }

    #[test]
    fn libraries_of_c_and_cxx_are_known() {
        for (function, used_as, of_what) in [
            ("g_mutex_lock_slowpath", Lock, "GMutex"),
            ("g_cond_wait", Condition, "GCond"),
            ("absl::debian3::Mutex::LockSlow(absl::debian3::MuHow)", Lock, "absl::Mutex"),
            ("absl::lts_20230125::CondVar::WaitCommon", Condition, "absl::CondVar"),
            ("QBasicMutex::lockInternal()", Lock, "QMutex"),
            ("std::counting_semaphore<1l>::acquire()", Semaphore, "std::counting_semaphore"),
            ("std::atomic<int>::wait", FutexUse::Unknown, "std::atomic::wait"),
        ] {
            assert_eq!(
                of(&["inner", function, "user"]),
                (used_as, Some(of_what), "user".into()),
                "{function}"
            );
        }
        let tbb = ["inner", "tbb::detail::r1::wait_on_address", "user"];
        let kind = kind_of(futex_call::WAIT, &stack(&tbb));
        assert!(kind.of == Some("oneTBB") && is_of_thread(kind), "{kind:?}");
        assert_eq!(of(&["my_futex", "take_my_lock_for_it", "user"]).0, FutexUse::Unknown);
    }
}
