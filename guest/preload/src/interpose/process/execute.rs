//! exec, posix_spawn, system and popen: the executed program is recorded. Whether it came to be
//! watched shows later, by its ledger, and why not, by its file: that is the command's to find out
//! (`cli/run/watch/unwatched.rs`). Only what environment it was given is known nowhere but here.
//!
//! Arguments and environment are handed on as they are, unless the program could not start with the
//! library, or is not to have it: then it starts without (`process/successor.rs`). They are read with
//! care: what is wrong with them the kernel says. A vforked child calls this: it changes nothing but
//! its stack.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use lockwright_exec::actions::Directory;
use lockwright_exec::{Name, environment as variables};

use crate::libc::real::{self, Strings};
use crate::os::digits::Digits;
use crate::os::readable;
use crate::os::{loader, sys, time};
use crate::process::successor::Start;
use crate::process::{follow, records, run_dir};

/// The file that has the records: `<sort> <pid> <CLOCK_MONOTONIC, ns> <path>`.
const RECORD: &CStr = c"executed";

/// Sorts of records.
mod sort {
    /// The library was passed on.
    pub const PASSED: &[u8] = b"x ";
    /// It was not.
    pub const CLEARED: &[u8] = b"c ";
    /// What the process said last that it would execute, it could not.
    pub const FAILED: &[u8] = b"f ";
    /// The library does not work in what is executed, which was started without it.
    pub const UNABLE: &[u8] = b"u ";
    /// The library cannot be reached there.
    pub const HIDDEN: &[u8] = b"h ";
    /// Nobody but the first process is watched.
    pub const LEFT_OUT: &[u8] = b"n ";
}

unsafe extern "C" {
    /// The program's environment.
    static environ: Strings;
}

fn environment() -> Strings {
    // SAFETY: the program's, to be changed by nobody while it executes something.
    unsafe { (&raw const environ).read() }
}

/// The path of the process's working directory.
const HERE: &CStr = c"/proc/self/cwd";

/// A call that executes a program.
struct Call {
    since: u64,
    sort: &'static [u8],
    start: Start,
    /// The run's directory cannot be reached.
    is_hidden: bool,
}

impl Call {
    /// What is executed has that name, and is executed by the process itself if it is `instead`.
    /// `None`: there is no such environment.
    ///
    /// # Safety
    /// The program's environment, as far as there is memory.
    unsafe fn begin(name: Option<Name<'_>>, environment: Strings, instead: bool) -> Option<Self> {
        // SAFETY: the caller promises the program's environment, which `passes_on` reads only where
        // there is memory.
        let passes = unsafe { passes_on(environment) }?;
        let is_first = instead && follow::is_first();
        let start = name.map_or(Start::AsGiven, |name| {
            // SAFETY: all of it was read just now.
            unsafe { Start::of(name, environment, is_first, passes) }
        });
        let sort = match start {
            Start::Hidden => sort::HIDDEN,
            Start::LeftOut => sort::LEFT_OUT,
            Start::Unable => sort::UNABLE,
            Start::AsGiven if passes => sort::PASSED,
            Start::AsGiven => sort::CLEARED,
        };
        let is_hidden = matches!(start, Start::Hidden | Start::Unable) && run_dir::is_hidden();
        Some(Self { since: time::now_ns(), sort, start, is_hidden })
    }

    /// The process `pid` executes `path`, which is looked for in PATH if it `is_searched`. False:
    /// there is nothing to record.
    fn tell(&self, pid: u32, path: &[u8], is_searched: bool) -> bool {
        if run_dir::directory().is_empty() {
            return false;
        }
        let is_whole = path.first() == Some(&b'/') || is_searched && !path.contains(&b'/');
        let mut buffer = [0; 1024];
        let (mut here, mut slash) = (&b""[..], &b""[..]);
        if !is_whole {
            // SAFETY: `HERE` is NUL terminated, and the kernel writes only into `buffer`.
            let len = unsafe { sys::readlink(HERE.as_ptr().cast(), &mut buffer) };
            (here, slash) = (&buffer[..len.max(0) as usize], b"/");
        }
        if self.start != Start::LeftOut && !follow::is_wanted_at(path) {
            return false;
        }
        let (pid, since) = (Digits::of(pid.into()), Digits::of(self.since));
        let (pid, since) = (pid.as_bytes(), since.as_bytes());
        let parts = [self.sort, pid, b" ", since, b" ", here, slash, path, b"\0"];
        records::append_or_keep(RECORD, parts, self.is_hidden);
        true
    }

