//! Facts about a program that a preloaded library needs before a process executes it: whether the
//! program can load the library at all, and the environment that it starts with if it cannot.
//!
//! A vforked child calls this. It changes nothing but its stack, and opens descriptors that it
//! closes again. There is no allocation, and errno stays as it is.
//!
//! [`loader`] finds functions of the objects that the process has loaded.

#![cfg_attr(not(test), no_std)]

pub mod actions;
mod arch;
pub mod environment;
mod image;
pub mod loader;
mod lookup;
pub mod readable;
mod sys;

pub use lookup::Name;
pub use readable::Strings;

use core::ffi::{CStr, c_int};

use image::{Image, Script};

/// The kernel follows so many interpreters of interpreters.
const MOST_INTERPRETERS: usize = 5;

/// The effect of LD_PRELOAD on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// There is none that could be executed.
    Missing,
    /// Its loader loads the libraries.
    Loading,
    /// Nothing: it is statically linked. It passes the variable on.
    Ignoring,
    /// It ends with an error if a library of ours is there, or complains.
    Refusing,
    /// Not known: it cannot be read, for example.
    Unknown,
}

/// The effect on the program of that name. `preloaded` is the value of LD_PRELOAD: other libraries
/// there may have to be the first. A program that has the function `own` itself is a refusing one.
pub fn program(name: Name<'_>, preloaded: &[u8], own: Option<&CStr>) -> Program {
    let file = match name.open() {
        Ok(file) => file,
        Err(lookup::Failed::Missing) => return Program::Missing,
        Err(lookup::Failed::Unreadable) => return Program::Unknown,
    };
    let mut script = Script::default();
    let mut image = image::of(file.fd(), file.name(), &mut script, own);
    drop(file);
    if image == Image::Text && name.is_searched() {
        // `execvp` has the shell run it.
        image = interpreter(c"/bin/sh", &mut script, own);
    }
    for _ in 0..MOST_INTERPRETERS {
        match image {
            Image::Script => {
                let next = script;
                image = interpreter(next.interpreter(), &mut script, own);
            }
            Image::Loading if environment::entries(preloaded).any(image::is_sanitizer) => {
                return Program::Refusing;
            }
            Image::Loading => return Program::Loading,
            Image::Ignoring => return Program::Ignoring,
            Image::Refusing => return Program::Refusing,
            Image::Text | Image::Unknown => return Program::Unknown,
        }
    }
    Program::Unknown
}

fn interpreter(path: &CStr, script: &mut Script, own: Option<&CStr>) -> Image {
    match Name::At(libc::AT_FDCWD, path).open() {
        Ok(file) => image::of(file.fd(), path.to_bytes(), script, own),
        Err(_) => Image::Unknown,
    }
}

/// A longer path is not looked at.
const MOST_PATH: usize = 3072;

/// Whether there is no file at `path` that could be loaded.
pub fn is_hidden(path: &[u8]) -> bool {
    is_absent(path, libc::O_NONBLOCK | libc::O_NOCTTY)
}

/// Whether there is no directory at `path`. It need not be readable.
pub fn is_hidden_directory(path: &[u8]) -> bool {
    is_absent(path, libc::O_PATH | libc::O_DIRECTORY)
}

#[inline(never)]
fn is_absent(path: &[u8], flags: c_int) -> bool {
    let mut terminated = [0; MOST_PATH];
    if path.len() >= terminated.len() {
        return false;
    }
    terminated[..path.len()].copy_from_slice(path);
    CStr::from_bytes_until_nul(&terminated).is_ok_and(|path| sys::is_absent(path, flags))
}
