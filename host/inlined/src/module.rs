//! A module's file: its code, its functions' bounds, and where the functions behind locks can be called.

use std::collections::{HashMap, HashSet};

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use object::{Endianness, RelocationFlags, SectionFlags, elf};

use crate::error::Error;
use crate::names::{self, Role};

/// Bytes of a section, and the address where they are.
#[derive(Clone, Copy)]
pub struct Section<'data> {
    /// Address of the first byte.
    pub address: u64,
    /// What is there.
    pub bytes: &'data [u8],
}

impl<'data> Section<'data> {
    /// The bytes from an address on, if there are any.
    pub fn from(&self, address: u64) -> Option<&'data [u8]> {
        let from = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(from..).filter(|bytes| !bytes.is_empty())
    }
}

/// Where a function lies, and its table of landing pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bounds {
    /// Its first address.
    pub start: u64,
    /// The first after it.
    pub end: u64,
    /// Address of the table that the unwinder reads for it.
    pub landing_pads: Option<u64>,
}

/// A function behind locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callee {
    /// What it is for.
    pub role: Role,
    /// Where it is; `None` if it is another module's.
    pub address: Option<u64>,
}

/// A module.
pub struct Module<'data> {
    /// Sections that can be executed.
    pub code: Vec<Section<'data>>,
    /// Sections with constants: tables of jumps and of landing pads are there.
    pub constants: Vec<Section<'data>>,
    /// Functions by their address.
    pub functions: Vec<Bounds>,
    /// What is behind an address that code can call: functions, and stubs of the linker's.
    pub callees: HashMap<u64, Callee>,
    /// Functions that are a compare-and-exchange, and words that have such a function's address.
    pub exchanges: HashSet<u64>,
    /// What is behind a word that has such an address.
    pub pointers: HashMap<u64, Callee>,
}

