//! What the table of libraries' functions is made of.

use core::ffi::c_void;
use core::sync::atomic::AtomicPtr;

/// A library that makes locks.
pub struct Library {
    /// How the names of its files begin.
    pub files: &'static [&'static str],
    /// The rows of what wrappers of other functions call, too.
    pub needs: &'static [&'static str],
}

/// A function of a library.
pub struct Row {
    pub library: &'static Library,
    pub name: &'static str,
    /// For a function of Abseil: its name, mangled, within its namespace.
    pub method: Option<&'static str>,
    /// The stub that interposes it.
    pub stub: unsafe extern "C" fn(),
    /// Where it is, once it is called by way of the stub.
    pub next: &'static AtomicPtr<c_void>,
}
