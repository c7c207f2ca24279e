//! Which member of a static variable lies at an offset in it, by the variable's type in DWARF:
//! `accounts[3].lock`, where symbol tables only know `accounts`.
//!
//! The debug information is scanned once for its variables, and only if somebody asks: for a
//! program without static locks in structures or arrays it costs nothing, nor without DWARF. Types
//! in split files (`.dwo`) and in type units are not followed: such a member has no name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use gimli::constants as dw;
use gimli::{
    AttributeValue, DebugInfoOffset, DwarfSections, EndianSlice, RunTimeEndian, UnitOffset,
};
use object::read::{Object, ObjectSection};

use super::elf::with_elf;

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
type Dwarf<'d> = gimli::Dwarf<Slice<'d>>;
type Unit<'d> = gimli::Unit<Slice<'d>>;
type Entry<'d> = gimli::DebuggingInformationEntry<Slice<'d>>;

/// Types nest as deep as people write them; more is a cycle in damaged data.
const DEEPEST: u32 = 64;

/// What is read of the debug information; the rest of it is large and of no use here.
const SECTIONS: &[gimli::SectionId] = &[
    gimli::SectionId::DebugInfo,
    gimli::SectionId::DebugAbbrev,
    gimli::SectionId::DebugAddr,
    // The name of a unit's line table is read with its unit.
    gimli::SectionId::DebugLine,
    gimli::SectionId::DebugLineStr,
    gimli::SectionId::DebugStr,
    gimli::SectionId::DebugStrOffsets,
];

/// A place in a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberPlace {
    /// What follows the variable's name: `[3].lock`. Empty for the whole of it.
    pub path: String,
    /// The same for any element of the arrays on the way: `[].lock`.
    pub of_any: String,
    /// Its offset in the variable if each array's first element is meant.
    pub first: u64,
    /// It lies in an array.
    pub is_element: bool,
}

impl MemberPlace {
    /// The name of the last member on the way, without its element's number.
    fn last_name(&self) -> &str {
        let name = self.of_any.rsplit('.').next().unwrap_or_default();
        name.split('[').next().unwrap_or_default()
    }
}

/// The variables of one file's debug information, with their types.
pub struct Variables {
    main: Sections,
    supplement: Option<Sections>,
    /// Where they are described, by their addresses.
    by_address: HashMap<u64, DebugInfoOffset>,
}

/// The sections of a file, and where its units begin.
struct Sections {
    bytes: DwarfSections<Vec<u8>>,
    endian: RunTimeEndian,
    units: Vec<DebugInfoOffset>,
}

