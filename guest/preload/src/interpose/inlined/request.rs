//! Asks the command for the table of a module that it did not know of before the program started: a library that is loaded by
//! `dlopen`, or a program that another one executes.

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_ledger::inlined::{REQUESTS, Request};

use crate::os::loader::{Dynamic, Object};
use crate::os::{readable, sys};
use crate::process::run_dir::{self, MOST_DIRECTORY};

/// How long one answer is waited for, and how long between two looks, ns.
const PATIENCE_NS: i64 = 5_000_000_000;
const LOOK_NS: i64 = 1_000_000;

/// The command did not answer once.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// What code of Rust's std imports: how it waits, and how it has destructors run when a thread ends. Few others have both.
const IMPORTS: [&core::ffi::CStr; 2] = [c"syscall", c"__cxa_thread_atexit_impl"];

/// Whether the module may have inlined locks, by what it imports.
///
/// # Safety
/// A loaded object with these headers, which stays.
pub unsafe fn may_have_some(bias: u64, headers: &[libc::Elf64_Phdr]) -> bool {
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return false;
    };
    let dynamic = bias.wrapping_add(dynamic.p_vaddr) as *const Dynamic;
    let mut found = [false; IMPORTS.len()];
    // SAFETY: the caller promises a loaded object, which stays.
    unsafe {
        Object::at(bias as usize, dynamic).imports(&mut |import| {
            for (found, name) in found.iter_mut().zip(IMPORTS) {
                *found |= import.name == name;
            }
        });
    }
    found == [true; IMPORTS.len()]
}

/// Asks for the table of the module whose build id has these `digits`, and waits until there is a file at `answer`. False: there
/// is nobody to ask, or no answer.
///
/// # Safety
/// `name` is the module's as the loader has it; `answer` is NUL terminated.
#[cold]
pub unsafe fn ask(digits: &[u8], name: *const c_char, answer: &[u8]) -> bool {
    if IS_SILENT.load(Relaxed) {
        return false;
    }
    let mut request = Request::NONE;
    request.build_id[..digits.len()].copy_from_slice(digits);
    // SAFETY: the caller promises the loader's string.
    if !unsafe { write_path(name, &mut request.path) } || !send(&request) {
        return false;
    }
    let mut left = PATIENCE_NS;
    // SAFETY: the caller promises that the path is NUL terminated.
    while !unsafe { sys::exists(answer.as_ptr()) } {
        if left <= 0 {
            IS_SILENT.store(true, Relaxed);
            return false;
        }
        sys::sleep_ns(LOOK_NS);
        left -= LOOK_NS;
    }
    true
}

/// The path of the file that is called `name`; of the program it is empty.
///
/// # Safety
/// `name` is null or a string.
unsafe fn write_path(name: *const c_char, path: &mut [u8]) -> bool {
    let room = path.len() - 1;
    // SAFETY: the caller promises a string, if it is not null.
    let name = unsafe { readable::string(name) }.unwrap_or_default().to_bytes();
    if name.is_empty() {
        // SAFETY: a NUL-terminated literal, and the kernel writes only into the buffer.
        let len = unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), &mut path[..room]) };
        return len > 0 && (len as usize) < room;
    }
    let mut len = 0;
    if !name.starts_with(b"/") {
        // As `dlopen` was called, which has just looked it up from here. The command compares the build id.
        // SAFETY: a NUL-terminated literal, and the kernel writes only into the buffer.
        let here = unsafe { sys::readlink(c"/proc/self/cwd".as_ptr().cast(), &mut path[..room]) };
        if here <= 0 || here as usize >= room {
            return false;
        }
        len = here as usize;
        path[len] = b'/';
        len += 1;
    }
    let Some(rest) = path[..room].get_mut(len..len + name.len()) else {
        return false;
    };
    rest.copy_from_slice(name);
    true
}

/// Puts the request into the pipe, if somebody reads it.
fn send(request: &Request) -> bool {
    let mut path = [0; MOST_DIRECTORY + REQUESTS.len() + 2];
    let path = run_dir::path_of(&mut path, &[REQUESTS.as_bytes()]);
    // SAFETY: the path is NUL terminated.
    unsafe {
        let reader = sys::open_pipe(path.as_ptr(), libc::O_WRONLY);
        if reader < 0 {
            return false;
        }
        sys::close(reader);
        // By a descriptor that reads as well the program gets no SIGPIPE.
        let both = sys::open_pipe(path.as_ptr(), libc::O_RDWR);
        if both < 0 {
            return false;
        }
        let sent = sys::writev(both, [request.as_bytes().as_slice()], []);
        sys::close(both);
        sent == Request::BYTES as isize
    }
}
