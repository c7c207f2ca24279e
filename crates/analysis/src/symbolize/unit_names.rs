//! What a unit of debug information has: its functions by address, its variables, and the scopes that
//! its types are in. A unit is read once, and only if somebody asks for something in it. Where names stand
//! is kept, not the names: of thousands of types few are asked for.

use std::rc::Rc;

use gimli::constants as dw;
use gimli::{DebugInfoOffset, Range, UnitOffset};

use super::debug_info::{Die, Files, Where};

/// What is found by address or name in a unit.
pub struct UnitNames {
    file: Where,
    start: DebugInfoOffset,
    functions: Vec<(Range, Function)>,
    /// Variables outside functions.
    variables: Vec<UnitOffset>,
    /// Types in namespaces and classes, sorted, and the innermost of these: an index of a scope.
    types: Vec<(UnitOffset, usize)>,
    scopes: Vec<Scope>,
}

/// A namespace or class.
struct Scope {
    at: UnitOffset,
    /// What it is in itself: an index as well.
    outer: Option<usize>,
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
        let (functions, variables, types, scopes) = Default::default();
        let mut this = Self { file, start, functions, variables, types, scopes };
        // What the description is in: depth, and which scope, or `None` for a function.
        let mut around: Vec<(isize, Option<usize>)> = Vec::new();
        let mut entries = unit.entries_raw(None).ok()?;
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            if entries.skip_attributes(abbreviation.attributes()).is_err() {
                break;
            }
            while around.last().is_some_and(|(outer, _)| *outer >= depth) {
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
            // In a function only functions are followed, so the innermost tells.
            let in_function = around.last().is_some_and(|(_, scope)| scope.is_none());
            if !is_wanted || (in_function && tag != dw::DW_TAG_subprogram) {
                continue;
            }
            // Most functions are but declared, or are copied wherever they are called.
            let has_code = |spec: &gimli::AttributeSpecification| {
                matches!(spec.name(), dw::DW_AT_low_pc | dw::DW_AT_ranges)
            };
            if tag == dw::DW_TAG_subprogram && !abbreviation.attributes().iter().any(has_code) {
                around.push((depth, None));
                continue;
            }
            match tag {
                dw::DW_TAG_subprogram => {
                    let Ok(entry) = unit.entry(offset) else { continue };
                    let die = Die { file, unit: Rc::clone(&unit), entry };
                    for range in ranges(files, &die) {
                        let function = Function { at: offset, is_nested: in_function };
                        this.functions.push((range, function));
                    }
                    around.push((depth, None));
                }
                dw::DW_TAG_variable => this.variables.push(offset),
                _ => {
                    let outer = around.last().and_then(|(_, scope)| *scope);
                    if is_type && let Some(scope) = outer {
                        this.types.push((offset, scope));
                    }
                    if tag == dw::DW_TAG_namespace || is_class(tag) {
                        this.scopes.push(Scope { at: offset, outer });
                        around.push((depth, Some(this.scopes.len() - 1)));
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

    /// The variables of this name outside functions. `files` are what these are of.
    pub fn variables<'d>(&self, files: &Files<'d>, name: &str) -> Vec<Die<'d>> {
        let variables = self.variables.iter().filter_map(|&at| self.die(files, at));
        variables.filter(|die| files.name(die).is_some_and(|own| own == name)).collect()
    }

    /// The namespaces and classes that a type is in, `store::Server`; `None` for what is in none.
    /// `files` are what these are of.
    pub fn scope_of(&self, files: &Files<'_>, of_type: UnitOffset) -> Option<String> {
        let found = self.types.binary_search_by_key(&of_type, |(at, _)| *at).ok()?;
        let mut next = Some(self.types[found].1);
        let mut names = Vec::new();
        while let Some(scope) = next {
            let &Scope { at, outer } = self.scopes.get(scope)?;
            let name = self.die(files, at).and_then(|die| files.name(&die));
            names.push(name.unwrap_or_else(|| "(anonymous namespace)".to_owned()));
            next = outer;
        }
        names.reverse();
        Some(names.join("::"))
    }

    fn die<'d>(&self, files: &Files<'d>, at: UnitOffset) -> Option<Die<'d>> {
        let unit = files.unit(self.file, self.start)?;
        Some(Die { file: self.file, entry: unit.entry(at).ok()?, unit })
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
