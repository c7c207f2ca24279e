//! Obstacles to a preloaded library, by the first bytes of a program, its program headers
//! and the names of the libraries that it needs.

use core::ffi::{CStr, c_int};

use crate::arch::MACHINE;
use crate::sys::read_at;

/// The effect of LD_PRELOAD on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Its loader loads the library.
    Loading,
    /// Nothing: it is statically linked.
    Ignoring,
    /// It ends, or complains.
    Refusing,
    /// An interpreter runs it.
    Script,
    /// No program, but the shell may run it.
    Text,
    /// It cannot be known.
    Unknown,
}

/// Parts of the names of other C libraries' loaders (`cli/run/target/obstacle.rs`).
pub const OTHER_LOADERS: &[&[u8]] = &[b"ld-musl", b"uClibc", b"linker64"];

/// How the libraries of sanitizers begin that must be the first of all (the same file).
pub const SANITIZERS: &[&[u8]] = &[
    b"libasan.so",
    b"libtsan.so",
    b"liblsan.so",
    b"libhwasan.so",
    b"libclang_rt.asan",
    b"libclang_rt.tsan",
];

/// Whether the library of this path is a sanitizer's that must be the first of all.
pub fn is_sanitizer(path: &[u8]) -> bool {
    let start = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    SANITIZERS.iter().any(|name| path[start..].starts_with(name))
}

fn is_other_loader(path: &[u8]) -> bool {
    let start = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    let has = |part: &&[u8]| path[start..].windows(part.len()).any(|window| window == *part);
    OTHER_LOADERS.iter().any(has)
}

/// The kernel reads no more of a script.
const MOST_SCRIPT: usize = 256;

/// A script's interpreter.
#[derive(Clone, Copy)]
pub struct Script([u8; MOST_SCRIPT]);

impl Default for Script {
    fn default() -> Self {
        Self([0; MOST_SCRIPT])
    }
}

impl Script {
    pub fn interpreter(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    /// Takes it from the first line. False: it names none.
    fn parse(&mut self, start: &[u8]) -> bool {
        let Some(line) = start.strip_prefix(b"#!") else { return false };
        let line = line.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii_start();
        let end = line.iter().position(|b| b" \t\0".contains(b)).unwrap_or(line.len());
        self.0 = [0; MOST_SCRIPT];
        self.0[..end].copy_from_slice(&line[..end]);
        end > 0
    }
}

/// Looks into the open file, which is called `name`. A script's interpreter is in `script` then.
/// A program that has the function `own` itself is a refusing one.
#[inline(never)]
pub fn of(fd: c_int, name: &[u8], script: &mut Script, own: Option<&CStr>) -> Image {
    let mut buffer = [0; MOST_SCRIPT];
    let start = read_at(fd, &mut buffer, 0);
    if start.len() >= 64 && start.starts_with(b"\x7fELF") {
        return Elf::parse(fd, start).map_or(Image::Unknown, |elf| elf.image(name, own));
    }
    if script.parse(start) {
        return Image::Script;
    }
    if start.is_empty() { Image::Unknown } else { Image::Text }
}

/// `p_type`, `d_tag` and the like.
mod number {
    pub const LOAD: u64 = 1;
    pub const DYNAMIC: u64 = 2;
    pub const INTERP: u64 = 3;
    pub const NEEDED: u64 = 1;
    pub const STRTAB: u64 = 5;
    pub const SYMTAB: u64 = 6;
    pub const GNU_HASH: u64 = 0x6fff_fef5;
}

/// No program has more program headers, libraries and the like.
const MOST_ENTRIES: u64 = 4096;

/// An ELF file.
struct Elf {
    fd: c_int,
    is_wide: bool,
    is_little: bool,
    machine: u64,
    headers: u64,
    header_len: u64,
    header_count: u64,
}

/// A program header.
#[derive(Clone, Copy)]
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    len: u64,
}

impl Elf {
    fn parse(fd: c_int, start: &[u8]) -> Option<Self> {
        let (is_wide, is_little) = (start[4] == 2, start[5] == 1);
        let mut elf =
            Self { fd, is_wide, is_little, machine: 0, headers: 0, header_len: 0, header_count: 0 };
        elf.machine = elf.number(start, 18, 2)?;
        [elf.headers, elf.header_len, elf.header_count] = if is_wide {
            [elf.number(start, 32, 8)?, elf.number(start, 54, 2)?, elf.number(start, 56, 2)?]
        } else {
            [elf.number(start, 28, 4)?, elf.number(start, 42, 2)?, elf.number(start, 44, 2)?]
        };
        Some(elf)
    }

