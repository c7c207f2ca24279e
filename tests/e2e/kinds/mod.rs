//! Each kind of lock, and each library that has locks of its own, is watched.

pub mod abseil;
pub mod annotations;
pub mod barriers;
pub mod c11;
pub mod c_locks;
pub mod cxx;
pub mod futex_holds;
pub mod futexes;
pub mod glib;
pub mod glib_bits;
pub mod glib_newer;
pub mod glib_once;
pub mod hidden;
pub mod inlined;
pub mod loader;
pub mod marked;
pub mod monitors;
pub mod onces;
pub mod openmp;
pub mod parking_lot;
pub mod qt;
pub mod readers;
pub mod semaphores;
pub mod threadpool;
