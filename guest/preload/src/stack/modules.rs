//! Which modules are mapped where: read from /proc/self/maps by system calls, because asking the
//! loader (`dl_iterate_phdr`) takes its lock, and interposing `dlopen` would change whose RUNPATH
//! it searches. Read at start, when an address is met that no module covers, and after a `dlclose`.
//! A forked child has its parent's list.
//!
//! The list is written under the core's lock and read without: entries are published by the length.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

use lockwright_engines::lockdep::{ASK, Core, Image as Found, Loaded};
use lockwright_ledger::rows;

use super::{build_id, scratch};
use crate::arch::INLINED_AT_FIRST;
use crate::os::upcall::Upcall;
use crate::os::{loader, sys};

/// Is told what addresses are about to be no module any more.
pub static UNLOADED: Upcall<fn(&mut Core, u64, u64)> = Upcall::none();

/// Modules that are remembered at a time, anonymous executable ranges (JIT code) included.
const MOST: usize = 1024;

/// One mapped object.
pub struct Module {
    start: AtomicU64,
    end: AtomicU64,
    bias: AtomicU64,
    eh_frame_hdr: AtomicU64,
    eh_frame_hdr_len: AtomicU64,
    /// Ledger row, 0 for an anonymous range.
    row: AtomicU32,
    /// See [`Loaded::shift`].
    shift: AtomicU64,
    /// The list that is being read has it.
    is_seen: AtomicBool,
}

static MODULES: [Module; MOST] = [const {
    Module {
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
        bias: AtomicU64::new(0),
        eh_frame_hdr: AtomicU64::new(0),
        eh_frame_hdr_len: AtomicU64::new(0),
        row: AtomicU32::new(0),
        shift: AtomicU64::new(0),
        is_seen: AtomicBool::new(false),
    }
}; MOST];
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Odd while the list is being changed: a child that is forked meanwhile has half of it.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// Stacks met with an address that no module covered.
static UNKNOWN: AtomicU32 = AtomicU32::new(0);

/// Calls that load modules, each counted as it begins and ends; and as many as there were when the list was read last.
static LOADS: AtomicU32 = AtomicU32::new(0);
static SEEN_LOADS: AtomicU32 = AtomicU32::new(0);

/// A call that loads modules begins or ends.
pub fn note_load() {
    // Relaxed: a thread that comes to what was loaded comes after this.
    LOADS.fetch_add(1, Relaxed);
}

impl Module {
    fn contains(&self, address: u64) -> bool {
        self.start.load(Relaxed) <= address && address < self.end.load(Relaxed)
    }

    /// Address and length of .eh_frame_hdr.
    pub fn eh_frame_hdr(&self) -> Option<(u64, usize)> {
        let at = self.eh_frame_hdr.load(Relaxed);
        (at != 0).then(|| (at, self.eh_frame_hdr_len.load(Relaxed) as usize))
    }

    /// Bytes from `at` to the end of the loadable segment it lies in.
    pub fn readable_from(&self, at: u64) -> Option<usize> {
        let bias = self.bias.load(Relaxed);
        // SAFETY: a mapped ELF object begins at `start`, as `read_elf` has checked.
        let headers = unsafe { program_headers(self.start.load(Relaxed)) }?;
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
            .map(|header| (bias.wrapping_add(header.p_vaddr), header.p_filesz))
            .find(|&(start, len)| start <= at && at < start.wrapping_add(len))
            .map(|(start, len)| (start + len - at) as usize)
    }
}

/// Where modules are or were, by parts of the address space: most addresses that are asked for are on a heap or a stack, and
/// a program may have hundreds of modules.
static PARTS: [AtomicU64; PART_BITS / 64] = [const { AtomicU64::new(0) }; PART_BITS / 64];
const PART_BITS: usize = 1 << 15;
/// Bytes of a part.
const PART: u64 = 64 << 10;

