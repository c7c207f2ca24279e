//! Descriptions in a file's debug information, and the way from one to another: units, references, names,
//! types and what they are made of.
//!
//! Types in split files (`.dwo`) and in type units are not followed.

use std::cell::RefCell;
use std::collections::hash_map;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrevOffset, DebugInfoOffset, DwarfSections, EndianSlice,
    Range, RunTimeEndian, Section, UnitOffset,
};
use object::read::Object;

use super::elf::{section_bytes, with_elf_and_file};

pub type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
pub type Dwarf<'d> = gimli::Dwarf<Slice<'d>>;
pub type Unit<'d> = gimli::Unit<Slice<'d>>;
pub type Entry<'d> = gimli::DebuggingInformationEntry<Slice<'d>>;

/// Types nest as deep as people write them; more is a cycle in damaged data.
pub const DEEPEST: u32 = 64;

/// What is read of the debug information; the rest of it is large and of no use here.
const SECTIONS: &[gimli::SectionId] = &[
    gimli::SectionId::DebugInfo,
    gimli::SectionId::DebugAbbrev,
    gimli::SectionId::DebugAddr,
    gimli::SectionId::DebugAranges,
    // The name of a unit's line table is read with its unit.
    gimli::SectionId::DebugLine,
    gimli::SectionId::DebugLineStr,
    gimli::SectionId::DebugRanges,
    gimli::SectionId::DebugRngLists,
    gimli::SectionId::DebugStr,
    gimli::SectionId::DebugStrOffsets,
];

/// The debug information of a module.
pub struct DebugInfo {
    main: Sections,
    supplement: Option<Sections>,
}

impl DebugInfo {
    /// That of the file at `path`, whose shared part `dwz` may have put into `supplement`.
    pub fn read(path: &Path, supplement: Option<&Path>) -> Option<Self> {
        let main = Sections::read(path)?;
        Some(Self { main, supplement: supplement.and_then(Sections::read) })
    }

    /// Where the units of the file itself begin.
    pub fn units(&self) -> &[DebugInfoOffset] {
        &self.main.units
    }

    /// The section of descriptions, which the beginnings of units are places in.
    pub fn descriptions(&self) -> &[u8] {
        self.main.borrow().debug_info.reader().slice()
    }

    /// Where the unit begins that `at` lies in, a place in the section of descriptions.
    pub fn unit_of(&self, at: usize) -> Option<DebugInfoOffset> {
        let units = &self.main.units;
        units.partition_point(|unit| unit.0 <= at).checked_sub(1).map(|i| units[i])
    }

    /// Where the code of each unit of the file itself is, as far as a table says, and the units that it
    /// says nothing of. They need not be read for that.
    pub fn code(&self) -> (Vec<(Range, DebugInfoOffset)>, Vec<DebugInfoOffset>) {
        let dwarf = self.main.borrow();
        let mut found = Vec::new();
        let mut told = HashSet::new();
        let mut tables = dwarf.debug_aranges.headers();
        while let Ok(Some(table)) = tables.next() {
            let unit = table.debug_info_offset();
            let mut entries = table.entries();
            while let Ok(Some(entry)) = entries.next() {
                found.push((entry.range(), unit));
                told.insert(unit);
            }
        }
        let units = self.main.units.iter().copied();
        (found, units.filter(|unit| !told.contains(unit)).collect())
    }

    /// All descriptions.
    pub fn files(&self) -> Files<'_> {
        Files { main: File::new(&self.main), supplement: self.supplement.as_ref().map(File::new) }
    }
}

/// The sections of a file, and where its units begin.
struct Sections {
    bytes: DwarfSections<Vec<u8>>,
    endian: RunTimeEndian,
    units: Vec<DebugInfoOffset>,
    /// How the descriptions of units are laid out, of those that were looked into.
    layouts: RefCell<HashMap<DebugAbbrevOffset, Arc<Abbreviations>>>,
}

