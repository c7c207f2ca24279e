//! The functions of libraries that are stood in front of where they are called.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::glib::{self, Cond, Gate, Mutex, RwLock};
use super::{Library, Row};
use crate::libc::real::literal;

/// GLib. Its GRecMutex and GRWLock point to pthread locks, which are seen as they are.
const GLIB: Library = &["libglib-2.0.so"];

libraries! {
    GLIB {
        g_mutex_init(m: Mutex) -> (), site 1: glib::init;
        g_mutex_clear(m: Mutex) -> (), site 1: glib::clear;
        g_mutex_lock(m: Mutex) -> (), site_return 1: glib::lock;
        g_mutex_trylock(m: Mutex) -> c_int, site_return 1: glib::trylock;
        g_mutex_unlock(m: Mutex) -> (), site 1: glib::unlock;
        g_cond_init(c: Cond) -> (), site 1: glib::cond_init;
        g_cond_clear(c: Cond) -> (), site 1: glib::cond_clear;
        g_cond_wait(c: Cond, m: Mutex) -> (), site 2: glib::cond_wait;
        g_cond_wait_until(c: Cond, m: Mutex, end: i64) -> c_int, site 3: glib::cond_wait_until;
        g_cond_signal(c: Cond) -> (), site 1: glib::cond_signal;
        g_cond_broadcast(c: Cond) -> (), site 1: glib::cond_broadcast;
        g_once_init_enter(gate: Gate) -> c_int, site_return 1: glib::once_init_enter;
        g_once_init_leave(gate: Gate, result: usize) -> (), site 2: glib::once_init_leave;
        g_rec_mutex_lock(m: Mutex) -> (), unless_made 1: glib::makes;
        g_rec_mutex_trylock(m: Mutex) -> c_int, unless_made 1: glib::makes;
        g_rw_lock_writer_lock(l: RwLock) -> (), unless_made 1: glib::makes;
        g_rw_lock_writer_trylock(l: RwLock) -> c_int, unless_made 1: glib::makes;
        g_rw_lock_reader_lock(l: RwLock) -> (), unless_made 1: glib::makes;
        g_rw_lock_reader_trylock(l: RwLock) -> c_int, unless_made 1: glib::makes;
    }
}

/// The number of the function of that name.
pub fn number(name: &CStr) -> Option<usize> {
    // Of thousands of names nearly none is one of these.
    let bytes = name.to_bytes();
    let starts =
        [&b"g_mutex"[..], b"g_cond", b"g_once", b"g_r"].iter().any(|at| bytes.starts_with(at));
    starts.then(|| ROWS.iter().position(|row| row.name == name))?
}
