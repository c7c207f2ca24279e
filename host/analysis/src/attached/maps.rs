//! The memory map of a process: the lines of /proc/PID/maps, and the modules that they are
//! of.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::kept_file::KeptFile;
use super::memory::Memory;

/// How the kernel marks the path of a file that is not there any longer.
pub const DELETED: &str = " (deleted)";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Code may run there.
    pub is_code: bool,
    /// Others may have it mapped, too.
    pub is_shared: bool,
    /// What is mapped there.
    pub backing: Backing,
    /// Path, or the kernel's word for it (`[heap]`); empty for anonymous memory.
    pub path: String,
    /// Index into [`Maps::modules`].
    pub module: Option<usize>,
}

/// A place in a file, or in memory that processes share: the same in each that has it mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backing {
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// 0 for memory that is nobody else's.
    pub inode: u64,
    /// Byte in it.
    pub offset: u64,
}

/// A file that is mapped as a program or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Path in the process's root directory.
    pub path: String,
    /// What is added to addresses of the file.
    pub bias: u64,
    /// First address behind it, variables that the file has no bytes of included.
    pub end: u64,
    /// Its build id as it lies in memory; empty if it has none.
    pub build_id: Vec<u8>,
    /// The file, if it is not at its path any longer: it was deleted or replaced, as in an upgrade.
    pub kept: Option<KeptFile>,
}

impl Module {
    /// The path at which the file can be opened, of a process whose root directory is `root`.
    pub fn file(&self, root: &Path) -> PathBuf {
        match &self.kept {
            Some(kept) => kept.path(),
            None => in_root(root, &self.path),
        }
    }
}

/// All of a process.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    /// In the order of addresses.
    pub mappings: Vec<Mapping>,
    /// Those that code is mapped of.
    pub modules: Vec<Module>,
}

impl Maps {
    /// Reads the text of /proc/PID/maps, and the headers of its modules from `memory`.
    pub fn new(text: &str, memory: &impl Memory) -> Self {
        let mut lines: Vec<(Mapping, u64)> = text.lines().filter_map(line).collect();
        lines.sort_by_key(|(mapping, _)| mapping.start);
        let mut modules = Vec::new();
        // The last beginning of a file below a mapping: a file may be loaded twice.
        let mut begun: HashMap<String, Option<usize>> = HashMap::new();
        let mut last: Option<usize> = None;
        for (mapping, offset) in &mut lines {
            if mapping.path.is_empty() {
                let end = |&module: &usize| {
                    let module: &Module = &modules[module];
                    module.end
                };
                mapping.module = last.filter(|module| mapping.start < end(module));
                continue;
            }
            if !mapping.path.starts_with('/') && mapping.path != "[vdso]" {
                continue;
            }
            if *offset == 0 {
                let header = Header::read(mapping.start, memory);
                let module = header.map(|header| {
                    let path = mapping.path.clone();
                    let Header { bias, end, build_id } = header;
                    modules.push(Module { path, bias, end, build_id, kept: None });
                    modules.len() - 1
                });
                let is_known = begun.get(&mapping.path).is_some_and(Option::is_some);
                // Data at the file's beginning may be mapped again, writable, with no header.
                if module.is_some() || !is_known {
                    begun.insert(mapping.path.clone(), module);
                }
            }
            mapping.module = begun.get(&mapping.path).copied().flatten();
            last = mapping.module;
        }
        Self { mappings: lines.into_iter().map(|(mapping, _)| mapping).collect(), modules }
    }

    /// Has paths of files that were deleted or replaced as they were, without the kernel's mark. A module of such a file is read
    /// from what `open` gives, if it gives one.
    pub fn keep_deleted(&mut self, root: &Path, open: impl Fn(&Mapping) -> Option<File>) {
        for mapping in &mut self.mappings {
            let Some(path) = mapping.path.strip_suffix(DELETED) else { continue };
            // A file's name may end so.
            let there = std::fs::metadata(in_root(root, &mapping.path));
            if there.is_ok_and(|file| file.ino() == mapping.backing.inode) {
                continue;
            }
            if let Some(module) = mapping.module.map(|at| &mut self.modules[at])
                && module.path == mapping.path
            {
                module.kept = open(mapping).map(KeptFile::new);
                module.path = path.to_owned();
            }
            mapping.path = path.to_owned();
        }
    }

    /// A file that is kept open has nothing else to know it by.
    pub fn has_nameless(&self) -> bool {
        self.modules.iter().any(|module| module.kept.is_some() && module.build_id.is_empty())
    }

