//! Loading a library, and what is wrong with it.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::mem::{offset_of, transmute};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use lockwright::lock_library::abi::{self, Lock, VERSION};

use super::{LibraryLock, host};
use crate::arena::PAGE;

/// The largest lock, in bytes.
const MOST_SIZE: usize = 1 << 20;
/// More locks than any library has.
const MOST_LOCKS: u32 = 1024;
/// Without these fields a lock is none.
const LEAST_LOCK: usize = offset_of!(Lock, try_lock);

/// Why a library is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The system does not load it, and says why.
    NotLoaded(String),
    /// It is no library of locks: it has not the function that gives them.
    NoEntry,
    /// It was built for another version of the interface.
    Version(u32),
    /// It was built for functions that this simulator has not.
    Newer,
    /// It names no locks, or more than there can be.
    Count(u32),
    /// This lock of it cannot be used, for this reason.
    Lock(String, String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = abi::ENTRY.to_string_lossy();
        match self {
            Self::NotLoaded(why) => f.write_str(why),
            Self::NoEntry => write!(f, "it is no library of locks: it has no function `{entry}`"),
            Self::Version(theirs) => write!(
                f,
                "it was built for version {theirs} of the interface, and this is version {VERSION}"
            ),
            Self::Newer => f.write_str("it was built for a newer lockwright than this one"),
            Self::Count(0) => f.write_str("it has no locks"),
            Self::Count(count) => write!(f, "it says that it has {count} locks"),
            Self::Lock(name, why) => write!(f, "its lock `{name}` {why}"),
        }
    }
}

impl std::error::Error for Refused {}

/// Loads a library, for ever: its constructors run. Returns the locks that it has.
///
/// # Errors
/// If it cannot be used.
pub fn load(path: &Path) -> Result<Vec<LibraryLock>, Refused> {
    let entry = entry(path)?;
    // SAFETY: the library has a function of this name, which is said to be of this type.
    let library = unsafe { entry(&raw const host::PLATFORM) };
    // SAFETY: it returns its table, which stays; of another version the first field is the same.
    let Some(version) = (unsafe { library.cast::<u32>().as_ref() }) else {
        return Err(Refused::Count(0));
    };
    if *version != VERSION {
        return Err(Refused::Version(*version));
    }
    // SAFETY: the library returned its table, which stays and is of this version.
    let library = unsafe { &*library };
    if library.platform_size as usize > size_of::<abi::Platform>() {
        return Err(Refused::Newer);
    }
    if !(1..=MOST_LOCKS).contains(&library.lock_count) || library.locks.is_null() {
        return Err(Refused::Count(library.lock_count));
    }
    let lock_size = library.lock_size as usize;
    if lock_size < LEAST_LOCK {
        return Err(Refused::NoEntry);
    }
    let mut locks: Vec<LibraryLock> = Vec::new();
    for number in 0..library.lock_count as usize {
        // SAFETY: so many lie there, of this size; of theirs, as many bytes as both know.
        let theirs = unsafe {
            let mut lock = std::mem::zeroed::<Lock>();
            let from = library.locks.cast::<u8>().add(number * lock_size);
            let size = lock_size.min(size_of::<Lock>());
            ptr::copy_nonoverlapping(from, (&raw mut lock).cast(), size);
            lock
        };
        let lock = checked(number, theirs)?;
        if locks.iter().any(|other| other.name == lock.name) {
            return Err(refused(lock.name, "has the name of another one"));
        }
        locks.push(lock);
    }
    Ok(locks)
}

fn entry(path: &Path) -> Result<abi::Entry, Refused> {
    let not_loaded = |why: &dyn fmt::Display| Refused::NotLoaded(why.to_string());
    // Loading what is no file would wait for it, or search for it elsewhere.
    let path = path.canonicalize().map_err(|error| not_loaded(&error))?;
    if !path.is_file() {
        return Err(not_loaded(&"it is no regular file"));
    }
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| not_loaded(&error))?;
    // SAFETY: a path; its constructors are the user's.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(not_loaded(&last_error()));
    }
    // SAFETY: `dlopen` above returned `handle`, which is not null, and the name ends with a NUL.
    let entry = unsafe { libc::dlsym(handle, abi::ENTRY.as_ptr()) };
    if entry.is_null() {
        return Err(Refused::NoEntry);
    }
    // SAFETY: what has this name is this function.
    Ok(unsafe { transmute::<*mut libc::c_void, abi::Entry>(entry) })
}

/// The loader's message about the last failure.
fn last_error() -> String {
    // SAFETY: it is the calling thread's, until its next call.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: `error` is not null, so it is the loader's string, which stays until this thread's
    // next call.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

fn refused(name: &str, why: &str) -> Refused {
    Refused::Lock(name.to_owned(), why.to_owned())
}

/// A text of the library's, which stays.
fn text(at: *const c_char) -> Option<&'static str> {
    // SAFETY: the library says that it is a string, or null.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_str().ok()).flatten()
}

fn checked(number: usize, lock: Lock) -> Result<LibraryLock, Refused> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = text(lock.name).filter(|name| !name.is_empty() && name.chars().all(of_name));
    let Some(name) = name else {
        let why = "has no name of letters, digits, `-` and `_`";
        return Err(refused(&format!("number {}", number + 1), why));
    };
    let Lock { size, align, .. } = lock;
    if !(1..=MOST_SIZE).contains(&size) {
        let why = format!("has {size} bytes: it must have from 1 to {MOST_SIZE}");
        return Err(Refused::Lock(name.to_owned(), why));
    }
    if !align.is_power_of_two() || align > PAGE {
        let why = format!("is aligned to {align}: it must be a power of two up to {PAGE}");
        return Err(Refused::Lock(name.to_owned(), why));
    }
    if lock.lock.is_none() || lock.unlock.is_none() {
        return Err(refused(name, "needs both functions, `lock` and `unlock`"));
    }
    if lock.read_lock.is_some() != lock.read_unlock.is_some()
        || (lock.try_read_lock.is_some() && lock.read_lock.is_none())
    {
        return Err(refused(name, "needs `read_lock` and `read_unlock`, or neither"));
    }
    // It is loaded for ever.
    let functions = Box::leak(Box::new(lock));
    Ok(LibraryLock { name, about: text(lock.about).unwrap_or_default(), functions })
}
