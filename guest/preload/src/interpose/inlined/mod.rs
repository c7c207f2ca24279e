//! Locks that a compiler has inlined: Rust's `std::sync` and `parking_lot`, which no function can be interposed for. Where code
//! takes and releases them the command has found before the program starts ([`lockwright_ledger::inlined`]); here a call is
//! put at each of these places, before any thread can run them.
//!
//! The locks are reported as user-defined ones, whose identity is their address.

mod apply;
mod hooks;
mod request;
mod table;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_ledger::inlined::FILE_PREFIX;
use lockwright_ledger::rows::inlined_state as state;

use self::apply::Applied;
use self::table::Table;
use crate::libc::real;
use crate::os::sys;
use crate::process::run_dir::{self, MOST_DIRECTORY};
use crate::recorder;
use crate::stack::{blocks, modules};

/// Tables were asked for, and there may be some.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Where modules begin that have been looked at. As many as there are blocks.
static SEEN: [AtomicU64; blocks::MOST] = [const { AtomicU64::new(0) }; blocks::MOST];

/// Bytes of a build id, at most.
const BUILD_ID: usize = 32;
/// The kind of an ELF note that has it.
const NT_GNU_BUILD_ID: u32 = 3;

/// Looks for tables from now on, and for those of what is loaded. To be called before any thread of the program.
pub fn start() {
    // SAFETY: getenv takes a NUL-terminated name; nobody else runs yet that changes the environment.
    let is_asked = !unsafe { libc::getenv(c"LOCKWRIGHT_INLINED".as_ptr()) }.is_null();
    if is_asked && !run_dir::directory().is_empty() {
        IS_WANTED.store(true, Relaxed);
        look(true);
    }
}

/// Something may have been loaded. `is_unused`: no thread has run it, beyond what the loader did.
pub fn look(is_unused: bool) {
    if !IS_WANTED.load(Relaxed) {
        return;
    }
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
    for seen in &SEEN {
        if (from..to).contains(&seen.load(Relaxed)) {
            seen.store(0, Relaxed);
        }
    }
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
    if SEEN.iter().any(|seen| seen.load(Relaxed) == start) {
        return 0;
    }
    let mut id = [0; BUILD_ID];
    // SAFETY: an object that is loaded, and stays as long as the lock is held.
    let Some(len) = (unsafe { build_id(bias, headers, &mut id) }) else { return 0 };
    let mut digits = [0; 2 * BUILD_ID];
    let digits = hexadecimal(&id[..len], &mut digits);
    let mut path = [0; MOST_DIRECTORY + FILE_PREFIX.len() + 2 * BUILD_ID + 2];
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
    let seen = SEEN.iter().find(|seen| seen.load(Relaxed) == 0);
    let (Some(seen), Some(outcome)) = (seen, look.outcomes.get_mut(look.len)) else {
        table.unmap();
        return 1;
    };
    seen.store(start, Relaxed);
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

/// Reads an object's build id; tells how many bytes it has.
///
/// # Safety
/// An object with these headers is loaded, and stays.
unsafe fn build_id(
    bias: u64,
    headers: &[libc::Elf64_Phdr],
    into: &mut [u8; BUILD_ID],
) -> Option<usize> {
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
    for note in headers.iter().filter(is_loaded) {
        let at = bias.wrapping_add(note.p_vaddr) as *const u8;
        // SAFETY: within a segment that the loader has mapped readable.
        let mut notes = unsafe { core::slice::from_raw_parts(at, note.p_filesz as usize) };
        let align = if note.p_align == 8 { 8 } else { 4 };
        while let Some(([name_len, len, kind], rest)) = words(notes) {
            let from = (name_len as usize).next_multiple_of(4);
            let from = (12 + from).next_multiple_of(align) - 12;
            let Some(id) = rest.get(from..).and_then(|rest| rest.get(..len as usize)) else {
                break;
            };
            if kind == NT_GNU_BUILD_ID && rest.starts_with(b"GNU\0") && !id.is_empty() {
                into.get_mut(..id.len())?.copy_from_slice(id);
                return Some(id.len());
            }
            let next = (12 + from + len as usize).next_multiple_of(align);
            let Some(rest) = notes.get(next..) else { break };
            notes = rest;
        }
    }
    None
}

/// A note's three first words, and what follows them.
fn words(notes: &[u8]) -> Option<([u32; 3], &[u8])> {
    let (head, rest) = notes.split_at_checked(12)?;
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    Some(([word(0), word(4), word(8)], rest))
}
