//! Loading of libraries: `dlopen`, which searches by its caller's RUNPATH.
//!
//! If that may matter, the call is forwarded with its return address as it is. We then know only
//! that it took the loader's lock. Other calls name a path, or are made where no
//! object has such a RUNPATH. There we are the caller, know when the lock is released, and look at
//! what has been loaded.

use core::ffi::{c_char, c_int, c_void};

use crate::callsite::Return;
use crate::interpose::{inlined, libraries};
use crate::libc::real;
use crate::lockdep::loader_locks;
use crate::recorder::measured::measured;
use crate::stack::modules;

/// Before the stub decides where to go: whether it is [`dlopen`].
///
/// # Safety
/// The program's call, which the stub came from.
pub unsafe extern "C-unwind" fn prepare(
    file: *const c_char,
    _flags: c_int,
    site: u64,
    back: Return,
) -> bool {
    if file.is_null() {
        return false;
    }
    modules::note_load();
    // SAFETY: the caller promises that the call which `site` and `back` belong to has not returned.
    let enters = unsafe { loader_locks::enter(&loader_locks::LOADER, site, back) };
    // SAFETY: `file` is not null, so it is the C string that the program passed to `dlopen`.
    let is_ours = unsafe { is_anyones(file) };
    if enters && !is_ours {
        loader_locks::leave(&loader_locks::LOADER);
    }
    if !is_ours {
        inlined::unseen_load();
    }
    is_ours
}

/// The name is of a file and not searched for, or wherever it is asked for, and says nothing that
/// depends on the caller.
///
/// # Safety
/// A C string.
unsafe fn is_anyones(file: *const c_char) -> bool {
    // SAFETY: the caller promises a C string, which stays for this call.
    let name = unsafe { core::ffi::CStr::from_ptr(file) }.to_bytes();
    !name.contains(&b'$') && (name.contains(&b'/') || libraries::loads_alike())
}

/// `dlopen` of a path, with the loader's lock held as far as we know.
///
/// # Safety
/// As the function itself; [`prepare`] said so.
pub unsafe extern "C-unwind" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    let load = measured(inlined::load_begins);
    // SAFETY: the next `dlopen` gets the program's own `file` and `flags` unchanged, as without us.
    let handle = unsafe { real::dlopen(file, flags) };
    modules::note_load();
    loader_locks::leave(&loader_locks::LOADER);
    measured(|| {
        if !handle.is_null() {
            libraries::look();
        }
        inlined::load_ended(load, !handle.is_null());
    });
    handle
}
