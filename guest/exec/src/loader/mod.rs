//! Functions of the objects loaded behind this library, as `dlsym(RTLD_NEXT, ...)` finds them, but
//! found without a call: `dlsym` takes the loader's lock, and where it fails it changes what the
//! program's `dlerror` says. Before glibc 2.34 it is not in libc.so.6, and allocates, while
//! allocating is among what we look up; before 2.36 it finds the oldest version of a function, and
//! not the one that programs are linked with.
//!
//! The loader's list of objects is what debuggers read (`link.h`: `struct r_debug`), in the order
//! of its searches; each object has its table of symbols, hashed. A function is looked up at start,
//! when nobody loads or unloads.

mod imports;
mod object;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering::*};

pub use self::imports::Import;
use self::object::LinkMap;
pub use self::object::{Dynamic, Function, Object, Version};
use crate::arch::own_dynamic;

/// `struct r_debug`, as far as it is public.
#[repr(C)]
struct Debug {
    version: c_int,
    map: *const LinkMap,
    _breakpoint: usize,
    _state: c_int,
    _loader: usize,
    /// The next namespace's, from version 2 on.
    next: *const Debug,
}

unsafe extern "C" {
    /// The loader's, of the namespace that the program is in.
    static _r_debug: Debug;
}

/// The next function of that name: of the version, if one is given and there is one, else of the
/// one that programs are linked with, else of any.
pub fn next(name: &CStr, version: Option<&CStr>) -> Option<Function> {
    let find = |version| {
        let seen = SEEN.get();
        let found = seen.iter().find_map(|object| object.find(name, version));
        found.or_else(|| behind(seen.len()).find_map(|object| object.find(name, version)))
    };
    version
        .and_then(|version| find(Version::Named(version)))
        .or_else(|| find(Version::Default))
        .or_else(|| find(Version::Any))
}

/// Where [`next`] finds it, null if it does not.
pub fn address(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    next(name, version).map_or(null_mut(), |function| function.at)
}

/// Where any object that is loaded, the program included, has a symbol of that name. To be called at
/// start, when nobody loads or unloads.
pub fn anywhere(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: members of the list are mapped objects.
    let mut objects = all().map(|map| unsafe { Object::of(map) });
    Some(objects.find_map(|object| object.find(name, Version::Any))?.at)
}

/// The program itself, and not just a library of it, was linked with that version of a function.
pub fn is_program_linked_with(name: &CStr, version: &CStr) -> bool {
    // SAFETY: the first in the list is the program, which stays; its own tables.
    all()
        .next()
        .is_some_and(|program| unsafe { Object::of(program).needs(name, version) == Some(true) })
}

/// The next function of that name is the C library's own, and no other's.
pub fn next_is_c_librarys(name: &CStr) -> bool {
    let object_of = |name| next(name, None).map(|function| function.object);
    // Only glibc has this symbol.
    object_of(name).is_some_and(|object| object_of(c"gnu_get_libc_version") == Some(object))
}

/// Whether the object that `address` lies in was linked with that version of a function. `None` if
/// it was not linked with the function.
pub fn is_linked_with(address: usize, name: &CStr, version: &CStr) -> Option<bool> {
    let map = all().filter(|map| map.addr <= address).max_by_key(|map| map.addr)?;
    // SAFETY: the caller's code lies in the object, so it is loaded.
    let object = unsafe { Object::of(map) };
    // SAFETY: the object is loaded, as the caller's code lies in it, so its tables are mapped.
    unsafe { object.needs(name, version) }
}

/// The loader's list of objects.
fn all() -> impl Iterator<Item = &'static LinkMap> {
    // SAFETY: the loader may append to it meanwhile; it takes out only what nobody uses any more.
    unsafe {
        let first = (&raw const _r_debug.map).read_volatile();
        core::iter::successors(first.as_ref(), |map| map.next.as_ref())
    }
}

/// The loader has loaded an object whose image begins at `start`. `None`: its list does not say, as
/// before glibc 2.35 objects that `dlmopen` loads are in lists that nobody knows.
pub fn is_loaded_at(start: u64) -> Option<bool> {
    // It came with the links from namespace to namespace.
    anywhere(c"_dl_find_object")?;
    let begins = |map: &LinkMap| {
        // A program that is linked to one place has its addresses from 0 on.
        let (start, dynamic) = (start as usize, map.dynamic as usize);
        map.addr == start || map.addr == 0 && dynamic.wrapping_sub(start) < MOST_IMAGE
    };
    if all().any(begins) {
        return Some(true);
    }
    // SAFETY: the loader's, which only ever adds one.
    let first = unsafe { (&raw const _r_debug).as_ref() }?;
    let next = |debug: &&'static Debug| {
        if debug.version < 2 {
            return None;
        }
        // SAFETY: the field is there from that version on, and the loader keeps what it links to.
        unsafe { debug.next.as_ref() }
    };
    let others = core::iter::successors(next(&first), next);
    // SAFETY: the loader may append to each list meanwhile; it takes out only what nobody uses any
    // more.
    let maps = |debug: &'static Debug| unsafe {
        core::iter::successors(debug.map.as_ref(), |map| map.next.as_ref())
    };
    Some(others.flat_map(maps).any(begins))
}

/// A program that is linked to one place lies within the first 2 GiB.
const MOST_IMAGE: usize = 1 << 31;

/// The first of the objects behind this library, as [`start`] found them; they stay.
struct Seen {
    len: AtomicUsize,
    objects: UnsafeCell<[MaybeUninit<Object>; Self::MOST]>,
}

// SAFETY: written once, before `len` says so.
unsafe impl Sync for Seen {}

static SEEN: Seen = Seen {
    len: AtomicUsize::new(0),
    objects: UnsafeCell::new([const { MaybeUninit::uninit() }; Seen::MOST]),
};

impl Seen {
    const MOST: usize = 256;

    fn get(&self) -> &[Object] {
        // Acquire pairs with the Release in `start`: as many have been written.
        let len = self.len.load(Acquire);
        // SAFETY: as many objects as `len` says have been written, and they are not written any
        // more.
        unsafe { core::slice::from_raw_parts(self.objects.get().cast(), len) }
    }
}

/// Reads once where the objects that are there have their tables: much is looked up at start. To be
/// called before any thread.
pub fn start() {
    let mut len = 0;
    for object in behind(0).take(Seen::MOST) {
        // SAFETY: nobody else is here, and nobody reads them yet.
        unsafe { SEEN.objects.get().cast::<Object>().add(len).write(object) };
        len += 1;
    }
    // Release pairs with the Acquire in `get`.
    SEEN.len.store(len, Release);
}

/// The objects behind this library, without the first `skipped`.
fn behind(skipped: usize) -> impl Iterator<Item = Object> {
    let own = own_dynamic().cast::<Dynamic>();
    // SAFETY: members of the list are mapped objects.
    all()
        .skip_while(move |map| map.dynamic != own)
        .skip(1 + skipped)
        .map(|map| unsafe { Object::of(map) })
}
