//! Locks that a compiler has inlined: Rust's `std::sync` and `parking_lot`, which no function can be interposed for. Where code
//! takes and releases them the command has found before the program starts ([`lockwright_ledger::inlined`]); here a call is
//! put at each of these places, before any thread can run them.
//!
//! The locks are reported as user-defined ones, whose identity is their address.

mod apply;
mod hooks;
mod known;
mod request;
mod short_ways;
mod table;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_ledger::inlined::FILE_PREFIX;
use lockwright_ledger::rows::inlined_state as state;

use self::apply::Applied;
use self::known::Load;
pub use self::known::unseen_load;
use self::table::Table;
use crate::interpose::pthread_create;
use crate::libc::real;
use crate::lock_id::unstamped;
use crate::os::sys;
use crate::process::run_dir::{self, MOST_DIRECTORY};
use crate::recorder;
use crate::stack::{blocks, build_id, modules};

/// Tables were asked for, and there may be some.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Looks for tables from now on, and for those of what is loaded. To be called before any thread of the program.
pub fn start() {
    // SAFETY: getenv takes a NUL-terminated name; nobody else runs yet that changes the environment.
    let is_asked = !unsafe { libc::getenv(c"LOCKWRIGHT_INLINED".as_ptr()) }.is_null();
    if is_asked && !run_dir::directory().is_empty() {
        IS_WANTED.store(true, Relaxed);
        // A library whose constructor came first may have made threads.
        look(pthread_create::calls() == 0);
    }
}

/// A `dlopen` begins. What is there already, and was not known, may be in use.
pub fn load_begins() -> Option<Load> {
    IS_WANTED.load(Relaxed).then(|| {
        look(false);
        Load::begin()
    })
}

/// It has ended, and has loaded something or not.
pub fn load_ended(load: Option<Load>, has_loaded: bool) {
    let is_unused = load.map(Load::end);
    if let Some(is_unused) = is_unused.filter(|_| has_loaded) {
        look(is_unused);
    }
}

/// Looks at modules that are not known. `is_unused`: no thread runs their code, nor did one but this.
fn look(is_unused: bool) {
    let mut look = Look { is_unused, outcomes: [Outcome::default(); blocks::MOST], len: 0 };
    // SAFETY: a callback of the type that it asks for, with what that expects.
    unsafe { real::dl_iterate_phdr(with_module as *mut c_void, (&raw mut look).cast()) };
    // The core's lock is not taken under the loader's.
    recorder::state::with_core(|core| {
        for outcome in &look.outcomes[..look.len] {
            modules::note_inlined(core, outcome.start, outcome.state, outcome.acquisitions);
        }
    });
}

/// A look at what is loaded, and what comes of it.
struct Look {
    is_unused: bool,
    outcomes: [Outcome; blocks::MOST],
    len: usize,
}

/// What came of one module's table.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Where the module begins.
    start: u64,
    /// A [`state`].
    state: u32,
    /// Acquisitions that are watched, and all.
    acquisitions: [u32; 2],
}

/// The module from `from` to below `to` is gone.
pub fn unloaded(from: u64, to: u64) {
    known::forget(from, to);
    // Other code, with locks of its own, may come to the same places.
    unstamped::forget_unloaded(from, to);
    blocks::remove(from, to, |start, end| {
        // SAFETY: our mapping. Only the module's code led there, and that is gone.
        unsafe { sys::munmap(start as *mut u8, (end - start) as usize) };
    });
}

/// Watches the inlined locks of one module, if it has a table. The loader's lock is held: nothing comes or goes meanwhile.
///
/// # Safety
/// The loader calls it with `info` of a loaded object, and with a `Look`.
unsafe extern "C" fn with_module(
    info: *const libc::dl_phdr_info,
    _: usize,
    look: *mut c_void,
) -> c_int {
    // SAFETY: as the loader calls it.
    let (info, look) = unsafe { (&*info, &mut *look.cast::<Look>()) };
    // SAFETY: the loader's copy of the object's headers.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let bias = info.dlpi_addr;
    let load = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
    let Some(first) = headers.iter().find(load) else { return 0 };
    let start = bias.wrapping_add(first.p_vaddr);
    if !known::note(start) {
        return 0;
    }
    // SAFETY: an object that is loaded, and stays as long as the lock is held.
    let Some(id) = (unsafe { build_id_of(bias, headers) }) else { return 0 };
    let mut digits = [0; 2 * build_id::MOST];
    let digits = hexadecimal(id, &mut digits);
    let mut path = [0; MOST_DIRECTORY + FILE_PREFIX.len() + 2 * build_id::MOST + 2];
    let path = run_dir::path_of(&mut path, &[FILE_PREFIX.as_bytes(), digits]);
    // SAFETY: the path is NUL terminated; the object is loaded, and stays as long as the lock is held.
    let table = unsafe {
        match sys::exists(path.as_ptr()) {
            false if !request::may_have_some(bias, headers) => return 0,
            false if !request::ask(digits, info.dlpi_name, path) => return 0,
            _ => Table::map(path.as_ptr()),
        }
    };
    let Some(table) = table else { return 0 };
    let Some(outcome) = look.outcomes.get_mut(look.len) else {
        table.unmap();
        return 1;
    };
    look.len += 1;
    let end =
        headers.iter().filter(load).map(|it| bias.wrapping_add(it.p_vaddr + it.p_memsz)).max();
    let module = apply::Module { bias, start, end: end.unwrap_or(start), headers };
    let [placed, all] = table.acquisitions();
    let (state, watched) = match look.is_unused {
        // SAFETY: no thread has run the module's code, as the caller of `look` says, and the loader's lock keeps it loaded.
        true => match unsafe { apply::apply(&module, &table, info.dlpi_name) } {
            Applied::All => (state::WATCHED, placed),
            Applied::None(why) => (why, 0),
        },
        false => (state::TOO_LATE, 0),
    };
    table.unmap();
    *outcome = Outcome { start, state, acquisitions: [watched, all] };
    0
}

/// Bytes as hexadecimal digits.
fn hexadecimal<'d>(bytes: &[u8], digits: &'d mut [u8]) -> &'d [u8] {
    let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    &digits[..2 * bytes.len()]
}

/// An object's build id.
///
/// # Safety
/// An object with these headers is loaded, and stays for `'a`.
unsafe fn build_id_of<'a>(bias: u64, headers: &[libc::Elf64_Phdr]) -> Option<&'a [u8]> {
    let is_loaded = |note: &&libc::Elf64_Phdr| {
        let end = note.p_vaddr.checked_add(note.p_filesz);
        note.p_type == libc::PT_NOTE
            && headers.iter().any(|load| {
                load.p_type == libc::PT_LOAD
                    && load.p_flags & libc::PF_R != 0
                    && load.p_vaddr <= note.p_vaddr
                    && end.is_some_and(|end| end <= load.p_vaddr + load.p_filesz)
            })
    };
    headers.iter().filter(is_loaded).find_map(|note| {
        let at = bias.wrapping_add(note.p_vaddr) as *const u8;
        // SAFETY: within a segment that the loader has mapped readable.
        let notes = unsafe { core::slice::from_raw_parts(at, note.p_filesz as usize) };
        build_id::in_notes(notes, note.p_align)
    })
}