/// There is a module from `start` to below `end`. To be called before it can be found.
fn note_parts(start: u64, end: u64) {
    for part in (start / PART..end.div_ceil(PART)).take(PART_BITS) {
        let part = part as usize % PART_BITS;
        // Relaxed: a thread that sees the module's end before this finds it a moment later.
        PARTS[part / 64].fetch_or(1 << (part % 64), Relaxed);
    }
}

/// No module is at `address` if this says false.
fn may_be_in_one(address: u64) -> bool {
    let part = (address / PART) as usize % PART_BITS;
    PARTS[part / 64].load(Relaxed) & 1 << (part % 64) != 0
}

/// The module that covers `address`.
pub fn find(address: u64) -> Option<&'static Module> {
    if !may_be_in_one(address) {
        return None;
    }
    // Acquire pairs with the Release in `rescan`: the entries below are complete.
    MODULES[..LEN.load(Acquire)].iter().find(|module| module.contains(address))
}

/// Where the module begins and ends that covers `address`.
pub fn range_of(address: u64) -> Option<(u64, u64)> {
    let module = find(address)?;
    Some((module.start.load(Relaxed), module.end.load(Relaxed)))
}

/// Calls `f` with each part of the module that covers `address` which has bytes of its file: where it begins, how many
/// they are, and its flags, as [`libc::PF_W`].
pub fn each_segment(address: u64, mut f: impl FnMut(u64, u64, u32)) {
    let Some(module) = find(address) else { return };
    let bias = module.bias.load(Relaxed);
    // SAFETY: a mapped ELF object begins at `start`, as `read_elf` has checked.
    let headers = unsafe { program_headers(module.start.load(Relaxed)) };
    for header in headers.into_iter().flatten().filter(|header| header.p_type == libc::PT_LOAD) {
        f(bias.wrapping_add(header.p_vaddr), header.p_filesz, header.p_flags);
    }
}

/// The two are in one and the same module.
pub fn are_in_one(a: *const c_void, b: *const c_void) -> bool {
    let (a, b) = (find(a as u64), find(b as u64));
    a.zip(b).is_some_and(|(a, b)| ptr::eq(a, b))
}

/// `address` is in this library.
pub fn is_self(address: u64) -> bool {
    static OWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    if OWN[1].load(Relaxed) == 0 {
        let Some(module) = find(is_self as *const () as u64) else { return false };
        OWN[0].store(module.start.load(Relaxed), Relaxed);
        OWN[1].store(module.end.load(Relaxed), Relaxed);
    }
    OWN[0].load(Relaxed) <= address && address < OWN[1].load(Relaxed)
}

/// Ledger row and ELF address of `address`, if it is in a module's image.
pub fn locate(address: u64) -> Option<(u32, u64)> {
    let module = find(address)?;
    let row = module.row.load(Relaxed);
    (row != 0).then(|| (row, address.wrapping_sub(module.bias.load(Relaxed))))
}

/// How far the lasting address of what is at `address` lies above it, if that is in a module.
pub fn shift(address: u64) -> Option<u64> {
    // Relaxed: whoever has something at an address has it from the module's code, or has the core's lock.
    find(address).map(|module| module.shift.load(Relaxed))
}

/// The lasting address of what is at `address`: what another module has there later has another.
pub fn lasting(address: u64) -> u64 {
    address.wrapping_add(shift(address).unwrap_or(0))
}

/// Notes what came of the table of inlined locks of the module that covers `address`: a state, and how many acquisitions are
/// watched, of how many.
pub fn note_inlined(core: &mut Core, address: u64, state: u32, [watched, of]: [u32; 2]) {
    // It is a module, so the list is worth reading, however often it was in vain.
    if find(address).is_none() {
        rescan(core);
    }
    if let Some((row, _)) = locate(address) {
        core.writer().update::<rows::Module>(row, |row| {
            row.inlined = state;
            row.inlined_watched = watched;
            row.inlined_acquisitions = of;
        });
    }
}