    /// The process `pid` could not execute the recorded program.
    #[cold]
    fn failed(&self, pid: u32) {
        let pid = Digits::of(pid.into());
        let now = Digits::of(time::now_ns());
        let parts = [sort::FAILED, pid.as_bytes(), b" ", now.as_bytes(), b" \0"];
        records::append_or_keep(RECORD, parts, self.is_hidden);
    }
}

/// Whether what is executed with `environment` gets the library and knows its directory. `None`: it
/// cannot be read, and nothing is executed with it.
///
/// # Safety
/// An environment, as far as there is memory, or null, which is an empty one.
unsafe fn passes_on(mut environment: Strings) -> Option<bool> {
    let (mut library, mut directory) = (false, false);
    // The strings lie together, and their addresses do.
    let (mut addresses, mut strings) = (readable::look(), readable::look());
    while !environment.is_null() {
        // SAFETY: `addresses` reads only where there is memory, and the caller promises that null
        // ends the array.
        let variable = unsafe { addresses.value(environment) }?;
        if variable.is_null() {
            break;
        }
        // SAFETY: `strings` reads the variable only where there is memory, and nobody takes it away
        // during the call.
        let variable = unsafe { strings.string(variable) }?.to_bytes();
        if let Some(list) = variable.strip_prefix(b"LD_PRELOAD=") {
            library |= variables::entries(list).any(variables::is_watching);
        }
        directory |= variable.strip_prefix(b"LOCKWRIGHT_DIR=") == Some(run_dir::wanted());
        environment = environment.wrapping_add(1);
    }
    Some(library && directory)
}

/// How a call names a program.
#[derive(Clone, Copy)]
enum Called {
    Path(*const c_char),
    /// In PATH.
    Searched(*const c_char),
    /// From an open directory on.
    At(c_int, *const c_char),
    Open(c_int),
}

impl Called {
    /// As it is looked up from the directory `from` on; `None`: the kernel says what is wrong.
    ///
    /// # Safety
    /// A terminated text, or null.
    unsafe fn name<'n>(self, from: c_int) -> Option<Name<'n>> {
        // SAFETY: the caller promises a NUL-terminated text where it is not null.
        let text = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        Some(match self {
            Self::Path(path) => Name::At(from, text(path)?),
            Self::At(at, path) => Name::At(at, text(path)?),
            Self::Open(fd) => Name::Open(fd),
            Self::Searched(name) => {
                // SAFETY: `environment()` is the program's own, an array of C strings that a null
                // ends.
                let path = unsafe { variables::value(environment(), b"PATH=") };
                Name::Searched(from, text(name)?, path)
            }
        })
    }
}

/// The process itself executes the program at `path`, by calling `execute`, which returns only if
/// it cannot.
///
/// # Safety
/// The caller's strings, as far as there is memory.
unsafe fn instead(
    path: *const c_char,
    called: Called,
    environment: Strings,
    execute: &mut dyn FnMut(Strings) -> c_int,
) -> c_int {
    // SAFETY: the caller passed the path to a call that reads it; `string` reads only where there
    // is memory.
    let path = unsafe { readable::string(path) };
    // The kernel says what is wrong with it.
    let Some(path) = path else { return execute(environment) };
    // SAFETY: the path was read just now, so it is terminated; the environment is the caller's.
    let call = unsafe { Call::begin(called.name(libc::AT_FDCWD), environment, true) };
    let Some(call) = call else { return execute(environment) };
    let pid = sys::pids().0;
    let is_told = call.tell(pid, path.to_bytes(), matches!(called, Called::Searched(_)));
    let left = crate::interpose::process_exit::executes();
    // SAFETY: all of the environment was read just now.
    let result = unsafe { call.start.go(environment, execute) };
    crate::interpose::process_exit::stays(left);
    if is_told {
        call.failed(pid);
    }
    result
}

/// # Safety
/// The arguments keep the contract of `execve`.
pub unsafe extern "C-unwind" fn execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    _site: u64,
) -> c_int {
    // SAFETY: the program's own strings go on unchanged to `execve`; `instead` reads only where
    // there is memory.
    unsafe {
        instead(path, Called::Path(path), environment, &mut |environment| {
            real::execve(path, arguments, environment)
        })
    }
}

/// # Safety
/// The arguments keep the contract of `execv`.
pub unsafe extern "C-unwind" fn execv(
    path: *const c_char,
    arguments: Strings,
    _site: u64,
) -> c_int {
    // SAFETY: `execve` is called with the program's own arguments and environment, as `execv` does
    // it.
    unsafe { execve(path, arguments, environment(), 0) }
}

