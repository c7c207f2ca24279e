//! Puts a table's block near its module, and the calls at its places: all of them, or none.

use core::ffi::c_char;
use core::mem::size_of;

use lockwright_ledger::inlined::{Place, Relocation, SLOTS};
use lockwright_ledger::rows::inlined_state as state;

use super::hooks;
use super::table::{CALL, Table};
use crate::os::sys;
use crate::stack::blocks;

/// A module that is loaded.
pub struct Module<'a> {
    /// Load bias.
    pub bias: u64,
    /// Where it begins and ends.
    pub start: u64,
    pub end: u64,
    pub headers: &'a [libc::Elf64_Phdr],
}

/// What came of a table.
pub enum Applied {
    /// A call is at each place.
    All,
    /// Nothing was changed, for this reason: an [`state`].
    None(u32),
}

const PAGE: u64 = 4096;
/// The opcode of a call with a displacement of 32 bits, and of an instruction that does nothing.
const CALL_OPCODE: u8 = 0xe8;
const NOP: u8 = 0x90;

/// Watches the places of `table` in `module`.
///
/// # Safety
/// The module is loaded, and no thread has run its code or will before this returns. `name` is its file's as the loader has it.
pub unsafe fn apply(module: &Module<'_>, table: &Table, name: *const c_char) -> Applied {
    if !table.has_all_releases() {
        return Applied::None(state::INCOMPLETE);
    }
    if !blocks::has_room() || !hooks::fit() {
        return Applied::None(state::REFUSED);
    }
    if !are_as_before(module, table.places()) {
        return Applied::None(state::OTHER_CODE);
    }
    let block = match place_block(module, table) {
        Ok(block) => block,
        Err(why) => return Applied::None(why),
    };
    // A handler of the program may be in the code that cannot be run meanwhile.
    let mask = sys::block_signals();
    // SAFETY: the caller promises that nobody runs the code.
    let is_done = unsafe { change(module, table.places(), block.start, name) };
    sys::restore_signals(mask);
    if !is_done {
        // SAFETY: our mapping; no place leads into it.
        unsafe { sys::munmap(block.start as *mut u8, block.len) };
        return Applied::None(state::FORBIDDEN);
    }
    blocks::add(module.start, block.start, block.start + block.len as u64);
    Applied::All
}

/// The executable segments of a module: where each begins, its length, and its header.
fn code_of<'m>(
    module: &'m Module<'_>,
) -> impl Iterator<Item = (u64, u64, &'m libc::Elf64_Phdr)> + 'm {
    let is_code = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD
            && header.p_flags & libc::PF_X != 0
            && header.p_flags & libc::PF_R != 0
    };
    module
        .headers
        .iter()
        .filter(is_code)
        .map(|header| (module.bias.wrapping_add(header.p_vaddr), header.p_filesz, header))
}

/// Whether the places are in the module's code, in order and apart, with the bytes that the table has of each.
fn are_as_before(module: &Module<'_>, places: &[Place]) -> bool {
    let mut free_from = 0;
    places.iter().all(|place| {
        let len = u64::from(place.len);
        let at = module.bias.wrapping_add(place.address);
        let is_code = code_of(module).any(|(start, bytes, _)| {
            start <= at && at.checked_add(len).is_some_and(|end| end <= start + bytes)
        });
        if !is_code || place.address < free_from {
            return false;
        }
        free_from = place.address + len;
        // SAFETY: within a readable segment of the module, which nobody writes to.
        let bytes = unsafe { core::slice::from_raw_parts(at as *const u8, len as usize) };
        bytes == &place.original[..len as usize]
    })
}

/// A block that is mapped.
struct Block {
    start: u64,
    len: usize,
}

/// Maps the block where the module reaches it, and makes it ready to run. The error is a [`state`].
fn place_block(module: &Module<'_>, table: &Table) -> Result<Block, u32> {
    let len = table.code().len().next_multiple_of(PAGE as usize);
    let start = map_near(module, len).ok_or(state::NO_MEMORY)?;
    let block = Block { start, len };
    // SAFETY: a new mapping of ours, as long as the block or longer; nobody else knows of it.
    let code = unsafe { core::slice::from_raw_parts_mut(start as *mut u8, len) };
    code[..table.code().len()].copy_from_slice(table.code());
    for (word, entry) in
        code.as_chunks_mut::<{ size_of::<u64>() }>().0.iter_mut().zip(hooks::slots())
    {
        *word = entry.to_ne_bytes();
    }
    let is_near = table.relocations().iter().all(|it| relocate(code, it, &block, module));
    let prot = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: our mapping, which is only read and run from now on.
    let why = match is_near && unsafe { sys::protect(start, len, prot) } == 0 {
        true => return Ok(block),
        false if is_near => state::FORBIDDEN,
        false => state::NO_MEMORY,
    };
    // SAFETY: our mapping, which nobody knows of.
    unsafe { sys::munmap(start as *mut u8, len) };
    Err(why)
}

const _: () = assert!(SLOTS * size_of::<u64>() <= PAGE as usize);

/// Writes one displacement. False: it is too far.
fn relocate(code: &mut [u8], it: &Relocation, block: &Block, module: &Module<'_>) -> bool {
    let target = module.bias.wrapping_add(it.target);
    let far = target.wrapping_sub(block.start + u64::from(it.next)) as i64;
    let (Ok(near), Some(place)) =
        (i32::try_from(far), code.get_mut(it.at as usize..it.at as usize + 4))
    else {
        return false;
    };
    place.copy_from_slice(&near.to_ne_bytes());
    true
}