impl<'data> Module<'data> {
    /// Reads a file. `None`: its machine is another.
    pub fn read(bytes: &'data [u8]) -> Result<Option<Self>, Error> {
        let machine = object::FileKind::parse(bytes)?;
        if machine != object::FileKind::Elf64 {
            return Ok(None);
        }
        let file = ElfFile64::<Endianness>::parse(bytes)?;
        if file.architecture() != object::Architecture::X86_64 {
            return Ok(None);
        }
        let mut module = Self {
            code: Vec::new(),
            constants: Vec::new(),
            functions: functions(&file)?,
            callees: HashMap::new(),
            exchanges: HashSet::new(),
            pointers: HashMap::new(),
        };
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let has_bytes = section.kind() != object::SectionKind::UninitializedData;
            if !sh_flags.contains(elf::SHF_ALLOC) || !has_bytes {
                continue;
            }
            let bytes = Section { address: section.address(), bytes: section.data()? };
            let is_code = sh_flags.contains(elf::SHF_EXECINSTR);
            if is_code { module.code.push(bytes) } else { module.constants.push(bytes) }
        }
        module.name(&file);
        Ok(Some(module))
    }

    /// Finds the other ways to call what has been found: through words, and by stubs of the linker's.
    pub fn link(&mut self, bytes: &'data [u8]) -> Result<(), Error> {
        let file = ElfFile64::<Endianness>::parse(bytes)?;
        self.follow_relocations(&file);
        self.follow_stubs();
        Ok(())
    }

    /// The function that an address is in.
    pub fn function(&self, address: u64) -> Option<Bounds> {
        let after = self.functions.partition_point(|bounds| bounds.start <= address);
        let bounds = *self.functions.get(after.checked_sub(1)?)?;
        (address < bounds.end).then_some(bounds)
    }

    /// The code from an address on, up to the end of its section.
    pub fn code_from(&self, address: u64) -> Option<&'data [u8]> {
        self.code.iter().find_map(|section| section.from(address))
    }

    /// Constants from an address on.
    pub fn constants_from(&self, address: u64) -> Option<&'data [u8]> {
        self.constants.iter().find_map(|section| section.from(address))
    }

    fn name(&mut self, file: &ElfFile64<'data>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if !symbol.is_definition() {
                continue;
            }
            let address = symbol.address();
            let Ok(name) = symbol.name_bytes() else { continue };
            if names::is_compare_exchange(name) {
                self.exchanges.insert(address);
            } else if let Some(role) = names::role(name) {
                self.callees.insert(address, Callee { role, address: Some(address) });
            }
        }
    }

    /// Words that the loader fills in with the functions' addresses.
    fn follow_relocations(&mut self, file: &ElfFile64<'data>) {
        let symbols = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            if r_type == elf::R_X86_64_RELATIVE
                && self.exchanges.contains(&relocation.addend().cast_unsigned())
            {
                self.exchanges.insert(at);
            }
            let callee = match (r_type, relocation.target()) {
                (elf::R_X86_64_RELATIVE, _) => {
                    self.callees.get(&relocation.addend().cast_unsigned()).copied()
                }
                (
                    elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_64,
                    RelocationTarget::Symbol(index),
                ) => {
                    let symbol = symbols.and_then(|table| table.symbol_by_index(index).ok());
                    symbol.and_then(|symbol| {
                        let role = names::role(symbol.name_bytes().ok()?)?;
                        let address = symbol.is_definition().then(|| symbol.address());
                        Some(Callee { role, address })
                    })
                }
                _ => None,
            };
            if let Some(callee) = callee {
                self.pointers.insert(at, callee);
            }
        }
        // Without a loader the linker has filled them in.
        if file.dynamic_relocations().is_none()
            && let Some(got) = file.section_by_name(".got")
            && let Ok(bytes) = got.data()
        {
            for (nth, word) in bytes.chunks_exact(8).enumerate() {
                let word = u64::from_le_bytes(word.try_into().expect("it has 8 bytes"));
                if let Some(callee) = self.callees.get(&word) {
                    self.pointers.insert(got.address() + nth as u64 * 8, *callee);
                }
            }
        }
    }

    /// The linker's stubs jump through such words: `jmp *word(%rip)`, with or without a mark for indirect branches before it.
    fn follow_stubs(&mut self) {
        if self.pointers.is_empty() {
            return;
        }
        const JUMP: [u8; 2] = [0xff, 0x25];
        const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        for section in &self.code {
            for at in memchr::memmem::find_iter(section.bytes, &JUMP) {
                let Some(distance) = section.bytes.get(at + 2..at + 6) else { continue };
                let distance = i32::from_le_bytes(distance.try_into().expect("it has 4 bytes"));
                let address = section.address + at as u64;
                let word = address.wrapping_add(6).wrapping_add_signed(distance.into());
                let Some(callee) = self.pointers.get(&word) else { continue };
                let before = &section.bytes[..at];
                let before = before.strip_suffix(&[0xf2]).unwrap_or(before);
                let mark = before.strip_suffix(&MARK).unwrap_or(before);
                for start in [at, before.len(), mark.len()] {
                    self.callees.insert(section.address + start as u64, *callee);
                }
            }
        }
    }
}

/// The bounds of all functions, which a stripped file has, too: the unwinder needs them.
fn functions(file: &ElfFile64<'_>) -> Result<Vec<Bounds>, Error> {
    let Some(section) = file.section_by_name(".eh_frame") else { return Ok(Vec::new()) };
    let bytes = section.data()?;
    let frames = EhFrame::new(bytes, LittleEndian);
    let mut bases = BaseAddresses::default().set_eh_frame(section.address());
    if let Some(text) = file.section_by_name(".text") {
        bases = bases.set_text(text.address());
    }
    let mut entries = frames.entries(&bases);
    let mut common = HashMap::new();
    let mut functions = Vec::new();
    // What cannot be read ends the list: the functions before it are right.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let parsed = partial.parse(|frames, bases, offset| {
            if let Some(cie) = common.get(&offset.0) {
                return Ok(gimli::CommonInformationEntry::clone(cie));
            }
            let cie = frames.cie_from_offset(bases, offset)?;
            common.insert(offset.0, cie.clone());
            Ok(cie)
        });
        let Ok(entry) = parsed else { continue };
        let start = entry.initial_address();
        let Some(end) = start.checked_add(entry.len()).filter(|&end| end > start) else { continue };
        let landing_pads = entry.lsda().and_then(|pointer| pointer.direct().ok());
        functions.push(Bounds { start, end, landing_pads });
    }
    functions.sort_unstable();
    Ok(functions)
}