impl Sections {
    fn read(path: &Path) -> Option<Self> {
        let mut this = with_elf(path, |file| {
            let bytes = DwarfSections::load(|id| {
                let section = file.section_by_name(id.name()).filter(|_| SECTIONS.contains(&id));
                let bytes = section.map(|section| section.uncompressed_data()).transpose()?;
                Ok::<_, object::read::Error>(bytes.unwrap_or_default().into_owned())
            });
            let endian = match file.is_little_endian() {
                true => RunTimeEndian::Little,
                false => RunTimeEndian::Big,
            };
            bytes.ok().map(|bytes| Self { bytes, endian, units: Vec::new() })
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

impl Variables {
    /// Those of the file at `path`, whose shared part `dwz` may have put into `supplement`.
    pub fn read(path: &Path, supplement: Option<&Path>) -> Option<Self> {
        let main = Sections::read(path)?;
        let supplement = supplement.and_then(Sections::read);
        let dwarf = main.borrow();
        let mut by_address = HashMap::new();
        for &start in &main.units {
            // What could be read before some damage is kept.
            let _ = scan(&dwarf, start, &mut by_address);
        }
        Some(Self { main, supplement, by_address })
    }

    /// What lies `offset` bytes into the variable at `start`.
    pub fn member(&self, start: u64, offset: u64) -> Option<MemberPlace> {
        let mut files = Files {
            main: File::new(&self.main),
            supplement: self.supplement.as_ref().map(File::new),
            has_numbers: false,
        };
        let variable = files.at(Where::Main, *self.by_address.get(&start)?)?;
        let of_type = files.type_of(&variable, 0)?;
        // A lock may share its place with a number, in a union; else that is what it is.
        [false, true].into_iter().find_map(|has_numbers| {
            files.has_numbers = has_numbers;
            let mut member = MemberPlace::default();
            files.descend(&of_type, offset, &mut member, 0).then_some(member)
        })
    }
}

/// Puts the variables of static duration of one unit into `found`.
fn scan(
    dwarf: &Dwarf<'_>,
    start: DebugInfoOffset,
    found: &mut HashMap<u64, DebugInfoOffset>,
) -> gimli::Result<()> {
    let header = dwarf.unit_header(start)?;
    let abbreviations = dwarf.abbreviations(&header)?;
    let mut unit = None;
    let mut entries = header.entries_raw(&abbreviations, None)?;
    while !entries.is_empty() {
        let at = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        let attributes = abbreviation.attributes();
        let is_variable = abbreviation.tag() == dw::DW_TAG_variable
            && attributes.iter().any(|spec| spec.name() == dw::DW_AT_location);
        if !is_variable {
            entries.skip_attributes(attributes)?;
            continue;
        }
        for &spec in attributes {
            let attribute = entries.read_attribute(spec)?;
            if attribute.name() != dw::DW_AT_location {
                continue;
            }
            let Some(location) = attribute.exprloc_value() else { continue };
            let mut operations = location.operations(header.encoding());
            let address = match operations.next() {
                Ok(Some(gimli::Operation::Address { address })) => Some(address),
                Ok(Some(gimli::Operation::AddressIndex { index })) => {
                    if unit.is_none() {
                        unit = Some(dwarf.unit(header)?);
                    }
                    unit.as_ref().and_then(|unit| dwarf.address(unit, index).ok())
                }
                _ => None,
            };
            // What is computed from an address, or is a thread's own, is something else.
            let is_all = matches!(operations.next(), Ok(None));
            let entry = at.to_debug_info_offset(&header);
            if let (Some(address), Some(entry), true) = (address, entry, is_all) {
                found.entry(address).or_insert(entry);
            }
        }
    }
    Ok(())
}

/// Which file something is described in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Main,
    Supplement,
}

/// A file's units that were looked into.
struct File<'d> {
    dwarf: Dwarf<'d>,
    starts: &'d [DebugInfoOffset],
    units: RefCell<HashMap<usize, Rc<Unit<'d>>>>,
}

impl<'d> File<'d> {
    fn new(sections: &'d Sections) -> Self {
        Self { dwarf: sections.borrow(), starts: &sections.units, units: RefCell::default() }
    }

    fn unit(&self, of: DebugInfoOffset) -> Option<Rc<Unit<'d>>> {
        let index = self.starts.partition_point(|start| start.0 <= of.0).checked_sub(1)?;
        if let Some(unit) = self.units.borrow().get(&index) {
            return Some(Rc::clone(unit));
        }
        let header = self.dwarf.unit_header(self.starts[index]).ok()?;
        let unit = Rc::new(self.dwarf.unit(header).ok()?);
        self.units.borrow_mut().insert(index, Rc::clone(&unit));
        Some(unit)
    }
}

/// A description in the debug information.
struct Die<'d> {
    file: Where,
    unit: Rc<Unit<'d>>,
    entry: Entry<'d>,
}

/// The debug information that descriptions refer to each other in.
struct Files<'d> {
    main: File<'d>,
    supplement: Option<File<'d>>,
    /// What is looked for may be a number: a lock of the program's own.
    has_numbers: bool,
}