impl Sections {
    fn read(path: &Path) -> Option<Self> {
        let mut this = with_elf_and_file(path, |elf, file| {
            let bytes = DwarfSections::load(|id| {
                let section = elf.section_by_name(id.name()).filter(|_| SECTIONS.contains(&id));
                section.map_or(Ok(Vec::new()), |section| section_bytes(&section, file).ok_or(()))
            });
            let endian = match elf.is_little_endian() {
                true => RunTimeEndian::Little,
                false => RunTimeEndian::Big,
            };
            bytes.ok().map(|bytes| Self {
                bytes,
                endian,
                units: Vec::new(),
                layouts: RefCell::default(),
            })
        })??;
        let mut units = Vec::new();
        let dwarf = this.bytes.borrow(|bytes| EndianSlice::new(bytes, this.endian));
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(header.debug_info_offset());
        }
        this.units = units;
        Some(this)
    }

    fn borrow(&self) -> Dwarf<'_> {
        self.bytes.borrow(|bytes| EndianSlice::new(bytes, self.endian))
    }
}

/// Which file something is described in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    Main,
    Supplement,
}

/// A file's units that were looked into.
struct File<'d> {
    dwarf: Dwarf<'d>,
    sections: &'d Sections,
    units: RefCell<HashMap<usize, Rc<Unit<'d>>>>,
}

impl<'d> File<'d> {
    fn new(sections: &'d Sections) -> Self {
        Self { dwarf: sections.borrow(), sections, units: RefCell::default() }
    }

    fn unit(&self, of: DebugInfoOffset) -> Option<Rc<Unit<'d>>> {
        let starts = &self.sections.units;
        let index = starts.partition_point(|start| start.0 <= of.0).checked_sub(1)?;
        if let Some(unit) = self.units.borrow().get(&index) {
            return Some(Rc::clone(unit));
        }
        let header = self.dwarf.unit_header(starts[index]).ok()?;
        let mut layouts = self.sections.layouts.borrow_mut();
        let layout = match layouts.entry(header.debug_abbrev_offset()) {
            hash_map::Entry::Occupied(known) => Arc::clone(known.get()),
            hash_map::Entry::Vacant(place) => {
                let read = self.dwarf.abbreviations(&header).ok()?;
                Arc::clone(place.insert(read))
            }
        };
        let unit = Unit::new_with_abbreviations(&self.dwarf, header, layout).ok()?;
        let unit = Rc::new(unit);
        self.units.borrow_mut().insert(index, Rc::clone(&unit));
        Some(unit)
    }
}

/// A description in the debug information.
#[derive(Clone)]
pub struct Die<'d> {
    pub file: Where,
    pub unit: Rc<Unit<'d>>,
    pub entry: Entry<'d>,
}

/// The debug information that descriptions refer to each other in.
pub struct Files<'d> {
    main: File<'d>,
    supplement: Option<File<'d>>,
}

