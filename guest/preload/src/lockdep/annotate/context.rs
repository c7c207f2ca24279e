//! Things that are no locks but take part in deadlocks like them: resource contexts, and waits that
//! another thread ends.

use core::ffi::{c_char, c_int};

use lockwright_engines::lockdep::{Acquire, Ident};

use super::user_locks::end_wait;
use super::{text, with_stack};
use crate::lock_id::by_address::{Completion, Resource};
use crate::lock_id::identity::{self, Birth};
use crate::lock_id::unstamped;
use crate::lockdep::watch::{self, Blocking};
use crate::os::tls;
use crate::recorder::state;
use crate::stack::python;

/// A resource's address. No object has it, as it is not canonical.
fn address_of(name: &[u8]) -> u64 {
    // FNV-1a; resources are few.
    let hash = name
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    1 << 63 | hash >> 2
}

/// # Safety
/// `name` is null or points to `len` bytes of the caller's.
pub unsafe extern "C-unwind" fn resource_acquire(
    name: *const c_char,
    len: usize,
    site: u64,
) -> c_int {
    // SAFETY: the program's call names a text of `len` bytes, or null.
    let name = unsafe { text(name, len) };
    let Some(thread) = watch::thread() else { return 0 };
    let address = address_of(name);
    if name.is_empty() || thread.recurse(address) {
        return 0;
    }
    let make = |core: &mut lockwright_engines::lockdep::Core, kind, ident| match ident {
        Some(ident) => Some(ident),
        None => with_stack(core, |core, frames| core.name_lock(None, kind, name, frames)),
    };
    let ident = unstamped::find(address).or_else(|| {
        // SAFETY: known by address; there is no memory to look at.
        unsafe { identity::rename(address as *const Resource, make) }
    });
    if let Some(ident) = ident
        && watch::before(thread, address, ident, 0, site)
    {
        thread.acquired(address);
    }
    0
}

/// # Safety
/// `name` is null or points to `len` bytes of the caller's.
pub unsafe extern "C-unwind" fn resource_release(
    name: *const c_char,
    len: usize,
    _site: u64,
) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    // SAFETY: the program's call names a text of `len` bytes, or null.
    let name = unsafe { text(name, len) };
    watch::released(thread, address_of(name), None);
    0
}

/// # Safety
/// None: `object` is used as an address only.
unsafe fn completion(object: u64) -> Option<Ident> {
    let this = object as *const Completion;
    // SAFETY: known by address; its memory is not looked at.
    unsafe { identity::known(this).or_else(|| identity::identify(this, Birth::FirstAcquire)) }
}

/// # Safety
/// None: `object` is used as an address only; `site` is the call's return address.
pub unsafe extern "C-unwind" fn wait_begin(object: u64, site: u64) -> c_int {
    if watch::thread().is_none() {
        return 0;
    }
    // SAFETY: `completion` uses `object` as an address only.
    let Some(ident) = (unsafe { completion(object) }).filter(|_| object != 0) else { return 0 };
    let Some(thread) = watch::own() else { return 0 };
    if watch::before(thread, object, ident, 0, site) {
        let (lock, node) = thread.reserved(object);
        let holds = thread.is_obstacle(1);
        let blocking = Blocking { relock_fails: true, owner: 0 };
        watch::begin_wait(thread, &lock, node, holds, blocking);
    }
    0
}

/// # Safety
/// None: `object` is used as an address only.
pub unsafe extern "C-unwind" fn wait_end(object: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    end_wait(thread, object);
    if let Some(ident) = unstamped::find(object) {
        thread.abandon_reserved(ident.inst());
    }
    0
}

/// # Safety
/// None: `object` is used as an address only; `site` is the call's return address.
pub unsafe extern "C-unwind" fn complete(object: u64, site: u64) -> c_int {
    let Some(thread) = watch::thread() else { return 0 };
    thread.shares();
    if thread.is_idle() {
        return 0;
    }
    // SAFETY: `completion` uses `object` as an address only.
    let Some(ident) = (unsafe { completion(object) }).filter(|_| object != 0) else { return 0 };
    let lock = Acquire { addr: object, ident, mode: 0, site };
    state::with_core(|core| core.completes(thread, &lock, &mut python::capture));
    0
}
