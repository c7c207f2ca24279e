//! The functions of libraries that are interposed where they are called.

use core::ffi::CStr;

use super::library::{Library, Row};
use super::{abseil, glib, glib_bits, glib_once, openmp, qt};

/// GLib. Its GRecMutex and GRWLock point to pthread locks, which are seen as they are.
static GLIB: Library = Library {
    files: &["libglib-2.0.so"],
    needs: &["g_mutex_trylock", "g_bit_trylock", "g_pointer_bit_trylock"],
};

/// OpenMP's runtimes: GCC's, LLVM's and Intel's.
static OPENMP: Library = Library {
    files: &["libgomp.so", "libgomp-", "libomp.so", "libomp-", "libiomp5.so"],
    needs: &["omp_test_lock", "omp_test_nest_lock"],
};

/// Abseil.
static ABSEIL: Library = Library {
    files: &["libabsl_synchronization.so"],
    needs: &["absl_try_lock", "absl_reader_try_lock"],
};

/// Qt 5.
static QT: Library = Library {
    files: &["libQt5Core.so"],
    needs: &[
        "_ZN6QMutex7tryLockEi",
        "_ZNK11QBasicMutex11isRecursiveEv",
        "_ZN14QReadWriteLock14tryLockForReadEv",
        "_ZN14QReadWriteLock15tryLockForWriteEv",
    ],
};

