//! Which module an address lies in.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use core::{ptr, slice};

use lockwright_exec::loader;

/// A loaded module.
#[derive(Clone, Copy)]
pub struct Module {
    /// The offset from addresses in its file to addresses in memory.
    pub bias: usize,
    /// Its file, as the loader knows it; empty: the program's.
    pub path: &'static [u8],
    /// Its build id; empty: it has none.
    pub build_id: &'static [u8],
}

/// `struct link_map`, as far as it is needed.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
}

/// `struct dl_find_object` of glibc on x86-64 and 64-bit Arm.
#[repr(C)]
struct FoundObject {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    map: *const LinkMap,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut FoundObject) -> c_int;

/// glibc's since 2.35: it takes no lock. Null: nobody has looked for it yet.
static FIND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks for it while nobody loads or unloads modules. To be called at start.
pub fn start() {
    find_object();
}

/// The function; none: there is no such.
fn find_object() -> Option<FindObject> {
    let missing = iterated as *mut c_void;
    // Relaxed: the function has been there since the program began.
    let mut at = FIND.load(Relaxed);
    if at.is_null() {
        // By name: a reference would keep the library from older ones.
        at = loader::address(c"_dl_find_object", None);
        if at.is_null() {
            at = missing;
        }
        FIND.store(at, Relaxed);
    }
    // SAFETY: the function of that name has this type.
    (at != missing).then(|| unsafe { core::mem::transmute::<*mut c_void, FindObject>(at) })
}

/// The module that has this address, if one has.
///
/// # Safety
/// Nobody unloads it meanwhile, nor while what this returns is used: a lock in it is used, or a
/// function of it called us.
pub unsafe fn of(address: usize) -> Option<Module> {
    // SAFETY: the caller promises that nobody unloads the module meanwhile, as both functions ask.
    unsafe {
        match find_object() {
            Some(find) => found(find, address),
            None => iterated(address),
        }
    }
}

/// As the loader's own table has it.
///
/// # Safety
/// `find` is the loader's `_dl_find_object`; nobody unloads the module while the result is used.
unsafe fn found(find: FindObject, address: usize) -> Option<Module> {
    let at = ptr::without_provenance(address);
    let nothing = ptr::null();
    let mut object = FoundObject {
        flags: 0,
        start: nothing,
        end: nothing,
        map: ptr::null(),
        eh_frame: nothing,
        reserved: [0; 7],
    };
    // SAFETY: takes any address, and writes the object.
    if unsafe { find(at, &raw mut object) } != 0 {
        return None;
    }
    // SAFETY: the loader's description of a module that stays.
    let map = unsafe { &*object.map };
    // SAFETY: a terminated text that stays as long.
    let path = unsafe { CStr::from_ptr(map.name) }.to_bytes();
    // SAFETY: where a module begins that stays.
    let build_id = unsafe { headers(object.start) }.map_or(&[][..], |headers| {
        // SAFETY: `headers` has found these program headers in the module itself, which stays.
        unsafe { build_id(map.bias, headers) }
    });
    Some(Module { bias: map.bias, path, build_id })
}

/// The program headers of the module that is mapped there from the begin of its file.
///
/// # Safety
/// At `start` a module is mapped from the start of its file on, and it stays.
unsafe fn headers(start: *const c_void) -> Option<&'static [libc::Elf64_Phdr]> {
    let file = start.cast::<libc::Elf64_Ehdr>();
    // SAFETY: a module's first page, which is readable.
    unsafe {
        if !(*file).e_ident.starts_with(b"\x7fELF") {
            return None;
        }
        let headers = start.byte_add((*file).e_phoff as usize).cast();
        Some(slice::from_raw_parts(headers, (*file).e_phnum.into()))
    }
}

/// The build id among a module's notes; empty: it has none.
///
/// # Safety
/// `headers` are those of a module that is loaded `bias` above its own addresses and stays.
unsafe fn build_id(bias: usize, headers: &[libc::Elf64_Phdr]) -> &'static [u8] {
    const NT_GNU_BUILD_ID: u32 = 3;
    let round = |size: u32| (size as usize).next_multiple_of(4);
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        let at: *const u8 = ptr::with_exposed_provenance(bias + header.p_vaddr as usize);
        // SAFETY: the module's notes, which are mapped.
        let mut notes = unsafe { slice::from_raw_parts(at, header.p_memsz as usize) };
        while let Some((note, rest)) = notes.split_at_checked(12) {
            let number = |at: usize| {
                u32::from_ne_bytes([note[at], note[at + 1], note[at + 2], note[at + 3]])
            };
            let (name_len, len) = (number(0), number(4));
            let Some((name, rest)) = rest.split_at_checked(round(name_len)) else { break };
            let Some((text, rest)) = rest.split_at_checked(round(len)) else { break };
            if number(8) == NT_GNU_BUILD_ID && name == b"GNU\0" {
                return &text[..len as usize];
            }
            notes = rest;
        }
    }
    &[]
}

/// As the loader's list of modules has it, whose lock this takes.
///
/// # Safety
/// Nobody unloads the module while the result is used.
unsafe fn iterated(address: usize) -> Option<Module> {
    struct Search {
        address: usize,
        found: Option<Module>,
    }

    /// # Safety
    /// The loader calls it with `info` of a loaded module; `search` is the `Search` given to it.
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of a module, and what is searched for.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the loader's description points to the module's headers, `dlpi_phnum` of them,
        // which are mapped.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let bias = info.dlpi_addr as usize;
        let at = search.address.wrapping_sub(bias);
        let has = |header: &libc::Elf64_Phdr| {
            let start = header.p_vaddr as usize;
            header.p_type == libc::PT_LOAD && (start..start + header.p_memsz as usize).contains(&at)
        };
        if !headers.iter().any(has) {
            return 0;
        }
        // SAFETY: a terminated text, and the program headers; they stay, by `of`'s caller.
        search.found = Some(unsafe {
            let path = CStr::from_ptr(info.dlpi_name).to_bytes();
            Module { bias, path, build_id: build_id(bias, headers) }
        });
        1
    }

    let mut search = Search { address, found: None };
    // SAFETY: the function above, with what it expects.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}