    /// The number of `len` bytes at `at`.
    fn number(&self, bytes: &[u8], at: usize, len: usize) -> Option<u64> {
        let bytes = bytes.get(at..at + len)?.iter();
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.is_little { bytes.rev().fold(0, add) } else { bytes.fold(0, add) })
    }

    fn segment(&self, index: u64) -> Option<Segment> {
        let mut buffer = [0; 56];
        let at = self.headers.checked_add(index.checked_mul(self.header_len)?)?;
        let header = read_at(self.fd, &mut buffer, at);
        let (wide, narrow) = ([8, 16, 32], [4, 8, 16]);
        let ([offset, address, len], size) = if self.is_wide { (wide, 8) } else { (narrow, 4) };
        Some(Segment {
            kind: self.number(header, 0, 4)?,
            offset: self.number(header, offset, size)?,
            address: self.number(header, address, size)?,
            len: self.number(header, len, size)?,
        })
    }

    fn segments(&self) -> impl Iterator<Item = Segment> {
        (0..self.header_count.min(MOST_ENTRIES)).map_while(|index| self.segment(index))
    }

    /// The entries of its dynamic section.
    fn dynamic(&self, section: Segment) -> impl Iterator<Item = (u64, u64)> {
        const ENTRY: u64 = 16;
        (0..(section.len / ENTRY).min(MOST_ENTRIES)).map_while(move |index| {
            let mut buffer = [0; ENTRY as usize];
            let entry = read_at(self.fd, &mut buffer, section.offset.checked_add(index * ENTRY)?);
            let (tag, value) = (self.number(entry, 0, 8)?, self.number(entry, 8, 8)?);
            (tag != 0).then_some((tag, value))
        })
    }

    fn image(&self, name: &[u8], own: Option<&CStr>) -> Image {
        let find = |kind| self.segments().find(|segment| segment.kind == kind);
        let Some(loader) = find(number::INTERP) else {
            // The loader itself can run a program.
            return if is_other_loader(name) { Image::Refusing } else { Image::Ignoring };
        };
        if !self.is_wide || !self.is_little || self.machine != MACHINE {
            return Image::Refusing;
        }
        let mut buffer = [0; 128];
        if is_other_loader(
            read_at(self.fd, &mut buffer, loader.offset)
                .split(|&b| b == 0)
                .next()
                .unwrap_or_default(),
        ) {
            return Image::Refusing;
        }
        let Some(section) = find(number::DYNAMIC) else { return Image::Loading };
        let has_own = || own.is_some_and(|own| self.defines(section, own) == Some(true));
        let refuses = self.needs_a_sanitizer(section) || has_own();
        if refuses { Image::Refusing } else { Image::Loading }
    }

    /// Where in the file is what the dynamic section has under that tag.
    fn table(&self, section: Segment, tag: u64) -> Option<u64> {
        let (_, address) = self.dynamic(section).find(|(found, _)| *found == tag)?;
        self.offset_of(address)
    }

    /// Whether it has a symbol of its own for others, by its GNU hash table.
    fn defines(&self, section: Segment, name: &CStr) -> Option<bool> {
        const SYMBOL: u64 = 24;
        let [hashes, symbols, names] =
            [number::GNU_HASH, number::SYMTAB, number::STRTAB].map(|tag| self.table(section, tag));
        let (hashes, symbols, names) = (hashes?, symbols?, names?);
        let word = |at: u64| {
            let mut buffer = [0; 4];
            self.number(read_at(self.fd, &mut buffer, at), 0, 4)
        };
        let mut header = [0; 16];
        let header = read_at(self.fd, &mut header, hashes);
        let number = |at| self.number(header, at, 4);
        let (buckets, first, blooms) = (number(0)?, number(4)?, number(8)?);
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        let at_buckets = hashes.checked_add(16 + 8 * blooms)?;
        let bucket = u64::from(hash).checked_rem(buckets)?;
        let start = word(at_buckets.checked_add(4 * bucket)?)?;
        if start == 0 {
            return Some(false);
        }
        for index in start..start + MOST_ENTRIES {
            let place = at_buckets.checked_add(4 * (buckets + index.checked_sub(first)?))?;
            let found = word(place)?;
            if found | 1 == u64::from(hash | 1) {
                let at = word(symbols.checked_add(SYMBOL * index)?)?;
                let mut buffer = [0; 64];
                let text = read_at(self.fd, &mut buffer, names.checked_add(at)?);
                if text.starts_with(name.to_bytes_with_nul()) {
                    return Some(true);
                }
            }
            if found & 1 == 1 {
                break;
            }
        }
        Some(false)
    }

    fn needs_a_sanitizer(&self, section: Segment) -> bool {
        let Some(names) = self.table(section, number::STRTAB) else { return false };
        let mut needed = self.dynamic(section).filter(|(tag, _)| *tag == number::NEEDED);
        needed.any(|(_, name)| {
            let mut buffer = [0; 32];
            is_sanitizer(read_at(self.fd, &mut buffer, names.saturating_add(name)))
        })
    }

    /// Where in the file is what is loaded at that address.
    fn offset_of(&self, address: u64) -> Option<u64> {
        let mut loads = self.segments().filter(|segment| segment.kind == number::LOAD);
        loads.find_map(|load| {
            let within = address.checked_sub(load.address)?;
            (within < load.len).then(|| load.offset.saturating_add(within))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd};

    use super::*;

    fn in_memory(bytes: &[u8]) -> std::fs::File {
        // SAFETY: a terminated name; the descriptor is nobody else's.
        let mut file =
            unsafe { std::fs::File::from_raw_fd(libc::memfd_create(c"program".as_ptr(), 0)) };
        file.write_all(bytes).unwrap();
        file
    }

    fn image(bytes: &[u8]) -> Image {
        of(in_memory(bytes).as_raw_fd(), b"", &mut Script::default(), None)
    }

    fn own() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    #[test]
    fn this_program_loads_what_is_preloaded() {
        assert_eq!(image(&own()), Image::Loading);
    }

    #[test]
    fn other_c_libraries_and_machines_refuse_it() {
        let with = |from: &[u8], to: &[u8]| {
            let mut file = own();
            let at = file.windows(from.len()).position(|window| window == from).unwrap();
            file[at..at + to.len()].copy_from_slice(to);
            image(&file)
        };
        assert_eq!(with(b"/lib64/ld-linux-x86-64", b"/lib64/ld-musl-x86_64"), Image::Refusing);
        assert_eq!(with(b"/lib64/ld-linux-x86-64", b"/nix/own/ld-linux-x86"), Image::Loading);
        let mut foreign = own();
        foreign[18] = 21;
        assert_eq!(image(&foreign), Image::Refusing);
        // Another library's name lies in the same table of names.
        assert_eq!(with(b"libc.so.6\0", b"libasan.so"), Image::Refusing);
    }

    #[test]
    fn functions_of_its_own_are_found() {
        let file = std::fs::File::open("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
        let of = |own| of(file.as_raw_fd(), b"", &mut Script::default(), Some(own));
        // It can be executed, and has an interpreter.
        assert_eq!(of(c"pthread_mutex_lock"), Image::Refusing);
        assert_eq!(of(c"malloc"), Image::Refusing);
        assert_eq!(of(c"pthread_mutex_lurk"), Image::Loading);
    }

    #[test]
    fn damaged_files_are_no_matter() {
        let own = own();
        for len in (0..2000).step_by(7) {
            // Whatever it is called, it is no panic.
            image(&own[..len]);
        }
        let mut wild = own.clone();
        wild[32..64].fill(0xff);
        image(&wild);
        assert_eq!(image(b""), Image::Unknown);
    }

    #[test]
    fn scripts_name_their_interpreter() {
        let of = |text: &[u8]| {
            let mut script = Script::default();
            let image = super::of(in_memory(text).as_raw_fd(), b"", &mut script, None);
            (image, script.interpreter().to_str().unwrap().to_owned())
        };
        assert_eq!(of(b"#!/bin/sh\n"), (Image::Script, "/bin/sh".into()));
        assert_eq!(of(b"#! \t/usr/bin/env -S a\n"), (Image::Script, "/usr/bin/env".into()));
        assert_eq!(of(b"#!/bin/sh"), (Image::Script, "/bin/sh".into()));
        assert_eq!(of(b"#!\n").0, Image::Text);
        assert_eq!(of(b"true\n").0, Image::Text);
        let long = [b"#!".as_slice(), &[b'x'; 600]].concat();
        assert_eq!(of(&long).1.len(), MOST_SCRIPT - 2);
    }

    #[test]
    fn sanitizers_by_the_names_of_their_libraries() {
        assert!(is_sanitizer(b"/usr/lib/libasan.so.8") && is_sanitizer(b"libtsan.so.2"));
        assert!(!is_sanitizer(b"libubsan.so.1") && !is_sanitizer(b"/libasan.so/x.so"));
    }
}