/// Maps `len` bytes that all of the module reaches, and that reach all of it. Below it at first: above the program's is its
/// heap, which grows.
fn map_near(module: &Module<'_>, len: usize) -> Option<u64> {
    /// How far a displacement of 32 bits reaches, with a margin.
    const REACH: u64 = (1 << 31) - (1 << 20);
    const NEAR: u64 = 64 << 10;
    const FAR: u64 = 4 << 20;
    let size = module.end.saturating_sub(module.start) + len as u64;
    let reach = REACH.checked_sub(size)?;
    let steps = || (1..=64).map(|n| n * NEAR).chain((2..reach / FAR).map(|n| n * FAR));
    let below = steps().map(|step| (module.start & !(PAGE - 1)).checked_sub(step + len as u64));
    // Far from where the heap begins.
    let above = steps()
        .filter(|&step| step >= 64 * FAR)
        .map(|step| Some(module.end.next_multiple_of(PAGE) + step));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    for place in below.chain(above).flatten().filter(|&place| place >= 1 << 16) {
        // SAFETY: a new mapping, where nothing is.
        let at = unsafe { sys::mmap_near(place as usize, len, prot, flags, -1) };
        if at as u64 == place {
            return Some(place);
        }
        if at > 0 {
            // A kernel before 4.17 takes the place for a wish.
            // SAFETY: the mapping that was just made, which nobody knows of.
            unsafe { sys::munmap(at as *mut u8, len) };
        }
    }
    None
}

/// Puts the calls at the places. False: the system does not allow it, and the code is as it was.
///
/// # Safety
/// The places are as before, nobody runs the module's code, and `name` is its file's, as the loader has it.
unsafe fn change(module: &Module<'_>, places: &[Place], block: u64, name: *const c_char) -> bool {
    let mut done = 0;
    for (n, (start, bytes, header)) in code_of(module).enumerate() {
        let mut inside = places.iter().filter(|place| {
            (start..start + bytes).contains(&module.bias.wrapping_add(place.address))
        });
        if inside.clone().next().is_none() {
            continue;
        }
        let from = start & !(PAGE - 1);
        let len = (start + bytes).next_multiple_of(PAGE) - from;
        // SAFETY: nobody runs the code, and it stays readable.
        let is_open =
            unsafe { sys::protect(from, len as usize, libc::PROT_READ | libc::PROT_WRITE) } == 0;
        if is_open {
            // SAFETY: the place is in the segment, which can be written to.
            inside.by_ref().for_each(|place| unsafe { put_call(module, place, block) });
        }
        let prot = prot_of(header);
        // SAFETY: as before; what it is allowed is what it was allowed.
        let is_closed = unsafe { sys::protect(from, len as usize, prot) } == 0;
        if is_open && is_closed {
            done = n + 1;
            continue;
        }
        // What was changed so far leads to the block, which goes away.
        for (start, bytes, header) in code_of(module).take(done.max(n + 1)) {
            // SAFETY: a segment of the module, whose code nobody runs.
            unsafe { map_again(start, bytes, header, name) };
        }
        return false;
    }
    true
}

fn prot_of(header: &libc::Elf64_Phdr) -> i32 {
    let bits = [
        (libc::PF_R, libc::PROT_READ),
        (libc::PF_W, libc::PROT_WRITE),
        (libc::PF_X, libc::PROT_EXEC),
    ];
    bits.iter().filter(|(flag, _)| header.p_flags & flag != 0).fold(0, |prot, (_, bit)| prot | bit)
}

/// Puts a call of its entry at one place.
///
/// # Safety
/// The place can be written to, and nobody runs it.
unsafe fn put_call(module: &Module<'_>, place: &Place, block: u64) {
    let at = module.bias.wrapping_add(place.address);
    let entry = block + u64::from(place.entry);
    // Near, as all relocations are: the block's mapping was chosen so.
    let far = entry.wrapping_sub(at + CALL as u64) as i32;
    let mut bytes = [NOP; lockwright_ledger::inlined::MOST_BYTES];
    bytes[0] = CALL_OPCODE;
    bytes[1..CALL].copy_from_slice(&far.to_ne_bytes());
    // SAFETY: the caller promises that the place's bytes can be written to.
    unsafe { (at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), place.len as usize) };
}

/// Maps a segment's file again where it was: its code is what it was.
///
/// # Safety
/// A segment of the module whose file is `name`, as the loader has it; nobody runs its code.
unsafe fn map_again(start: u64, bytes: u64, header: &libc::Elf64_Phdr, name: *const c_char) {
    // SAFETY: the loader's string; of the program it is empty.
    let is_program = name.is_null() || unsafe { *name } == 0;
    let path = if is_program { c"/proc/self/exe".as_ptr() } else { name };
    // SAFETY: both are NUL terminated.
    let fd = unsafe { sys::open_read(path.cast()) };
    if fd < 0 {
        return;
    }
    let (from, skipped) = (start & !(PAGE - 1), start & (PAGE - 1));
    let offset = header.p_offset.wrapping_sub(skipped);
    // SAFETY: what is there is a private mapping of the same part of that file.
    unsafe {
        sys::map_file_over(from, (bytes + skipped) as usize, prot_of(header), fd, offset);
    }
    sys::close(fd);
}
