//! Symbol tables, merged and sorted: which function or variable covers an address.

use std::ffi::CStr;

use object::read::elf::{self, FileHeader, SectionHeader, Sym};
use object::read::{Object, ObjectSymbol, ReadRef};
use object::{SymbolKind, SymbolScope};

/// One sized symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// First address, in the file's address space.
    pub start: u64,
    /// Bytes covered; 0 where the table does not say.
    pub size: u64,
    /// Name as the table has it (mangled).
    pub name: Box<str>,
    /// Visible to other modules; of two names for an address that one is the better known.
    global: bool,
}

impl Symbol {
    fn covers(&self, address: u64) -> bool {
        address >= self.start && address - self.start < self.size
    }
}

/// Functions and data objects of one module.
#[derive(Debug, Default)]
pub struct SymbolTable {
    functions: Sorted,
    objects: Sorted,
}

impl SymbolTable {
    /// Adds all that a file's `.symtab` and `.dynsym` define. A damaged entry is skipped.
    pub fn add<'data, R: ReadRef<'data>>(&mut self, file: &object::File<'data, R>) {
        match file {
            object::File::Elf32(file) => self.add_elf(file),
            object::File::Elf64(file) => self.add_elf(file),
            // No other format is read.
            _ => {}
        }
    }

    fn add_elf<'data, E: FileHeader, R: ReadRef<'data>>(
        &mut self,
        file: &elf::ElfFile<'data, E, R>,
    ) {
        let endian = file.endian();
        for (table, symbols) in [
            (file.elf_symbol_table(), file.symbols()),
            (file.elf_dynamic_symbol_table(), file.dynamic_symbols()),
        ] {
            // All names in one read: a table has tens of thousands.
            let names = file.elf_section_table().section(table.string_section());
            let names = names.ok().and_then(|names| names.data(endian, file.data()).ok());
            for symbol in symbols {
                let into = match symbol.kind() {
                    SymbolKind::Text => &mut self.functions,
                    SymbolKind::Data => &mut self.objects,
                    // Functions written in assembler often have no type.
                    SymbolKind::Unknown if symbol.size() > 0 => &mut self.functions,
                    _ => continue,
                };
                if symbol.section_index().is_none() {
                    continue;
                }
                let name = symbol.elf_symbol().st_name(endian) as usize;
                let name =
                    names.and_then(|names| CStr::from_bytes_until_nul(names.get(name..)?).ok());
                let Some(name) = name.filter(|name| !name.is_empty()) else { continue };
                into.symbols.push(Symbol {
                    start: symbol.address(),
                    size: symbol.size(),
                    name: name.to_string_lossy().into(),
                    global: symbol.scope() == SymbolScope::Dynamic && !symbol.is_local(),
                });
            }
        }
    }

    /// Sorts what was added. Look-ups come after this.
    pub fn finish(&mut self) {
        self.functions.finish();
        self.objects.finish();
    }

    /// No function is known at all.
    pub fn is_empty(&self) -> bool {
        self.functions.symbols.is_empty()
    }

    /// The function that contains `address`.
    pub fn function(&self, address: u64) -> Option<&Symbol> {
        self.functions.at(address)
    }

    /// The variable that contains `address`.
    pub fn object(&self, address: u64) -> Option<&Symbol> {
        self.objects.at(address)
    }
}

#[derive(Debug, Default)]
struct Sorted {
    symbols: Vec<Symbol>,
    /// Largest end of all symbols up to and including this one: how far back a search must look for
    /// one that encloses the address.
    reach: Vec<u64>,
}

impl Sorted {
    fn finish(&mut self) {
        // If an address has several names, the preferred one comes last, where the search begins.
        // What makes a name preferred is looked at only where there are several.
        self.symbols
            .sort_by(|a, b| a.start.cmp(&b.start).then_with(|| preference(a).cmp(&preference(b))));
        self.symbols.dedup();
        let mut most = 0;
        self.reach = self
            .symbols
            .iter()
            .map(|symbol| {
                most = most.max(symbol.start.saturating_add(symbol.size));
                most
            })
            .collect();
    }

    fn at(&self, address: u64) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|symbol| symbol.start <= address);
        let nearest = self.symbols[..end].last()?;
        if nearest.size == 0 && nearest.start == address {
            return Some(nearest);
        }
        for i in (0..end).rev() {
            if self.symbols[i].covers(address) {
                return Some(&self.symbols[i]);
            }
            if self.reach[i] <= address {
                break;
            }
        }
        None
    }
}

/// Larger is better: a sized, exported name with few leading underscores, the shorter one, and
/// where all that is equal, the alphabetically first.
fn preference(symbol: &Symbol) -> impl Ord + use<'_> {
    let underscores = symbol.name.bytes().take_while(|&byte| byte == b'_').count();
    let mangled = symbol.name.starts_with("_Z") || symbol.name.starts_with("_R");
    (
        symbol.size > 0,
        symbol.global,
        std::cmp::Reverse(if mangled { 0 } else { underscores }),
        std::cmp::Reverse(symbol.name.len()),
        std::cmp::Reverse(&*symbol.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(symbols: &[(u64, u64, &str, bool)]) -> Sorted {
        let symbols = symbols
            .iter()
            .map(|&(start, size, name, global)| Symbol { start, size, name: name.into(), global })
            .collect();
        let mut table = Sorted { symbols, reach: Vec::new() };
        table.finish();
        table
    }

    #[test]
    fn gaps_enclosures_and_aliases() {
        let table = table(&[
            (0x100, 0x100, "outer", true),
            (0x120, 0x10, "inner", false),
            (0x300, 0x20, "__alias", true),
            (0x300, 0x20, "alias", true),
            (0x300, 0x20, "al", false),
            (0x400, 0, "unsized", true),
        ]);
        let name = |address| table.at(address).map(|symbol| &*symbol.name);
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x100), Some("outer"));
        assert_eq!(name(0x125), Some("inner"));
        assert_eq!(name(0x130), Some("outer"));
        assert_eq!(name(0x1ff), Some("outer"));
        assert_eq!(name(0x200), None, "a gap between exported functions has no name");
        assert_eq!(name(0x310), Some("alias"));
        assert_eq!(name(0x320), None);
        assert_eq!(name(0x400), Some("unsized"));
        assert_eq!(name(0x401), None);
        assert_eq!(name(u64::MAX), None);
    }

    #[test]
    fn sizes_at_the_end_of_the_address_space() {
        let table = table(&[(u64::MAX - 4, u64::MAX, "damaged", true)]);
        assert_eq!(table.at(u64::MAX).map(|symbol| &*symbol.name), Some("damaged"));
        assert_eq!(table.at(0), None);
    }
}