impl<'d> Files<'d> {
    /// The debug information of the file itself.
    pub fn main(&self) -> &Dwarf<'d> {
        &self.main.dwarf
    }

    /// That of one of the files.
    pub fn dwarf(&self, file: Where) -> Option<&Dwarf<'d>> {
        Some(&self.file(file)?.dwarf)
    }

    /// The unit that has the description at `of`.
    pub fn unit(&self, file: Where, of: DebugInfoOffset) -> Option<Rc<Unit<'d>>> {
        self.file(file)?.unit(of)
    }

    fn file(&self, file: Where) -> Option<&File<'d>> {
        match file {
            Where::Main => Some(&self.main),
            Where::Supplement => self.supplement.as_ref(),
        }
    }

    /// The description at `offset`.
    pub fn at(&self, file: Where, offset: DebugInfoOffset) -> Option<Die<'d>> {
        let unit = self.file(file)?.unit(offset)?;
        let entry = unit.entry(offset.to_unit_offset(&unit.header)?).ok()?;
        Some(Die { file, unit, entry })
    }

    /// What an attribute of `die` refers to.
    pub fn referred(&self, die: &Die<'d>, attribute: gimli::DwAt) -> Option<Die<'d>> {
        match die.entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => self.in_unit(die, offset),
            AttributeValue::DebugInfoRef(offset) => self.at(die.file, offset),
            AttributeValue::DebugInfoRefSup(offset) => self.at(Where::Supplement, offset),
            _ => None,
        }
    }

    fn in_unit(&self, die: &Die<'d>, offset: UnitOffset) -> Option<Die<'d>> {
        let entry = die.unit.entry(offset).ok()?;
        Some(Die { file: die.file, unit: Rc::clone(&die.unit), entry })
    }

    /// Its own name.
    pub fn name(&self, die: &Die<'d>) -> Option<String> {
        self.text(die, dw::DW_AT_name)
    }

    /// The text of an attribute.
    pub fn text(&self, die: &Die<'d>, attribute: gimli::DwAt) -> Option<String> {
        let value = die.entry.attr_value(attribute)?;
        let file = self.file(die.file)?;
        let text = match value {
            AttributeValue::DebugStrRefSup(offset) => {
                self.supplement.as_ref()?.dwarf.string(offset).ok()?
            }
            value => file.dwarf.attr_string(&die.unit, value).ok()?,
        };
        Some(text.to_string_lossy().into_owned())
    }

    /// The type of a variable or member, which its declaration may have.
    pub fn type_of(&self, die: &Die<'d>, depth: u32) -> Option<Die<'d>> {
        self.referred(die, dw::DW_AT_type).or_else(|| {
            let declared = [dw::DW_AT_specification, dw::DW_AT_abstract_origin]
                .into_iter()
                .find_map(|attribute| self.referred(die, attribute))?;
            if depth < DEEPEST { self.type_of(&declared, depth + 1) } else { None }
        })
    }

    /// Bytes of a type.
    pub fn size(&self, die: &Die<'d>, depth: u32) -> Option<u64> {
        if depth > DEEPEST {
            return None;
        }
        if let Some(size) = unsigned(&die.entry, dw::DW_AT_byte_size) {
            return Some(size);
        }
        let of = self.size(&self.referred(die, dw::DW_AT_type)?, depth + 1)?;
        match die.entry.tag() {
            dw::DW_TAG_array_type => {
                self.dimensions(die)?.iter().try_fold(of, |size, &n| size.checked_mul(n))
            }
            _ => Some(of),
        }
    }

    /// The children of a description, each where it is.
    pub fn children(&self, die: &Die<'d>) -> Vec<Die<'d>> {
        let mut children = Vec::new();
        let Ok(mut cursor) = die.unit.entries_at_offset(die.entry.offset()) else {
            return children;
        };
        if !die.entry.has_children() || !matches!(cursor.next_dfs(), Ok(Some(_))) {
            return children;
        }
        let own = cursor.depth();
        let first = cursor.next_dfs().ok().flatten().map(|child| child.depth());
        if first != Some(own + 1) {
            return children;
        }
        while let Some(entry) = cursor.current().cloned() {
            children.push(Die { file: die.file, unit: Rc::clone(&die.unit), entry });
            // Compilers say where the next one is; what lies between is not read.
            if !matches!(cursor.next_sibling(), Ok(Some(_))) {
                break;
            }
        }
        children
    }

    /// Elements in each dimension of an array, the outermost first.
    pub fn dimensions(&self, array: &Die<'d>) -> Option<Vec<u64>> {
        let ranges = self.children(array);
        let ranges = ranges.iter().filter(|die| die.entry.tag() == dw::DW_TAG_subrange_type);
        ranges
            .map(|die| {
                unsigned(&die.entry, dw::DW_AT_count)
                    .or_else(|| unsigned(&die.entry, dw::DW_AT_upper_bound)?.checked_add(1))
            })
            .collect()
    }
}

/// Whether a unit was made by Rust's compiler.
pub fn is_of_rust(unit: &Unit<'_>) -> bool {
    let language = unit.entry(unit.header.root_offset()).ok();
    let language = language.and_then(|root| root.attr_value(dw::DW_AT_language));
    matches!(language, Some(AttributeValue::Language(dw::DW_LANG_Rust)))
}

/// The value of an attribute that is a number.
pub fn unsigned(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

/// Whether a name is the implementation's alone, as `_M_elems` of `std::array` is.
pub fn is_reserved(name: &str) -> bool {
    let second = name.strip_prefix('_').and_then(|rest| rest.chars().next());
    second.is_some_and(|c| c == '_' || c.is_ascii_uppercase())
}

/// Where a member or base class begins; a union's have no place of their own, and that of a virtual
/// base is known to the program only.
pub fn location(entry: &Entry<'_>) -> Option<u64> {
    match entry.attr_value(dw::DW_AT_data_member_location) {
        None => Some(0),
        Some(AttributeValue::Exprloc(_)) => None,
        Some(value) => value.udata_value(),
    }
}