    /// The mapping that covers `address`.
    pub fn at(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// What lies at `address`, if other processes may have that mapped, too.
    pub fn shared_at(&self, address: u64) -> Option<Backing> {
        let mapping = self.at(address).filter(|it| it.is_shared && it.backing.inode != 0)?;
        let offset = mapping.backing.offset + (address - mapping.start);
        Some(Backing { offset, ..mapping.backing })
    }

    /// Where what `shared` names lies in this process, if it has it mapped. It may lie in several places: this is the first.
    pub fn address_of(&self, shared: &Backing) -> Option<u64> {
        self.mappings.iter().filter(|it| it.is_shared).find_map(|it| {
            let is_same = (it.backing.device, it.backing.inode) == (shared.device, shared.inode);
            let within = shared.offset.checked_sub(it.backing.offset)?;
            (is_same && within < it.end - it.start).then_some(it.start + within)
        })
    }

    /// The module that `address` lies in, by its index.
    pub fn module(&self, address: u64) -> Option<(usize, &Module)> {
        let index = self.at(address)?.module?;
        Some((index, &self.modules[index]))
    }
}

/// A path in the process's root directory, as we see it.
fn in_root(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// `7f01-7f02 r-xp 00001000 08:01 42   /usr/lib/libc.so.6`: the mapping, and where in the file.
fn line(text: &str) -> Option<(Mapping, u64)> {
    let mut fields = text.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let mode = fields.next()?.as_bytes();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode = fields.next()?.trim().parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start().to_owned();
    let mapping = Mapping {
        start: hex(start)?,
        end: hex(end)?,
        is_code: mode.get(2) == Some(&b'x'),
        is_shared: mode.get(3) == Some(&b's'),
        backing: Backing { device, inode, offset },
        path,
        module: None,
    };
    Some((mapping, offset))
}

/// The contents of a module's first page.
struct Header {
    bias: u64,
    end: u64,
    build_id: Vec<u8>,
}

/// The most program headers that are read.
const MOST_HEADERS: u16 = 64;

/// Types of program headers.
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;

impl Header {
    /// Reads the ELF header at `start`. Nothing, if there is none of a 64-bit file.
    fn read(start: u64, memory: &impl Memory) -> Option<Self> {
        let mut head = [0; 64];
        if !memory.read(start, &mut head) || !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let table = u64::from_le_bytes(head[32..40].try_into().ok()?);
        let (size, count) = (half(54), half(56).min(MOST_HEADERS));
        let (mut bias, mut end, mut notes) = (None, 0, Vec::new());
        for index in 0..count {
            let at = start.wrapping_add(table).wrapping_add(u64::from(index) * u64::from(size));
            let mut row = [0; 56];
            if !memory.read(at, &mut row) {
                break;
            }
            let word =
                |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().unwrap_or_default());
            let kind = u32::from_le_bytes(row[..4].try_into().ok()?);
            if kind == PT_LOAD {
                end = end.max(word(16).saturating_add(word(40)));
            }
            match kind {
                // The first is that of the file's beginning.
                PT_LOAD if bias.is_none() => {
                    bias = Some(start.wrapping_sub(word(16) - word(16) % 4096))
                }
                PT_NOTE => notes.push((word(16), word(40))),
                _ => {}
            }
        }
        let bias = bias?;
        let build_id = notes.into_iter().find_map(|(address, size)| {
            let mut bytes = vec![0; usize::try_from(size.min(4096)).ok()?];
            memory.read(bias.wrapping_add(address), &mut bytes).then(|| build_id(&bytes))?
        });
        let end = bias.wrapping_add(end);
        Some(Self { bias, end, build_id: build_id.unwrap_or_default() })
    }
}

/// The build id among notes: name size, size, type 3, `GNU`, and then it.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let word = |at: usize| Some(u32::from_le_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let description = 12 + name.next_multiple_of(4);
        if kind == 3 && notes.get(12..16) == Some(b"GNU\0") {
            return Some(notes.get(description..description + size)?.to_vec());
        }
        notes = notes.get(description.checked_add(size.next_multiple_of(4))?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Own;

    impl Memory for Own {
        fn read(&self, address: u64, to: &mut [u8]) -> bool {
            use std::os::unix::fs::FileExt;
            let memory = std::fs::File::open("/proc/self/mem").unwrap();
            memory.read_exact_at(to, address).is_ok()
        }
    }

    #[test]
    fn lines_are_read() {
        let (mapping, offset) =
            line("7f01-7f03 r-xs 00001000 08:01 42      /a b.so (deleted)").unwrap();
        assert_eq!((mapping.start, mapping.end, offset), (0x7f01, 0x7f03, 0x1000));
        assert!(mapping.is_code && mapping.is_shared);
        assert_eq!(mapping.path, "/a b.so (deleted)");
        let (mapping, _) = line("7f01-7f03 rw-p 00000000 00:00 0 ").unwrap();
        assert!(!mapping.is_code && !mapping.is_shared && mapping.path.is_empty());
        assert_eq!(line("7f01 rw-p"), None);
    }

    #[test]
    fn an_own_function_lies_in_the_executable_with_its_build_id() {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap();
        let maps = Maps::new(&text, &Own);
        let here = an_own_function_lies_in_the_executable_with_its_build_id as fn();
        let (_, module) = maps.module(here as usize as u64).unwrap();
        assert_eq!(std::path::Path::new(&module.path), std::env::current_exe().unwrap());
        let bias = module.bias;
        let build_id =
            crate::symbolize::elf::with_elf(std::path::Path::new(&module.path), |file| {
                use object::read::{Object, ObjectSymbol};
                let of_name = |name: &str| {
                    file.symbols().any(|symbol| {
                        symbol.name().is_ok_and(|own| own.contains(name))
                            && symbol.address().wrapping_add(bias) == here as usize as u64
                    })
                };
                assert!(of_name("an_own_function_lies"), "the bias fits");
                file.build_id().unwrap().unwrap_or_default().to_vec()
            });
        assert_eq!(build_id.unwrap(), module.build_id);
        assert!(maps.at(1).is_none());
    }
}
