//! Which member of a static variable lies at an offset in it, by the variable's type in DWARF:
//! `accounts[3].lock`, where symbol tables only know `accounts`.
//!
//! The debug information is searched only if somebody asks: for a program without static locks in
//! structures or arrays it costs nothing, nor without DWARF. Then the bytes that make a variable of
//! a fixed address are looked for, which takes a tenth of what reading all descriptions takes, and
//! only the unit that has them is read. Where that finds nothing, all are.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use gimli::DebugInfoOffset;
use gimli::constants as dw;
use memchr::memmem;

use super::debug_info::{
    DEEPEST, DebugInfo, Die, Dwarf, Files, Where, is_of_rust, is_reserved, location,
};
use super::lock_types::is_lock;

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
/// Where a variable is described, by its address.
type ByAddress = HashMap<u64, Option<DebugInfoOffset>>;

/// The variables of one file's debug information, by their addresses.
pub struct Variables {
    /// Addresses, and where in the descriptions each is likely to be a variable's: in order.
    likely: Vec<(u64, usize)>,
    found: RefCell<ByAddress>,
    /// All that there are, if one was asked for that is not where it is likely to be.
    all: OnceCell<ByAddress>,
}

/// A variable's place, as compilers write it for a fixed address of 8 bytes: the length of the
/// expression, `DW_OP_addr`, and the address. They do so in DWARF 4, and GCC in DWARF 5, too; Clang
/// has a number there.
const FIXED: [u8; 2] = [9, 3];

impl Variables {
    /// Those of `info`.
    pub fn new(info: &DebugInfo) -> Self {
        let bytes = info.descriptions();
        let likely = memmem::find_iter(bytes, &FIXED).filter_map(|at| {
            let address = bytes.get(at + FIXED.len()..)?.first_chunk()?;
            Some((u64::from_le_bytes(*address), at))
        });
        let mut likely: Vec<_> = likely.collect();
        likely.sort_unstable();
        Self { likely, found: RefCell::default(), all: OnceCell::new() }
    }

    /// What lies `offset` bytes into the variable at `start`. `info` is what the variables are of.
    pub fn member(&self, info: &DebugInfo, start: u64, offset: u64) -> Option<MemberPlace> {
        let files = info.files();
        let variable = files.at(Where::Main, self.at(info, files.main(), start)?)?;
        let of_type = files.type_of(&variable, 0)?;
        // A lock may share its place with a number, in a union; else that is what it is.
        [false, true].into_iter().find_map(|has_numbers| {
            let search = Search { files: &files, has_numbers };
            let mut member = MemberPlace::default();
            search.descend(&of_type, offset, &mut member, 0).then_some(member)
        })
    }

    /// Where the variable at `start` is described.
    fn at(&self, info: &DebugInfo, dwarf: &Dwarf<'_>, start: u64) -> Option<DebugInfoOffset> {
        if let Some(&found) = self.found.borrow().get(&start) {
            return found;
        }
        let from = self.likely.partition_point(|&(address, _)| address < start);
        let places = self.likely[from..].iter().take_while(|&&(address, _)| address == start);
        let mut found = self.found.borrow_mut();
        for &(_, place) in places {
            // What could be read before some damage is kept.
            let _ = info.unit_of(place).map(|unit| scan(dwarf, unit, &mut found));
            if let Some(&Some(variable)) = found.get(&start) {
                return Some(variable);
            }
        }
        let all = self.all.get_or_init(|| {
            let mut all = ByAddress::new();
            for &unit in info.units() {
                let _ = scan(dwarf, unit, &mut all);
            }
            all
        });
        *found.entry(start).or_insert_with(|| all.get(&start).copied().flatten())
    }
}

/// Puts the variables of static duration of one unit into `found`.
fn scan(dwarf: &Dwarf<'_>, start: DebugInfoOffset, found: &mut ByAddress) -> gimli::Result<()> {
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
            if let (Some(address), Some(_), true) = (address, entry, is_all) {
                found.entry(address).or_insert(entry);
            }
        }
    }
    Ok(())
}
/// The way down into a type.
struct Search<'f, 'd> {
    files: &'f Files<'d>,
    /// What is looked for may be a number: a lock of the program's own.
    has_numbers: bool,
}

impl<'d> Search<'_, 'd> {
    /// Adds to `member` what lies at `rest` in something of the type; false if that is not known.
    fn descend(&self, of_type: &Die<'d>, rest: u64, member: &mut MemberPlace, depth: u32) -> bool {
        let name = self.files.name(of_type);
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
            | dw::DW_TAG_atomic_type => match self.files.referred(of_type, dw::DW_AT_type) {
                Some(of_type) => self.descend(&of_type, rest, member, depth + 1),
                None => false,
            },
            dw::DW_TAG_array_type => self.element(of_type, rest, member, depth).unwrap_or(false),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                self.files.children(of_type).iter().any(|child| {
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
        let of_type = self.files.referred(array, dw::DW_AT_type)?;
        let size = self.files.size(&of_type, 0).filter(|&size| size > 0)?;
        let dimensions = self.files.dimensions(array)?;
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
        let of_type = self.files.referred(child, dw::DW_AT_type)?;
        if within >= self.files.size(&of_type, 0)? {
            return None;
        }
        member.first += at;
        let name = self.files.name(child).filter(|name| !is_base && !is_reserved(name));
        if let Some(name) = name {
            for path in [&mut member.path, &mut member.of_any] {
                path.push('.');
                path.push_str(&name);
            }
        }
        Some(self.descend(&of_type, within, member, depth + 1))
    }
}
