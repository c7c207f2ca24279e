//! Locks that a library makes itself, past the C library: GLib's, OpenMP's, Abseil's, Qt 5's. Their functions are not
//! exported here, as a program may ask by name whether there are such functions, and do without
//! them. Instead the words are changed by which each object calls them, once the library is there:
//! at start, and after each `dlopen` ([`look`]). What the library calls within itself is not seen,
//! nor what is called by an address that `dlsym` gave.
//!
//! [`table`] is the list of the functions. The wrappers report the locks to the engines as
//! user-defined ones ([`steps`]).

mod library;
pub mod steps;
#[macro_use]
mod next_functions;
#[macro_use]
mod rows;
mod table;

// By `next_functions!`.
mod abseil;
mod glib;
mod glib_bits;
mod glib_once;
mod openmp;
mod qt;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::*};

use self::library::Library;
use crate::libc::real;
use crate::os::loader::{Dynamic, Import, Object, Version};
use crate::os::sys;

/// An object that is loaded.
struct Loaded {
    object: Object,
    path: *const c_char,
    /// Where it begins and ends.
    image: (usize, usize),
    /// What the loader makes read-only once it is done with the object.
    relro: (usize, usize),
}

/// All that are loaded.
struct List {
    len: usize,
    objects: [Option<Loaded>; Self::MOST],
}

impl List {
    const MOST: usize = 512;

    fn all(&self) -> impl Iterator<Item = &Loaded> {
        self.objects[..self.len].iter().flatten()
    }
}

struct Shared(UnsafeCell<List>);

// SAFETY: only used with the loader's lock of its list held.
unsafe impl Sync for Shared {}

static LIST: Shared =
    Shared(UnsafeCell::new(List { len: 0, objects: [const { None }; List::MOST] }));

/// Somebody watches this process.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// An object has a RUNPATH for the libraries that it loads: so it matters which object loads them.
static HAS_RUN_PATH: AtomicBool = AtomicBool::new(false);

/// Stands in front of what is there from now on. To be called before the program's main.
pub fn start() {
    IS_WATCHED.store(true, Relaxed);
    look();
}

/// A name that is loaded means the same library for every object that asks for it.
pub fn loads_alike() -> bool {
    IS_WATCHED.load(Relaxed) && !HAS_RUN_PATH.load(Relaxed)
}

/// Something may have been loaded.
pub fn look() {
    if IS_WATCHED.load(Relaxed) {
        // SAFETY: a callback of the type that it asks for.
        unsafe { real::dl_iterate_phdr(with_list as *mut c_void, core::ptr::null_mut()) };
    }
}

/// Has the list read and goes through it. The loader's lock, which can be taken again, is held: so
/// nothing comes or goes meanwhile.
extern "C" fn with_list(_: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    let list = LIST.0.get();
    // SAFETY: the loader's lock is held during this callback, so no other thread has a reference to
    // `LIST`.
    unsafe {
        (*list).len = 0;
        real::dl_iterate_phdr(note as *mut c_void, list.cast());
        connect(&*list);
    }
    // That was all.
    1
}

/// Adds an object to the list.
///
/// # Safety
/// The loader calls it with `info` of a loaded object; `list` is the `List` that was given to it.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
    // SAFETY: as the loader calls it; the list that was given to it.
    let (info, list) = unsafe { (&*info, &mut *list.cast::<List>()) };
    // SAFETY: the loader's copy of the object's headers.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let range = |header: &libc::Elf64_Phdr| {
        let from = base.wrapping_add(header.p_vaddr as usize);
        (from, from + header.p_memsz as usize)
    };
    let of = |kind| headers.iter().filter(move |header| header.p_type == kind).map(range);
    let Some((dynamic, _)) = of(libc::PT_DYNAMIC).next() else { return 0 };
    // SAFETY: an object that is loaded, and stays as long as the lock is held.
    let object = unsafe { Object::at(base, dynamic as *const Dynamic) };
    if object.has_run_path {
        HAS_RUN_PATH.store(true, Relaxed);
    }
    let image = of(libc::PT_LOAD)
        .reduce(|all, part| (all.0.min(part.0), all.1.max(part.1)))
        .unwrap_or_default();
    let relro = of(libc::PT_GNU_RELRO).next().unwrap_or_default();
    let Some(place) = list.objects.get_mut(list.len) else {
        // One of the others may.
        HAS_RUN_PATH.store(true, Relaxed);
        return 1;
    };
    *place = Some(Loaded { object, path: info.dlpi_name, image, relro });
    list.len += 1;
    0
}

impl Loaded {
    /// Its file is one of the library's.
    fn is(&self, library: &Library) -> bool {
        // SAFETY: the loader's string; of the program it is empty.
        let path = unsafe { CStr::from_ptr(self.path) }.to_bytes();
        let file = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        library.files.iter().any(|name| file.starts_with(name.as_bytes()))
    }
}