/// Reads the list again if `frames` has an address that no module covers.
pub fn cover(core: &mut Core, frames: &[u64]) -> bool {
    // The mark that asks for an interpreter's frames is no address.
    if frames.iter().all(|&pc| pc == ASK || find(pc).is_some()) {
        return false;
    }
    // Often at first, when a late module is likely, and when one may have been loaded since; then rarely: code made at run time
    // stays unknown.
    if LOADS.load(Relaxed) == SEEN_LOADS.load(Relaxed) {
        let n = UNKNOWN.fetch_add(1, Relaxed);
        if n > 64 && !n.is_multiple_of(256) {
            return false;
        }
    }
    rescan(core);
    true
}

/// # Safety
/// At `base` a page is mapped readable, which stays, and nobody writes it.
unsafe fn program_headers(base: u64) -> Option<&'static [libc::Elf64_Phdr]> {
    // SAFETY: the caller vouches for a mapped page at `base` that begins with an ELF header.
    unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        if header.e_ident[..4] != *b"\x7fELF"
            || header.e_phentsize as usize != size_of::<libc::Elf64_Phdr>()
            || header.e_phoff + u64::from(header.e_phnum) * 56 > 4096
        {
            return None;
        }
        Some(core::slice::from_raw_parts(
            (base + header.e_phoff) as *const libc::Elf64_Phdr,
            header.e_phnum.into(),
        ))
    }
}

/// A line of /proc/self/maps.
struct Line<'a> {
    start: u64,
    end: u64,
    readable: bool,
    executable: bool,
    shared: bool,
    offset: u64,
    device: u64,
    inode: u64,
    path: &'a [u8],
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let range = fields.next()?;
    let dash = range.iter().position(|&b| b == b'-')?;
    let flags = fields.next()?;
    let offset = hex(fields.next()?)?;
    let device = fields.next()?;
    let colon = device.iter().position(|&b| b == b':')?;
    let inode = fields.next()?.iter().take_while(|b| b.is_ascii_digit());
    let path = fields.next().unwrap_or_default();
    let path = &path[path.iter().position(|&b| b != b' ').unwrap_or(path.len())..];
    Some(Line {
        start: hex(&range[..dash])?,
        end: hex(&range[dash + 1..])?,
        readable: flags.first() == Some(&b'r'),
        executable: flags.get(2) == Some(&b'x'),
        shared: flags.get(3) == Some(&b's'),
        offset,
        device: hex(&device[..colon])? << 32 | hex(&device[colon + 1..])?,
        inode: inode.fold(0, |n: u64, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))),
        path,
    })
}

fn hex(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0u64, |value, &b| Some(value << 4 | u64::from((b as char).to_digit(16)?)))
}

/// Room for a few lines of /proc/self/maps, the longest of all included.
const LINES: usize = 8192;