libraries! {
    GLIB {
        g_mutex_init: site 1 glib::init;
        g_mutex_clear: site 1 glib::clear;
        g_mutex_lock: site_return 1 glib::lock;
        g_mutex_trylock: site_return 1 glib::trylock;
        g_mutex_unlock: site 1 glib::unlock;
        g_cond_init: site 1 glib::cond_init;
        g_cond_clear: site 1 glib::cond_clear;
        g_cond_wait: site 2 glib::cond_wait;
        g_cond_wait_until: site 3 glib::cond_wait_until;
        g_cond_signal: site 1 glib::cond_signal;
        g_cond_broadcast: site 1 glib::cond_broadcast;
        g_once_impl: site_return 3 glib_once::once;
        g_once_init_enter: site_return 1 glib_once::enter;
        g_once_init_enter_impl: site_return 1 glib_once::enter_impl;
        g_once_init_enter_pointer: site_return 1 glib_once::enter_pointer;
        g_once_init_leave: site 2 glib_once::leave;
        g_once_init_leave_pointer: site 2 glib_once::leave_pointer;
        g_bit_lock: site_return 2 glib_bits::lock;
        g_bit_trylock: site_return 2 glib_bits::trylock;
        g_bit_unlock: site 2 glib_bits::unlock;
        g_bit_lock_and_get: site_return 3 glib_bits::lock_and_get;
        g_bit_unlock_and_set: site 4 glib_bits::unlock_and_set;
        g_pointer_bit_lock: site_return 2 glib_bits::pointer_lock;
        g_pointer_bit_trylock: site_return 2 glib_bits::pointer_trylock;
        g_pointer_bit_unlock: site 2 glib_bits::pointer_unlock;
        g_pointer_bit_lock_and_get: site_return 3 glib_bits::pointer_lock_and_get;
        g_pointer_bit_unlock_and_set: site 4 glib_bits::pointer_unlock_and_set;
        g_slice_free1: site 2 glib::slice_free;
        g_slice_free_chain_with_offset: site 3 glib::slice_free_chain;
        g_rec_mutex_lock: unless_made 1 glib::makes;
        g_rec_mutex_trylock: unless_made 1 glib::makes;
        g_rw_lock_writer_lock: unless_made 1 glib::makes;
        g_rw_lock_writer_trylock: unless_made 1 glib::makes;
        g_rw_lock_reader_lock: unless_made 1 glib::makes;
        g_rw_lock_reader_trylock: unless_made 1 glib::makes;
    }

    OPENMP {
        omp_init_lock: site 1 openmp::init;
        omp_destroy_lock: site 1 openmp::destroy;
        omp_set_lock: site_return 1 openmp::set;
        omp_test_lock: site_return 1 openmp::test;
        omp_unset_lock: site 1 openmp::unset;
        omp_init_nest_lock: site 1 openmp::init_nest;
        omp_destroy_nest_lock: site 1 openmp::destroy_nest;
        omp_set_nest_lock: site_return 1 openmp::set_nest;
        omp_test_nest_lock: site_return 1 openmp::test_nest;
        omp_unset_nest_lock: site 1 openmp::unset_nest;
        GOMP_critical_start: site_return 0 openmp::critical_start;
        GOMP_critical_end: site 0 openmp::critical_end;
        GOMP_critical_name_start: site_return 1 openmp::critical_name_start;
        GOMP_critical_name_end: site 1 openmp::critical_name_end;
        GOMP_atomic_start: site_return 0 openmp::atomic_start;
        GOMP_atomic_end: site 0 openmp::atomic_end;
        __kmpc_critical: site_return 3 openmp::kmpc_critical;
        __kmpc_critical_with_hint: site 4 openmp::kmpc_critical_with_hint;
        __kmpc_end_critical: site 3 openmp::kmpc_end_critical;
    }

    ABSEIL {
        absl_mutex_end = "5MutexD1E": site 1 abseil::end;
        absl_mutex_part_end = "5MutexD2E": site 1 abseil::part_end;
        absl_lock = "5Mutex4LockE": site_return 1 abseil::lock;
        absl_unlock = "5Mutex6UnlockE": site 1 abseil::unlock;
        absl_try_lock = "5Mutex7TryLockE": site_return 1 abseil::try_lock;
        absl_reader_lock = "5Mutex10ReaderLockE": site_return 1 abseil::reader_lock;
        absl_reader_unlock = "5Mutex12ReaderUnlockE": site 1 abseil::reader_unlock;
        absl_reader_try_lock = "5Mutex13ReaderTryLockE": site_return 1 abseil::reader_try_lock;
        absl_release = "19ReleasableMutexLock7ReleaseE": site 1 abseil::release;
        absl_lock_when = "5Mutex8LockWhenE": site_return 2 abseil::lock_when;
        absl_reader_lock_when = "5Mutex14ReaderLockWhenE": site_return 2 abseil::reader_lock_when;
        absl_await = "5Mutex5AwaitE": site 2 abseil::wait_until;
        absl_await_with_timeout = "5Mutex16AwaitWithTimeoutE": site 4 abseil::await_with_timeout;
        absl_await_with_deadline = "5Mutex17AwaitWithDeadlineE": site 4 abseil::await_with_deadline;
        absl_lock_when_with_timeout = "5Mutex19LockWhenWithTimeoutE": site 4 abseil::lock_when_with_timeout;
        absl_lock_when_with_deadline = "5Mutex20LockWhenWithDeadlineE": site 4 abseil::lock_when_with_deadline;
        absl_reader_lock_when_with_timeout = "5Mutex25ReaderLockWhenWithTimeoutE": site 4 abseil::reader_lock_when_with_timeout;
        absl_reader_lock_when_with_deadline = "5Mutex26ReaderLockWhenWithDeadlineE": site 4 abseil::reader_lock_when_with_deadline;
        absl_cond_wait = "7CondVar4WaitE": site 2 abseil::cond_wait;
        absl_cond_wait_with_timeout = "7CondVar15WaitWithTimeoutE": site 4 abseil::cond_wait_with_timeout;
        absl_cond_wait_with_deadline = "7CondVar16WaitWithDeadlineE": site 4 abseil::cond_wait_with_deadline;
        absl_cond_signal = "7CondVar6SignalE": site 1 abseil::cond_signal;
        absl_cond_signal_all = "7CondVar9SignalAllE": site 1 abseil::cond_signal_all;
        absl_cond_end = "7CondVarD1E": site 1 abseil::cond_end;
        absl_cond_part_end = "7CondVarD2E": site 1 abseil::cond_part_end;
    }

    QT {
        _ZNK11QBasicMutex11isRecursiveEv: site 1 qt::is_recursive;
        _ZN6QMutex4lockEv: site_return 1 qt::lock;
        _ZN6QMutex7tryLockEi: site_return 2 qt::try_lock;
        _ZN6QMutex6unlockEv: site 1 qt::unlock;
        _ZN6QMutexD1Ev: site 1 qt::end;
        _ZN6QMutexD2Ev: site 1 qt::part_end;
        _ZN14QReadWriteLock11lockForReadEv: site_return 1 qt::read;
        _ZN14QReadWriteLock14tryLockForReadEv: site_return 1 qt::try_read;
        _ZN14QReadWriteLock14tryLockForReadEi: site_return 2 qt::read_within;
        _ZN14QReadWriteLock12lockForWriteEv: site_return 1 qt::write;
        _ZN14QReadWriteLock15tryLockForWriteEv: site_return 1 qt::try_write;
        _ZN14QReadWriteLock15tryLockForWriteEi: site_return 2 qt::write_within;
        _ZN14QReadWriteLock6unlockEv: site 1 qt::rw_unlock;
        _ZN14QReadWriteLockD1Ev: site 1 qt::rw_end;
        _ZN14QReadWriteLockD2Ev: site 1 qt::rw_part_end;
        _ZN14QWaitCondition4waitEP6QMutexm: site 3 qt::wait;
        _ZN14QWaitCondition4waitEP14QReadWriteLockm: site 3 qt::rw_wait;
        _ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer: site 4 qt::wait_until;
        _ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer: site 4 qt::rw_wait_until;
    }
}

/// How the names begin: of thousands nearly none does so.
const BEGINNINGS: &[&[u8]] = &[
    b"g_mutex_",
    b"g_cond_",
    b"g_once_i",
    b"g_bit_",
    b"g_pointer_bit_",
    b"g_slice_free",
    b"g_r",
    b"omp_",
    b"GOMP_",
    b"__kmpc_",
    b"_ZN4absl",
    b"_ZN6QMutex",
    b"_ZN14Q",
    b"_ZNK11QBasicMutex",
];

/// The number of the function of that name.
pub fn number(name: &CStr) -> Option<usize> {
    let bytes = name.to_bytes();
    let begins = BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning));
    begins.then(|| ROWS.iter().position(|row| is_named(row, name)))?
}

/// The row is of the function of that name.
fn is_named(row: &Row, name: &CStr) -> bool {
    match row.method {
        None => row.name.as_bytes() == name.to_bytes(),
        Some(method) => {
            let found = abseil::method_of(name.to_bytes());
            found.is_some_and(|found| found.starts_with(method.as_bytes()))
        }
    }
}