impl<'d> Files<'d> {
    fn file(&self, file: Where) -> Option<&File<'d>> {
        match file {
            Where::Main => Some(&self.main),
            Where::Supplement => self.supplement.as_ref(),
        }
    }

    fn at(&self, file: Where, offset: DebugInfoOffset) -> Option<Die<'d>> {
        let unit = self.file(file)?.unit(offset)?;
        let entry = unit.entry(offset.to_unit_offset(&unit.header)?).ok()?;
        Some(Die { file, unit, entry })
    }

    /// What an attribute of `die` refers to.
    fn referred(&self, die: &Die<'d>, attribute: gimli::DwAt) -> Option<Die<'d>> {
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

    fn name(&self, die: &Die<'d>) -> Option<String> {
        let value = die.entry.attr_value(dw::DW_AT_name)?;
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
    fn type_of(&self, die: &Die<'d>, depth: u32) -> Option<Die<'d>> {
        self.referred(die, dw::DW_AT_type).or_else(|| {
            let declared = [dw::DW_AT_specification, dw::DW_AT_abstract_origin]
                .into_iter()
                .find_map(|attribute| self.referred(die, attribute))?;
            if depth < DEEPEST { self.type_of(&declared, depth + 1) } else { None }
        })
    }

    /// Bytes of a type.
    fn size(&self, die: &Die<'d>, depth: u32) -> Option<u64> {
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
    fn children(&self, die: &Die<'d>) -> Vec<Die<'d>> {
        let mut children = Vec::new();
        let Ok(mut cursor) = die.unit.entries_at_offset(die.entry.offset()) else {
            return children;
        };
        if !die.entry.has_children() || !matches!(cursor.next_dfs(), Ok(Some(_))) {
            return children;
        }
        let own = cursor.depth();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            let (depth, entry) = (entry.depth(), entry.clone());
            if depth <= own {
                break;
            }
            if depth == own + 1 {
                children.push(Die { file: die.file, unit: Rc::clone(&die.unit), entry });
            }
        }
        children
    }

    /// Elements in each dimension of an array, the outermost first.
    fn dimensions(&self, array: &Die<'d>) -> Option<Vec<u64>> {
        let ranges = self.children(array);
        let ranges = ranges.iter().filter(|die| die.entry.tag() == dw::DW_TAG_subrange_type);
        ranges
            .map(|die| {
                unsigned(&die.entry, dw::DW_AT_count)
                    .or_else(|| unsigned(&die.entry, dw::DW_AT_upper_bound)?.checked_add(1))
            })
            .collect()
    }

    /// Adds to `member` what lies at `rest` in something of the type; false if that is not known.
    fn descend(&self, of_type: &Die<'d>, rest: u64, member: &mut MemberPlace, depth: u32) -> bool {
        let name = self.name(of_type);
        let is_rust = is_of_rust(&of_type.unit);
        if let Some(name) = &name
            && (rest == 0 || is_rust)
            && is_lock(name)
        {
            member.first += rest;
            return true;
        }
        if depth > DEEPEST {
            return false;
        }
        match of_type.entry.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type => match self.referred(of_type, dw::DW_AT_type) {
                Some(of_type) => self.descend(&of_type, rest, member, depth + 1),
                None => false,
            },
            dw::DW_TAG_array_type => self.element(of_type, rest, member, depth).unwrap_or(false),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                self.children(of_type).iter().any(|child| {
                    let before = member.clone();
                    let found = self.part(child, rest, member, depth).unwrap_or(false);
                    if !found {
                        *member = before;
                    }
                    found
                })
            }
            // What a number is for, its name alone can tell.
            dw::DW_TAG_base_type => rest == 0 && self.has_numbers && is_lock(member.last_name()),
            _ => false,
        }
    }

    /// As [`Self::descend`], in an element of an array.
    fn element(
        &self,
        array: &Die<'d>,
        rest: u64,
        member: &mut MemberPlace,
        depth: u32,
    ) -> Option<bool> {
        let of_type = self.referred(array, dw::DW_AT_type)?;
        let size = self.size(&of_type, 0).filter(|&size| size > 0)?;
        let dimensions = self.dimensions(array)?;
        let mut number = rest / size;
        let mut indices = Vec::new();
        // The last index runs fastest. The first dimension's end is not looked at: C has arrays
        // whose length is not in their type.
        for &length in dimensions.get(1..)?.iter().rev() {
            indices.push(number % length.max(1));
            number /= length.max(1);
        }
        indices.push(number);
        for index in indices.iter().rev() {
            member.path += &format!("[{index}]");
            member.of_any += "[]";
        }
        member.is_element = true;
        Some(self.descend(&of_type, rest % size, member, depth + 1))
    }

    /// As [`Self::descend`], in a member or base class if that is where `rest` is.
    fn part(
        &self,
        child: &Die<'d>,
        rest: u64,
        member: &mut MemberPlace,
        depth: u32,
    ) -> Option<bool> {
        let is_base = child.entry.tag() == dw::DW_TAG_inheritance;
        // A static member of a class is not in its objects.
        let is_static = child.entry.has_attr(dw::DW_AT_external)
            || child.entry.has_attr(dw::DW_AT_data_bit_offset);
        if !is_base && (child.entry.tag() != dw::DW_TAG_member || is_static) {
            return None;
        }
        let at = location(&child.entry)?;
        let within = rest.checked_sub(at)?;
        let of_type = self.referred(child, dw::DW_AT_type)?;
        if within >= self.size(&of_type, 0)? {
            return None;
        }
        member.first += at;
        let name = self.name(child).filter(|name| !is_base && !is_reserved(name));
        if let Some(name) = name {
            for path in [&mut member.path, &mut member.of_any] {
                path.push('.');
                path.push_str(&name);
            }
        }
        Some(self.descend(&of_type, within, member, depth + 1))
    }
}

/// How names of types end that are locks, or what else is looked for: in lower case, without
/// underscores and the `_t` of C.
const LOCKS: &[&str] = &[
    "mutex",
    "rwlock",
    "spinlock",
    "latch",
    "criticalsection",
    "semaphore",
    "cond",
    "condvar",
    "conditionvariable",
    "conditionvariableany",
    "barrier",
];

/// As [`LOCKS`], and all of the name.
const WHOLE_LOCKS: &[&str] = &["lock", "mtx", "cnd", "sem", "pthreadonce", "onceflag"];

/// How the names of our own locks for C begin.
const OURS: &str = "lw_";

/// Whether a type is a lock to the reader: what it is made of is not.
fn is_lock(name: &str) -> bool {
    if name.starts_with(OURS) {
        return true;
    }
    let name = name.split('<').next().unwrap_or_default();
    let name = name.strip_suffix("_t").unwrap_or(name);
    let name: String = name.chars().filter(|&c| c != '_').map(|c| c.to_ascii_lowercase()).collect();
    LOCKS.iter().any(|lock| name.ends_with(lock))
        || WHOLE_LOCKS.contains(&name.as_str())
        || name.starts_with("atomic")
}

fn is_of_rust(unit: &Unit<'_>) -> bool {
    let language = unit.entry(unit.header.root_offset()).ok();
    let language = language.and_then(|root| root.attr_value(dw::DW_AT_language));
    matches!(language, Some(AttributeValue::Language(dw::DW_LANG_Rust)))
}

fn unsigned(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

/// Whether a name is the implementation's alone, as `_M_elems` of `std::array` is.
fn is_reserved(name: &str) -> bool {
    let second = name.strip_prefix('_').and_then(|rest| rest.chars().next());
    second.is_some_and(|c| c == '_' || c.is_ascii_uppercase())
}

/// Where a member or base class begins; a union's have no place of their own, and that of a virtual
/// base is known to the program only.
fn location(entry: &Entry<'_>) -> Option<u64> {
    match entry.attr_value(dw::DW_AT_data_member_location) {
        None => Some(0),
        Some(AttributeValue::Exprloc(_)) => None,
        Some(value) => value.udata_value(),
    }
}