/// Calls `f` for every line of /proc/self/maps. False: it cannot be read.
fn for_each_line(f: impl FnMut(Line<'_>)) -> bool {
    scratch::with(LINES, |buffer| for_each_line_in(buffer, f))
}

/// As [`for_each_line`], without lines that are longer than the `buffer`.
fn for_each_line_in(buffer: &mut [u8], mut f: impl FnMut(Line<'_>)) -> bool {
    // SAFETY: the path is a NUL-terminated literal, and the kernel writes only into the buffer, if
    // at all.
    let fd = unsafe { sys::open_read(c"/proc/self/maps".as_ptr().cast()) };
    if fd < 0 {
        return false;
    }
    let mut len = 0;
    // The rest of a line whose beginning found no room.
    let mut is_rest = false;
    loop {
        let n = sys::read(fd, &mut buffer[len..]);
        if n <= 0 {
            break;
        }
        len += n as usize;
        let mut from = 0;
        while let Some(end) = buffer[from..len].iter().position(|&b| b == b'\n') {
            let line = parse(&buffer[from..from + end]);
            if let Some(line) = line.filter(|_| !is_rest) {
                f(line);
            }
            is_rest = false;
            from += end + 1;
        }
        buffer.copy_within(from..len, 0);
        len -= from;
        if len == buffer.len() {
            (len, is_rest) = (0, true);
        }
    }
    sys::close(fd);
    true
}

/// A piece of the address space.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// The main thread's stack.
    pub is_main_stack: bool,
    /// Other processes may have it, too.
    pub is_shared: bool,
    /// Device, inode, and its first byte in that; inode 0 if there is none.
    file: [u64; 3],
}

impl Mapping {
    /// Device, inode, and byte in it, of what is mapped at `address`: all processes that have it mapped come to the same.
    /// `None` if it is nothing of that.
    pub fn place(&self, address: u64) -> Option<[u64; 3]> {
        let [device, inode, offset] = self.file;
        let has_one = inode != 0 && (self.start..self.end).contains(&address);
        has_one.then(|| [device, inode, offset.wrapping_add(address - self.start)])
    }
}

/// What is mapped at `address`. Asks the kernel, slowly.
#[cold]
pub fn mapping_of(address: u64) -> Option<Mapping> {
    let mut found = None;
    for_each_line(|line| {
        if (line.start..line.end).contains(&address) {
            found = Some(Mapping {
                start: line.start,
                end: line.end,
                is_main_stack: line.path == b"[stack]",
                is_shared: line.shared,
                file: [line.device, line.inode, line.offset],
            });
        }
    });
    found
}

/// Memory at `address` may be shared with other processes.
pub fn is_shared(address: u64) -> bool {
    mapping_of(address).is_none_or(|mapping| mapping.is_shared)
}

/// Where an image may begin: the last readable mapping of a file's first page. Only once a mapping
/// of the same file turns out executable is it looked into: a guest does not touch other mapped
/// files.
struct Candidate {
    start: u64,
    path: [u8; 512],
    len: usize,
}

impl Candidate {
    fn note(&mut self, line: &Line<'_>) {
        if line.readable && line.offset == 0 && line.path.len() <= self.path.len() {
            self.start = line.start;
            self.len = line.path.len();
            self.path[..self.len].copy_from_slice(line.path);
        }
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        self.len != 0 && &self.path[..self.len] == line.path
    }
}

/// Reads the list of modules again and brings the ledger's table up to date.
pub fn rescan(core: &mut Core) {
    rescan_seeing(core, &mut |_, _| {});
}

/// Reads the list of modules for the first time. A child of `parent` has its parent's, with rows of
/// its own.
pub fn begin(core: &mut Core, parent: Option<&Core>) {
    let Some(parent) = parent.map(Core::ledger) else { return rescan(core) };
    if !CHANGES.load(Relaxed).is_multiple_of(2) {
        CHANGES.store(0, Relaxed);
        MODULES.iter().for_each(|module| module.end.store(0, Relaxed));
        LEN.store(0, Relaxed);
        return rescan(core);
    }
    let epoch = core.next_epoch();
    for module in &MODULES[..LEN.load(Relaxed)] {
        let Some(&row) = parent.get::<rows::Module>(module.row.load(Relaxed)) else { continue };
        let path = core.writer().copy_text(parent, row.path);
        let build_id = core.writer().copy_text(parent, row.build_id);
        // The parent runs, and may have unloaded it meanwhile.
        let row = rows::Module { load_epoch: epoch, unload_epoch: 0, path, build_id, ..row };
        let row = core.module_inherited(row);
        // In a ledger of its own, its lasting addresses are its addresses.
        if module.shift.load(Relaxed) != 0 {
            module.shift.store(0, Relaxed);
        }
        // Most often it is the same, and the page remains the parent's.
        if module.row.load(Relaxed) != row {
            module.row.store(row, Relaxed);
        }
    }
}

/// As [`rescan`]; calls `gone` with begin and end of modules that are not there any more.
pub fn rescan_seeing(core: &mut Core, gone: &mut dyn FnMut(u64, u64)) {
    CHANGES.fetch_add(1, Relaxed);
    SEEN_LOADS.store(LOADS.load(Relaxed), Relaxed);
    let mut known = LEN.load(Relaxed);
    // Else there are none: to clear them all costs each process and each fork 32 pages.
    let may_have_rules = known != 0;
    // Relaxed, as is all of `is_seen`: only the holder of the core's lock reads the list.
    MODULES[..known].iter().for_each(|module| module.is_seen.store(false, Relaxed));
    let (mut epoch, mut is_gone) = (0, false);
    let mut candidate = Candidate { start: 0, path: [0; 512], len: 0 };
    // A module has several lines, one after the other.
    let mut last = 0;
    let is_read = for_each_line(|line| {
        candidate.note(&line);
        let has_line = |m: &Module| m.contains(line.start);
        let found = match has_line(&MODULES[last]) {
            true => Some(last),
            false => position(has_line),
        };
        if let Some(i) = found {
            last = i;
            let module = &MODULES[i];
            let is_anonymous = module.row.load(Relaxed) == 0;
            if is_anonymous && line.path.is_empty() && line.executable {
                note_parts(line.start, line.end);
                module.end.store(module.end.load(Relaxed).max(line.end), Relaxed);
                module.is_seen.store(true, Relaxed);
                return;
            }
            if !is_anonymous && is_row_of(core, module, line.path) {
                module.is_seen.store(true, Relaxed);
                return;
            }
            // Anonymous memory within an image is its .bss; another file is another image where
            // this one was.
            if line.path.is_empty() && !line.executable {
                return;
            }
        }
        if !line.executable || line.path == b"[vsyscall]" {
            return;
        }
        let start = if candidate.begins(&line) { candidate.start } else { line.start };
        // What the loader did not load is somebody else's: Valgrind's own program, for example, which
        // the one that it runs may not read.
        if !line.path.is_empty() && loader::is_loaded_at(start) == Some(false) {
            return;
        }
        let image = match line.path.is_empty() || !line.readable {
            // SAFETY: mapped readable, as the lines said a moment ago, and executable: code that
            // somebody is running is not a file that somebody truncates.
            false => unsafe { read_elf(start) },
            true => None,
        };
        let Some(i) = position(|m| m.end.load(Relaxed) == 0).or_else(|| {
            let len = LEN.load(Relaxed);
            (len < MOST).then_some(len)
        }) else {
            return;
        };
        if epoch == 0 {
            epoch = core.next_epoch();
        }
        let module = &MODULES[i];
        let (start, end, loaded) = match &image {
            Some(image) => {
                let is_over = found.is_some();
                let loaded = record(core, start, line.path, image, is_over, epoch);
                (start, image.end, loaded)
            }
            None => (line.start, line.end, Loaded::default()),
        };
        let image = image.unwrap_or_default();
        module.bias.store(image.bias, Relaxed);
        module.eh_frame_hdr_len.store(image.eh_frame_hdr_len, Relaxed);
        module.eh_frame_hdr.store(image.eh_frame_hdr, Relaxed);
        module.row.store(loaded.row, Relaxed);
        module.shift.store(loaded.shift, Relaxed);
        let end = end.max(line.end);
        note_parts(start, end);
        module.start.store(start, Relaxed);
        module.end.store(end, Relaxed);
        module.is_seen.store(true, Relaxed);
        // Pairs with the Acquire in `find`.
        LEN.store(LEN.load(Relaxed).max(i + 1), Release);
    });
    if !is_read {
        // They are there as far as is known.
        known = 0;
    }
    for module in MODULES[..known].iter().filter(|module| !module.is_seen.load(Relaxed)) {
        let end = module.end.load(Relaxed);
        if end != 0 {
            if let Some(unloaded) = UNLOADED.get() {
                unloaded(core, module.start.load(Relaxed), end);
            }
            module.end.store(0, Relaxed);
            gone(module.start.load(Relaxed), end);
            if epoch == 0 {
                epoch = core.next_epoch();
            }
            core.module_unloaded(module.row.load(Relaxed), epoch);
            is_gone = true;
        }
    }
    if is_gone {
        core.code_is_gone();
    }
    if epoch != 0 && may_have_rules {
        super::rule_cache::forget_rules();
    }
    CHANGES.fetch_add(1, Relaxed);
}

fn position(matches: impl Fn(&Module) -> bool) -> Option<usize> {
    MODULES[..LEN.load(Relaxed)].iter().position(matches)
}

fn is_row_of(core: &Core, module: &Module, path: &[u8]) -> bool {
    let row = module.row.load(Relaxed);
    let Some(row) = core.ledger().get::<rows::Module>(row) else { return path.is_empty() };
    row.path.len as usize == path.len().min(u16::MAX as usize)
        && core.ledger().text_is(row.path, path)
}

/// `is_over`: the list has a module there that may be gone.
fn record(
    core: &mut Core,
    start: u64,
    path: &[u8],
    image: &Image,
    is_over: bool,
    epoch: u32,
) -> Loaded {
    let at = rows::Module {
        bias: image.bias,
        start,
        end: image.end,
        inlined: INLINED_AT_FIRST,
        ..Default::default()
    };
    let build_id = &image.build_id[..image.build_id_len];
    core.module_loaded(&Found { at, path, build_id, is_over }, epoch)
}

#[derive(Default)]
struct Image {
    bias: u64,
    end: u64,
    eh_frame_hdr: u64,
    eh_frame_hdr_len: u64,
    build_id: [u8; build_id::MOST],
    build_id_len: usize,
}

/// Reads the headers of the ELF image that begins at `start`.
///
/// # Safety
/// At least a page is mapped readable there.
unsafe fn read_elf(start: u64) -> Option<Image> {
    // SAFETY: the caller promises a mapped page, and read rights, at `start`.
    let headers = unsafe { program_headers(start) }?;
    let load = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
    let first = headers.iter().find(load)?;
    let bias = start.wrapping_sub(first.p_vaddr & !0xfff);
    let mut image = Image { bias, ..Image::default() };
    image.end = headers
        .iter()
        .filter(load)
        .map(|header| bias.wrapping_add(header.p_vaddr + header.p_memsz))
        .max()?
        .next_multiple_of(4096);
    for header in headers {
        let at = bias.wrapping_add(header.p_vaddr);
        match header.p_type {
            libc::PT_GNU_EH_FRAME => {
                image.eh_frame_hdr = at;
                image.eh_frame_hdr_len = header.p_memsz;
            }
            // Notes of the first loadable segment only: others may not be mapped readable (yet).
            libc::PT_NOTE if header.p_vaddr + header.p_memsz <= first.p_vaddr + first.p_memsz => {
                // SAFETY: within the first loadable segment, which is mapped readable.
                let notes = unsafe {
                    core::slice::from_raw_parts(at as *const u8, header.p_memsz as usize)
                };
                if let Some(id) = build_id::in_notes(notes, header.p_align) {
                    image.build_id[..id.len()].copy_from_slice(id);
                    image.build_id_len = id.len();
                }
            }
            _ => {}
        }
    }
    Some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_module_was_noted_one_may_be() {
        // Far from what this process has.
        let (start, end) = (0x1234_0000_0000 + PART - 4096, 0x1234_0000_0000 + 3 * PART + 4096);
        note_parts(start, end);
        for address in [start, start + 4096, start + 2 * PART, end - 1] {
            assert!(may_be_in_one(address), "{address:#x}");
        }
        assert!(!may_be_in_one(start - PART) && !may_be_in_one(end + PART));
        // Larger than the table: it may be anywhere.
        note_parts(0, PART_BITS as u64 * PART * 2);
        assert!(may_be_in_one(start - PART) && may_be_in_one(u64::MAX));
    }
}
