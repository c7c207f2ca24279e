//! exec and posix_spawn: a program that has locks of its own, or cannot load this library, is
//! started without it, and counted. A ThreadSanitizer would take each lock that this library
//! replaces for none.
//!
//! `system` and `popen` start the shell, which has none.

use core::ffi::{CStr, c_char, c_int, c_void};

use lockwright_exec::actions::Directory;
use lockwright_exec::{Name, Program, Strings, environment as variables, readable};

use crate::counts::{Count, count};
use crate::next;

/// A symbol that a program defines if other code than the C library's takes its locks.
const OWN: &CStr = c"pthread_mutex_lock";

unsafe extern "C" {
    static environ: Strings;
}

fn environment() -> Strings {
    // SAFETY: the program's; nobody changes it while the program executes something.
    unsafe { (&raw const environ).read() }
}

/// How a call names a program.
#[derive(Clone, Copy)]
enum Called {
    At(c_int, *const c_char),
    /// In PATH.
    Searched(*const c_char),
    Open(c_int),
}

impl Called {
    /// # Safety
    /// A terminated text.
    unsafe fn name<'n>(self, from: c_int) -> Name<'n> {
        match self {
            // SAFETY: the caller promises a terminated text.
            Self::At(libc::AT_FDCWD, path) => Name::At(from, unsafe { CStr::from_ptr(path) }),
            // SAFETY: the caller promises a terminated text.
            Self::At(at, path) => Name::At(at, unsafe { CStr::from_ptr(path) }),
            Self::Open(fd) => Name::Open(fd),
            // SAFETY: the caller promises a terminated text, and `environment()` is the program's
            // own.
            Self::Searched(name) => unsafe {
                let path = variables::value(environment(), b"PATH=");
                Name::Searched(from, CStr::from_ptr(name), path)
            },
        }
    }
}

/// Has `go` execute a program with this environment, or with one without this library.
///
/// # Safety
/// The arguments of a call that executes a program, as far as there is memory.
unsafe fn execute(
    called: Called,
    actions: *const c_void,
    environment: Strings,
    go: &mut dyn FnMut(Strings) -> c_int,
) -> c_int {
    // SAFETY: the caller promises the arguments of such a call, which are read only where there is
    // memory.
    let is_there = unsafe {
        let is_text = match called {
            Called::At(_, text) | Called::Searched(text) => readable::is_text(text),
            Called::Open(_) => true,
        };
        is_text && readable::is_environment(environment)
    };
    // The kernel says what is wrong with them.
    if !is_there {
        return go(environment);
    }
    // SAFETY: the environment can be read up to the null that ends it, as was just found.
    let preloaded = unsafe { variables::preloaded(environment) };
    let mut entries = variables::entries(preloaded);
    let Some(library) = entries.find(|entry| variables::is_replacing(entry)) else {
        return go(environment);
    };
    // SAFETY: the caller promises file actions or null, which are read only where there is memory.
    let directory = unsafe { Directory::after(actions) };
    let program = directory.fd().map(|from| {
        // SAFETY: the text can be read up to its end, as was just found, so it is terminated.
        lockwright_exec::program(unsafe { called.name(from) }, preloaded, Some(OWN))
    });
    let is_left = match program {
        None | Some(Program::Missing) => false,
        Some(Program::Refusing) => true,
        Some(_) => lockwright_exec::is_hidden(library),
    };
    if !is_left {
        return go(environment);
    }
    count(Count::ProgramsLeft);
    // SAFETY: the environment can be read up to the null that ends it, as was found above.
    unsafe { variables::without(variables::is_replacing, environment, go) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execve(p: *const c_char, a: Strings, e: Strings) -> c_int {
    let called = Called::At(libc::AT_FDCWD, p);
    // SAFETY: the program's own arguments go on to `execve`, with another environment at most.
    unsafe { execute(called, core::ptr::null(), e, &mut |e| next::execve(p, a, e)) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execv(p: *const c_char, a: Strings) -> c_int {
    // SAFETY: the program's own arguments and environment go to `execve`, as `execv` does it.
    unsafe { execve(p, a, environment()) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execvpe(p: *const c_char, a: Strings, e: Strings) -> c_int {
    let called = Called::Searched(p);
    // SAFETY: the next function gets the program's own arguments, with another environment at most.
    unsafe { execute(called, core::ptr::null(), e, &mut |e| next::execvpe(p, a, e)) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execvp(p: *const c_char, a: Strings) -> c_int {
    // SAFETY: the program's own arguments and environment go to `execvpe`, as `execvp` does it.
    unsafe { execvpe(p, a, environment()) }
}

/// `execl`: its arguments are in a row.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execl(p: *const c_char, a: Strings) -> c_int {
    // SAFETY: the row is that of the program's `execl`, which a null ends: `execl` calls `execv`
    // so.
    unsafe { execv(p, a) }
}

/// `execlp`, likewise.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execlp(p: *const c_char, a: Strings) -> c_int {
    // SAFETY: the row is that of the program's `execlp`, which a null ends: `execlp` calls `execvp`
    // so.
    unsafe { execvp(p, a) }
}

/// `execle`, likewise; after the null that ends them is the environment.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execle(p: *const c_char, a: Strings) -> c_int {
    let mut end = a;
    // SAFETY: a null ends the row of the program's `execle`, and the environment lies behind it.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(p, a, *end.add(1).cast::<Strings>())
    }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn fexecve(f: c_int, a: Strings, e: Strings) -> c_int {
    // SAFETY: the next function gets the program's own arguments, with another environment at most.
    unsafe { execute(Called::Open(f), core::ptr::null(), e, &mut |e| next::fexecve(f, a, e)) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn execveat(
    d: c_int,
    p: *const c_char,
    a: Strings,
    e: Strings,
    f: c_int,
) -> c_int {
    // SAFETY: `is_empty` reads the program's path only where there is memory.
    let is_fd = unsafe { readable::is_empty(p) };
    let called = if is_fd { Called::Open(d) } else { Called::At(d, p) };
    // SAFETY: the next function gets the program's own arguments, with another environment at most.
    unsafe { execute(called, core::ptr::null(), e, &mut |e| next::execveat(d, p, a, e, f)) }
}

type Spawn = unsafe fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn posix_spawn(
    i: *mut libc::pid_t,
    p: *const c_char,
    f: *const c_void,
    t: *const c_void,
    a: Strings,
    e: Strings,
) -> c_int {
    let spawn: Spawn = next::posix_spawn;
    // SAFETY: the next function gets the program's own arguments, with another environment at most.
    unsafe { execute(Called::At(libc::AT_FDCWD, p), f, e, &mut |e| spawn(i, p, f, t, a, e)) }
}

/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn posix_spawnp(
    i: *mut libc::pid_t,
    p: *const c_char,
    f: *const c_void,
    t: *const c_void,
    a: Strings,
    e: Strings,
) -> c_int {
    let spawn: Spawn = next::posix_spawnp;
    // SAFETY: the next function gets the program's own arguments, with another environment at most.
    unsafe { execute(Called::Searched(p), f, e, &mut |e| spawn(i, p, f, t, a, e)) }
}