/// # Safety
/// The arguments keep the contract of `execvp`.
pub unsafe extern "C-unwind" fn execvp(
    file: *const c_char,
    arguments: Strings,
    _site: u64,
) -> c_int {
    // SAFETY: `execvpe` is called with the program's own arguments and environment, as `execvp`
    // does it.
    unsafe { execvpe(file, arguments, environment(), 0) }
}

/// # Safety
/// The arguments keep the contract of `execvpe`.
pub unsafe extern "C-unwind" fn execvpe(
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
    _site: u64,
) -> c_int {
    // SAFETY: the program's own strings go on unchanged to `execvpe`; `instead` reads only where
    // there is memory.
    unsafe {
        instead(file, Called::Searched(file), environment, &mut |environment| {
            real::execvpe(file, arguments, environment)
        })
    }
}

/// `execl`: its arguments are in a row.
///
/// # Safety
/// `arguments` is the row of strings that the program passed to `execl`, which a null ends.
pub unsafe extern "C-unwind" fn execl(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the row is that of the program's `execl`, which a null ends: `execl` calls `execv`
    // so.
    unsafe { execv(path, arguments, 0) }
}

/// `execlp`, likewise.
///
/// # Safety
/// `arguments` is the row of strings that the program passed to `execlp`, which a null ends.
pub unsafe extern "C-unwind" fn execlp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: `arguments` is the row that the program passed to `execlp`, which a null ends, as
    // `execvp` asks.
    unsafe { execvp(file, arguments, 0) }
}

/// `execle`, likewise; after the null that ends them is the environment.
///
/// # Safety
/// `arguments` is the row of strings of an `execle`, which a null ends and the environment follows.
pub unsafe extern "C-unwind" fn execle(path: *const c_char, arguments: Strings) -> c_int {
    let mut end = arguments;
    // SAFETY: a null ends the row of arguments, and the environment lies behind it, as `execle`
    // asks.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<Strings>(), 0)
    }
}

/// # Safety
/// The arguments keep the contract of `fexecve`.
pub unsafe extern "C-unwind" fn fexecve(
    fd: c_int,
    arguments: Strings,
    environment: Strings,
    _site: u64,
) -> c_int {
    let mut path = [0; 1024];
    let path = path_of(fd, &mut path);
    // SAFETY: the program's own arguments go on unchanged to `fexecve`; `path` is null or NUL
    // terminated.
    unsafe {
        instead(path, Called::Open(fd), environment, &mut |environment| {
            real::fexecve(fd, arguments, environment)
        })
    }
}

/// # Safety
/// The arguments keep the contract of `execveat`.
pub unsafe extern "C-unwind" fn execveat(
    fd: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
    _site: u64,
) -> c_int {
    // SAFETY: the program's own arguments go on unchanged to `execveat`; `at` reads only where
    // there is memory.
    unsafe {
        at(fd, path, environment, &mut |environment| {
            real::execveat(fd, path, arguments, environment, flags)
        })
    }
}

/// What `path` names from the open directory `fd` on is executed, or `fd` itself if the path is
/// empty: by `call`, which gets the environment that it is to have.
///
/// # Safety
/// A path and an environment, as far as there is memory.
pub(super) unsafe fn at(
    fd: c_int,
    path: *const c_char,
    environment: Strings,
    call: &mut dyn FnMut(Strings) -> c_int,
) -> c_int {
    let mut buffer = [0; 1024];
    // SAFETY: `value` reads the first byte of the program's path only where there is memory.
    let is_fd = fd >= 0 && unsafe { readable::value(path) } == Some(0);
    let (told, called) = match is_fd {
        true => (path_of(fd, &mut buffer), Called::Open(fd)),
        false => (path, Called::At(fd, path)),
    };
    // SAFETY: `told` is a NUL-terminated buffer or the caller's path, and the environment is the
    // caller's.
    unsafe { instead(told, called, environment, call) }
}

/// The path of an open file, NUL terminated; null if it has none.
fn path_of(fd: c_int, buffer: &mut [u8; 1024]) -> *const c_char {
    const FOLDER: &[u8] = b"/proc/self/fd/";
    let Ok(fd) = u64::try_from(fd) else { return core::ptr::null() };
    let mut link = [0; FOLDER.len() + 21];
    let digits = Digits::of(fd);
    link[..FOLDER.len()].copy_from_slice(FOLDER);
    link[FOLDER.len()..][..digits.as_bytes().len()].copy_from_slice(digits.as_bytes());
    // SAFETY: the digits end before the last byte of `link`, which stays 0; the kernel writes only
    // into `buffer`.
    let len = unsafe { sys::readlink(link.as_ptr(), &mut buffer[..1023]) };
    if len <= 0 {
        return core::ptr::null();
    }
    buffer[len as usize] = 0;
    buffer.as_ptr().cast()
}

