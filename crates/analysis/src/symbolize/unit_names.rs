//! What a unit of debug information has: its functions by address, its variables by name, and the scopes
//! that its types are in. A unit is read once, and only if somebody asks for something in it.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::constants as dw;
use gimli::{DebugInfoOffset, Range, UnitOffset};

use super::debug_info::{Die, Files, Where};

/// What is found by address or name in a unit.
#[derive(Default)]
pub struct UnitNames {
    functions: Vec<(Range, Function)>,
    /// Variables outside functions.
    variables: HashMap<String, Vec<UnitOffset>>,
    /// Namespaces and classes that types are in: an index into `scopes`.
    types: HashMap<UnitOffset, usize>,
    scopes: Vec<String>,
}

/// A function with code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Where it is described.
    pub at: UnitOffset,
    /// It is defined within another, whose variables it sees.
    pub is_nested: bool,
}

impl UnitNames {
    /// Those of the unit at `start`.
    pub fn read(files: &Files<'_>, file: Where, start: DebugInfoOffset) -> Option<Self> {
        let unit = files.unit(file, start)?;
        let mut this = Self::default();
        // What the description is in: depth, name, and whether it is a function's.
        let mut around: Vec<(isize, String, bool)> = Vec::new();
        let mut entries = unit.entries_raw(None).ok()?;
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            if entries.skip_attributes(abbreviation.attributes()).is_err() {
                break;
            }
            while around.last().is_some_and(|(outer, ..)| *outer >= depth) {
                around.pop();
            }
            let tag = abbreviation.tag();
            let is_type =
                is_class(tag) || matches!(tag, dw::DW_TAG_typedef | dw::DW_TAG_enumeration_type);
            let is_wanted = is_type
                || matches!(
                    tag,
                    dw::DW_TAG_namespace | dw::DW_TAG_subprogram | dw::DW_TAG_variable
                );
            let in_function = around.iter().any(|(.., is_function)| *is_function);
            if !is_wanted || (in_function && tag != dw::DW_TAG_subprogram) {
                continue;
            }
            // Most functions are but declared, or are copied wherever they are called.
            let has_code = |spec: &gimli::AttributeSpecification| {
                matches!(spec.name(), dw::DW_AT_low_pc | dw::DW_AT_ranges)
            };
            if tag == dw::DW_TAG_subprogram && !abbreviation.attributes().iter().any(has_code) {
                around.push((depth, String::new(), true));
                continue;
            }
            let Ok(entry) = unit.entry(offset) else { continue };
            let die = Die { file, unit: Rc::clone(&unit), entry };
            match tag {
                dw::DW_TAG_subprogram => {
                    for range in ranges(files, &die) {
                        let function = Function { at: offset, is_nested: in_function };
                        this.functions.push((range, function));
                    }
                    around.push((depth, String::new(), true));
                }
                dw::DW_TAG_variable => {
                    if let Some(name) = files.name(&die) {
                        this.variables.entry(name).or_default().push(offset);
                    }
                }
                _ => {
                    if is_type && !around.is_empty() {
                        let scope: Vec<&str> =
                            around.iter().map(|(_, name, _)| name.as_str()).collect();
                        let scope = scope.join("::");
                        if this.scopes.last() != Some(&scope) {
                            this.scopes.push(scope);
                        }
                        this.types.insert(offset, this.scopes.len() - 1);
                    }
                    if tag == dw::DW_TAG_namespace || is_class(tag) {
                        let name = files.name(&die);
                        let name = name.unwrap_or_else(|| "(anonymous namespace)".to_owned());
                        around.push((depth, name, false));
                    }
                }
            }
        }
        Some(this)
    }

    /// The function that has the code at `address`; `None` if there are several.
    pub fn function_at(&self, address: u64) -> Option<Function> {
        let mut functions = self.functions.iter().filter(|(range, _)| has(range, address));
        let (_, function) = functions.next()?;
        functions.all(|(_, other)| other == function).then_some(*function)
    }

    /// The variables of this name outside functions.
    pub fn variables(&self, name: &str) -> &[UnitOffset] {
        self.variables.get(name).map_or(&[], Vec::as_slice)
    }

    /// The namespaces and classes that a type is in, `store::Server`; `None` for what is in none.
    pub fn scope_of(&self, of_type: UnitOffset) -> Option<&str> {
        self.scopes.get(*self.types.get(&of_type)?).map(String::as_str)
    }
}

/// Where the code of a description is.
pub fn ranges<'d>(files: &Files<'d>, die: &Die<'d>) -> Vec<Range> {
    let mut found = Vec::new();
    if let Some(dwarf) = files.dwarf(die.file)
        && let Ok(mut ranges) = dwarf.die_ranges(&die.unit, &die.entry)
    {
        while let Ok(Some(range)) = ranges.next() {
            if range.begin != 0 && range.begin < range.end {
                found.push(range);
            }
        }
    }
    found
}

/// Whether the code at `address` is in it.
pub fn has(range: &Range, address: u64) -> bool {
    range.begin <= address && address < range.end
}

/// Whether a description is of a structure, class or union.
pub fn is_class(tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type)
}
