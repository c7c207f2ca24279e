//! Where a child that posix_spawn makes looks for its program: its file actions may have it change
//! the directory first.
//!
//! The C library says nothing of what it keeps of them, but has kept it alike since 2.2: each is a
//! number and a union. Later versions have only added numbers.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::readable;
use crate::sys::{self, Open};

/// `posix_spawn_file_actions_t`.
#[repr(C)]
struct Actions {
    room: c_int,
    used: c_int,
    first: *const Action,
}

/// `struct __spawn_action`: what it does, and with what.
#[repr(C)]
struct Action {
    kind: c_int,
    with: With,
}

#[repr(C)]
union With {
    path: *const c_char,
    fd: c_int,
    /// The largest: `fd`, `path`, `oflag` and `mode`.
    _open: (c_int, *const c_char, c_int, libc::mode_t),
}

const _: () = assert!(size_of::<Action>() == 32 && size_of::<Actions>() == 16);

/// Numbers of actions.
mod kind {
    pub const CHDIR: i32 = 3;
    pub const FCHDIR: i32 = 4;
    pub const LAST: i32 = 6;
}

/// The directory that the child is in when it executes its program.
pub enum Directory {
    /// This process's.
    Here,
    /// Another one.
    There(Open),
    /// An open one of this process.
    Given(c_int),
    /// Not known.
    Unknown,
    /// The file actions cannot be read. The child reads them, and only the child dies of it.
    Unreadable,
}

impl Directory {
    /// As a descriptor for what is relative to it; `None`: that is not known.
    pub fn fd(&self) -> Option<c_int> {
        match self {
            Self::Here => Some(libc::AT_FDCWD),
            Self::There(open) => Some(open.fd()),
            Self::Given(fd) => Some(*fd),
            Self::Unknown | Self::Unreadable => None,
        }
    }

    /// The outcome of file actions on it.
    ///
    /// # Safety
    /// What `posix_spawn` takes for file actions, if it can be read.
    pub unsafe fn after(actions: *const c_void) -> Self {
        if !actions.is_null() && !readable::is_there(actions, size_of::<Actions>()) {
            return Self::Unreadable;
        }
        // SAFETY: `actions` is null or was found readable, and the caller promises that file
        // actions are there.
        let Some(actions) = (unsafe { actions.cast::<Actions>().as_ref() }) else {
            return Self::Here;
        };
        let mut directory = Self::Here;
        if actions.used > actions.room || actions.first.is_null() {
            return directory;
        }
        for index in 0..actions.used.max(0) as usize {
            // SAFETY: the C library has put so many there.
            let action = unsafe { &*actions.first.add(index) };
            let at = directory.fd();
            match action.kind {
                kind::CHDIR => {
                    // SAFETY: an action of this kind has a path, so this field of the union is set
                    // and NUL terminated.
                    let path = unsafe { CStr::from_ptr(action.with.path) };
                    let flags = libc::O_PATH | libc::O_DIRECTORY;
                    let open = at.and_then(|at| sys::open(at, path, flags).ok());
                    directory = open.map_or(Self::Unknown, Self::There);
                }
                // SAFETY: an action of this kind has a descriptor, so this field of the union is
                // set.
                kind::FCHDIR => directory = Self::Given(unsafe { action.with.fd }),
                0..=kind::LAST => {}
                _ => return Self::Unknown,
            }
        }
        directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    unsafe extern "C" {
        fn posix_spawn_file_actions_addchdir_np(actions: *mut c_void, path: *const c_char)
        -> c_int;
        fn posix_spawn_file_actions_addfchdir_np(actions: *mut c_void, fd: c_int) -> c_int;
    }

    #[test]
    fn actions_that_change_the_directory_are_followed() {
        let mut actions = core::mem::MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
        let at = actions.as_mut_ptr();
        let finds_sh = || {
            // SAFETY: `at` is initialised before the first call of this closure.
            let directory = unsafe { Directory::after(at.cast()) };
            let name = directory.fd().map(|at| Name::At(at, c"./sh"));
            name.is_some_and(|name| name.open().is_ok())
        };
        // SAFETY: `at` is initialised first, each function gets it as it asks, and it is destroyed
        // once.
        unsafe {
            assert_eq!(libc::posix_spawn_file_actions_init(at), 0);
            assert!(!finds_sh());
            libc::posix_spawn_file_actions_addclose(at, 77);
            libc::posix_spawn_file_actions_addopen(at, 78, c"/dev/null".as_ptr(), 0, 0);
            posix_spawn_file_actions_addchdir_np(at.cast(), c"/".as_ptr());
            assert!(!finds_sh());
            posix_spawn_file_actions_addchdir_np(at.cast(), c"bin".as_ptr());
            assert!(finds_sh(), "from / on");
            let root = sys::open(libc::AT_FDCWD, c"/", libc::O_PATH).unwrap_or_else(|_| panic!());
            posix_spawn_file_actions_addfchdir_np(at.cast(), root.fd());
            assert!(!finds_sh());
            libc::posix_spawn_file_actions_destroy(at);
        }
    }
}