/// A child executes a program: `spawn` says 0 if it does, and puts its process id at the address it
/// is given.
///
/// # Safety
/// The caller's strings, as far as there is memory, file actions or null, and a place for the process
/// id, or null.
unsafe fn beside(
    child: *mut libc::pid_t,
    path: *const c_char,
    called: Called,
    actions: *const c_void,
    environment: Strings,
    spawn: &dyn Fn(*mut libc::pid_t, Strings) -> c_int,
) -> c_int {
    let mut own = 0;
    let child = if child.is_null() { &raw mut own } else { child };
    // SAFETY: the caller promises its own path, which `string` reads only where there is memory.
    let path = unsafe { readable::string(path) };
    let Some(path) = path else { return spawn(child, environment) };
    // SAFETY: the caller promises the file actions of a `posix_spawn`, which are read where there
    // is memory.
    let directory = unsafe { Directory::after(actions) };
    // Nothing is executed.
    if matches!(directory, Directory::Unreadable) {
        return spawn(child, environment);
    }
    // SAFETY: the path was read just now, so it is terminated; the environment is the caller's.
    let call = unsafe {
        let name = directory.fd().and_then(|from| called.name(from));
        Call::begin(name, environment, false)
    };
    let Some(call) = call else { return spawn(child, environment) };
    // SAFETY: all of the environment was read just now.
    let result =
        unsafe { call.start.go(environment, &mut |environment| spawn(child, environment)) };
    if result == 0 {
        // SAFETY: the process id was put there.
        let pid = unsafe { *child as u32 };
        call.tell(pid, path.to_bytes(), matches!(called, Called::Searched(_)));
    }
    result
}

/// In programs linked before glibc 2.15, functions of these names give to a shell what is no
/// program: goes on to those then. To be called before the program's main.
pub fn start() {
    const OLD: &CStr = c"GLIBC_2.2.5";
    for (name, next) in
        [(c"posix_spawn", &real::slot::posix_spawn), (c"posix_spawnp", &real::slot::posix_spawnp)]
    {
        if loader::is_program_linked_with(name, OLD) {
            // Relaxed: the function has been there since the program began.
            next.store(loader::address(name, Some(OLD)), Relaxed);
        }
    }
}

/// # Safety
/// The arguments keep the contract of `posix_spawn`.
pub unsafe extern "C-unwind" fn posix_spawn(
    child: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the program's own arguments go on unchanged to `posix_spawn`, and are read only where
    // there is memory.
    unsafe {
        beside(child, path, Called::Path(path), actions, environment, &|child, environment| {
            real::posix_spawn(child, path, actions, attributes, arguments, environment)
        })
    }
}

/// # Safety
/// The arguments keep the contract of `posix_spawnp`.
pub unsafe extern "C-unwind" fn posix_spawnp(
    child: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the program's own arguments go on unchanged to `posix_spawnp`, and are read only
    // where there is memory.
    unsafe {
        beside(child, file, Called::Searched(file), actions, environment, &|child, environment| {
            real::posix_spawnp(child, file, actions, attributes, arguments, environment)
        })
    }
}

/// The shell is about to be executed, with the program's environment, in a child whose process id
/// nobody learns.
fn shell() {
    const SHELL: &CStr = c"/bin/sh";
    // SAFETY: `environment()` is the program's own, an array of C strings that a null ends.
    let call = unsafe { Call::begin(Some(Name::At(libc::AT_FDCWD, SHELL)), environment(), false) };
    // What passes the library on is watched, or tells itself that it is not: this environment is
    // nobody's to change.
    let is_silent = |call: &Call| [sort::CLEARED, sort::HIDDEN, sort::UNABLE].contains(&call.sort);
    if let Some(call) = call.filter(is_silent) {
        call.tell(0, SHELL.to_bytes(), false);
    }
}

/// # Safety
/// The arguments keep the contract of `system`.
pub unsafe extern "C-unwind" fn system(command: *const c_char, _site: u64) -> c_int {
    if !command.is_null() {
        shell();
    }
    // SAFETY: the next `system` gets the program's own `command` unchanged, as without us.
    unsafe { real::system(command) }
}

/// # Safety
/// The arguments keep the contract of `popen`.
pub unsafe extern "C-unwind" fn popen(
    command: *const c_char,
    mode: *const c_char,
    _site: u64,
) -> *mut c_void {
    // SAFETY: the next `popen` gets the program's own `command` and `mode` unchanged, as without
    // us.
    let stream = unsafe { real::popen(command, mode) };
    if !stream.is_null() {
        shell();
    }
    stream
}