/// The function that calls of a name go to.
#[derive(Clone, Copy)]
struct Definition<'a> {
    at: usize,
    by: &'a Loaded,
    /// Nobody else has one of that name.
    is_only: bool,
}

/// The first function of that name in the loader's order.
fn definition<'a>(list: &'a List, name: &CStr) -> Option<Definition<'a>> {
    let mut all = list.all().filter_map(|by| {
        let found = by.object.find(name, Version::Default)?;
        Some(Definition { at: found.at as usize, by, is_only: true })
    });
    let first = all.next()?;
    Some(Definition { is_only: all.next().is_none(), ..first })
}

/// The definitions of the interposed functions, by their rows.
type Definitions<'a> = [Option<Definition<'a>>; table::ROWS.len()];

/// Has every object's calls of the functions go to their stubs.
fn connect(list: &List) {
    let mut definitions: Definitions<'_> = [None; table::ROWS.len()];
    for library in table::LIBRARIES {
        for by in list.all().filter(|loaded| loaded.is(library)) {
            let mut define = |name: &CStr| {
                let Some(number) = table::number(name) else { return };
                let row = &table::ROWS[number];
                if definitions[number].is_none() && core::ptr::eq(row.library, *library) {
                    // If a program has a function of that name itself, it is another function.
                    let found = definition(list, name).filter(|found| is_same(found.by, by));
                    if let Some(found) = found {
                        definitions[number] = Some(found);
                        row.next.store(found.at as *mut c_void, Relaxed);
                    }
                }
            };
            // SAFETY: it stays as long as the lock is held.
            unsafe { by.object.exports(&mut define) };
        }
    }
    if definitions.iter().all(Option::is_none) {
        return;
    }
    for library in table::LIBRARIES {
        let is_there = |need: &&str| {
            let row = table::ROWS.iter().position(|row| row.name == *need);
            row.is_some_and(|row| definitions[row].is_some())
        };
        if !library.needs.iter().all(is_there) {
            let rows = table::ROWS.iter().zip(&mut definitions);
            rows.filter(|(row, _)| core::ptr::eq(row.library, *library))
                .for_each(|(_, found)| *found = None);
        }
    }
    for loaded in list.all() {
        let mut turn = |import: Import<'_>| {
            let Some(number) = table::number(import.name) else { return };
            if let Some(found) = definitions[number].filter(|found| !is_same(found.by, loaded)) {
                // SAFETY: an import of the object, which stays as long as the lock is held.
                unsafe { loaded.turn(&import, found, table::ROWS[number].stub as usize) };
            }
        };
        // SAFETY: the object was just listed, and it stays as long as the loader's lock is held.
        unsafe { loaded.object.imports(&mut turn) };
    }
}

fn is_same(one: &Loaded, other: &Loaded) -> bool {
    core::ptr::eq(one, other)
}

impl Loaded {
    /// Has the import go to `stub`, if it is of the function that was found.
    ///
    /// # Safety
    /// An import of this object.
    unsafe fn turn(&self, import: &Import<'_>, found: Definition<'_>, stub: usize) {
        // Relaxed: an address of code that has been there for long. The loader may store the
        // function's own there at the first call of another thread; then that is not seen.
        let value = import.word.load(Relaxed);
        let is_bound = value == found.at;
        let is_unbound = (self.image.0..self.image.1).contains(&value);
        // SAFETY: the caller promises an import of this object, as `asks` asks.
        let goes_there =
            is_bound || is_unbound && found.is_only && unsafe { self.asks(import, found) };
        let place = import.word.as_ptr() as usize;
        if !goes_there {
            return;
        }
        if !(self.relro.0..self.relro.1).contains(&place) {
            return import.word.store(stub, Relaxed);
        }
        // SAFETY: a word of the object. One that can be written to is another thread's, which
        // loads the object, and looks when it has done so.
        unsafe {
            let page = place & !4095;
            let read_write = libc::PROT_READ | libc::PROT_WRITE;
            if !sys::can_write(place as *const u32) && sys::protect_page(page, read_write) == 0 {
                import.word.store(stub, Relaxed);
                sys::protect_page(page, libc::PROT_READ);
            }
        }
    }

    /// The name and the version that the import asks for are those of the function that was found.
    ///
    /// # Safety
    /// An import of this object.
    unsafe fn asks(&self, import: &Import<'_>, found: Definition<'_>) -> bool {
        // SAFETY: the caller promises an import of this object, which the loader's lock keeps
        // loaded.
        let version = unsafe { self.object.version_of(import) };
        let version = version.map_or(Version::Default, Version::Named);
        let wanted = found.by.object.find(import.name, version);
        wanted.is_some_and(|wanted| wanted.at as usize == found.at)
    }
}
