//! The contents of a unit of debug information: its functions by address, its variables, and the scopes that
//! its types are in. A unit is read once, and only if somebody asks for something in it; what is in its
//! functions and classes is passed over until somebody asks for that. Where names stand is kept, not the
//! names: of thousands of types few are asked for.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use gimli::constants as dw;
use gimli::{Abbreviation, DebugInfoOffset, Range, UnitOffset};

use super::debug_info::{Die, Files, Where};
use super::unit_walk::{Seen, Walk};

/// What is found by address or name in a unit.
pub struct UnitNames {
    file: Where,
    start: DebugInfoOffset,
    /// Functions in no other and in no class: most of those with code.
    functions: Vec<(Range, Function)>,
    /// All functions, if one was sought that is not among those.
    all_functions: OnceCell<Vec<(Range, Function)>>,
    /// Variables outside functions.
    variables: OnceCell<Vec<UnitOffset>>,
    /// Types in namespaces, sorted, and the innermost of these: an index of a scope.
    types: Vec<(UnitOffset, usize)>,
    /// Namespaces.
    scopes: Vec<Scope>,
    /// Classes and functions that were passed over, sorted.
    passed: Vec<Passed>,
    /// Those that were asked for.
    scope_names: RefCell<HashMap<UnitOffset, Option<String>>>,
}

/// A namespace or class.
#[derive(Clone, Copy)]
struct Scope {
    at: UnitOffset,
    /// What it is in itself: an index as well.
    outer: Option<usize>,
}

/// A class or function: where it is described, and where that ends.
struct Passed {
    at: UnitOffset,
    end: UnitOffset,
    /// The namespace that it is in.
    outer: Option<usize>,
    is_function: bool,
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
        let mut this = Self {
            file,
            start,
            functions: Vec::new(),
            all_functions: OnceCell::new(),
            variables: OnceCell::new(),
            types: Vec::new(),
            scopes: Vec::new(),
            passed: Vec::new(),
            scope_names: RefCell::default(),
        };
        // The namespaces that the description is in, by their depths.
        let mut around: Vec<(isize, usize)> = Vec::new();
        let mut passed: Option<Passed> = None;
        let mut walk = Walk::new(&unit, None)?;
        while let Some(seen) = walk.next() {
            if let Some(passed) = passed.take() {
                this.passed.push(Passed { end: seen.at, ..passed });
            }
            while around.last().is_some_and(|(outer, _)| *outer >= seen.depth) {
                around.pop();
            }
            let (tag, outer) = (seen.abbreviation.tag(), around.last().map(|(_, scope)| *scope));
            let is_function = tag == dw::DW_TAG_subprogram;
            if tag == dw::DW_TAG_namespace {
                this.scopes.push(Scope { at: seen.at, outer });
                around.push((seen.depth, this.scopes.len() - 1));
            }
            if let Some(outer) = outer
                && is_type(tag)
            {
                this.types.push((seen.at, outer));
            }
            if is_function && has_code(seen.abbreviation) {
                this.functions.extend(this.function(files, &seen, false));
            }
            if is_function || is_class(tag) {
                let end = UnitOffset(usize::MAX);
                passed = Some(Passed { at: seen.at, end, outer, is_function });
                walk.pass();
            }
        }
        this.passed.extend(passed);
        Some(this)
    }

    /// A function, and each piece of its code.
    fn function(
        &self,
        files: &Files<'_>,
        seen: &Seen<'_>,
        is_nested: bool,
    ) -> impl Iterator<Item = (Range, Function)> + use<> {
        let function = Function { at: seen.at, is_nested };
        let code = match seen.code {
            Some(code) => vec![code],
            None => self.die(files, seen.at).map(|die| ranges(files, &die)).unwrap_or_default(),
        };
        code.into_iter().filter(is_there).map(move |range| (range, function))
    }

    /// The function that has the code at `address`; `None` if there are several. `files` are what these
    /// are of.
    pub fn function_at(&self, files: &Files<'_>, address: u64) -> Option<Function> {
        let mut found = self.functions.iter().filter(|(range, _)| has(range, address)).peekable();
        if found.peek().is_some() {
            return only(found);
        }
        let all = self.all_functions.get_or_init(|| self.all_functions(files).unwrap_or_default());
        only(all.iter().filter(|(range, _)| has(range, address)))
    }

    /// All functions, also those of classes in functions and of functions in these.
    fn all_functions(&self, files: &Files<'_>) -> Option<Vec<(Range, Function)>> {
        let unit = files.unit(self.file, self.start)?;
        let mut found = Vec::new();
        // The functions that the description is in.
        let mut around: Vec<isize> = Vec::new();
        let mut walk = Walk::new(&unit, None)?;
        while let Some(seen) = walk.next() {
            if seen.abbreviation.tag() != dw::DW_TAG_subprogram {
                continue;
            }
            while around.last().is_some_and(|outer| *outer >= seen.depth) {
                around.pop();
            }
            // Most functions are but declared, or are copied wherever they are called.
            if has_code(seen.abbreviation) {
                found.extend(self.function(files, &seen, !around.is_empty()));
            }
            around.push(seen.depth);
        }
        Some(found)
    }

    /// The variables of this name outside functions. `files` are what these are of.
    pub fn variables<'d>(&self, files: &Files<'d>, name: &str) -> Vec<Die<'d>> {
        let variables =
            self.variables.get_or_init(|| self.all_variables(files).unwrap_or_default());
        let variables = variables.iter().filter_map(|&at| self.die(files, at));
        variables.filter(|die| files.name(die).is_some_and(|own| own == name)).collect()
    }

    fn all_variables(&self, files: &Files<'_>) -> Option<Vec<UnitOffset>> {
        let unit = files.unit(self.file, self.start)?;
        let mut found = Vec::new();
        let mut walk = Walk::new(&unit, None)?;
        while let Some(seen) = walk.next() {
            match seen.abbreviation.tag() {
                dw::DW_TAG_subprogram => walk.pass(),
                dw::DW_TAG_variable => found.push(seen.at),
                _ => {}
            }
        }
        Some(found)
    }

    /// The namespaces and classes that a type is in, `store::Server`; `None` for what is in none, or in a
    /// function. `files` are what these are of.
    pub fn scope_of(&self, files: &Files<'_>, of_type: UnitOffset) -> Option<String> {
        if let Some(known) = self.scope_names.borrow().get(&of_type) {
            return known.clone();
        }
        let names = self.scopes_of(files, of_type).map(|scopes| {
            let name = |at| self.die(files, at).and_then(|die| files.name(&die));
            let names = scopes
                .into_iter()
                .map(|at| name(at).unwrap_or_else(|| "(anonymous namespace)".to_owned()));
            names.collect::<Vec<_>>().join("::")
        });
        self.scope_names.borrow_mut().insert(of_type, names.clone());
        names
    }

    /// As [`Self::scope_of`]: where these are described, the outermost first.
    fn scopes_of(&self, files: &Files<'_>, of_type: UnitOffset) -> Option<Vec<UnitOffset>> {
        if let Ok(found) = self.types.binary_search_by_key(&of_type, |(at, _)| *at) {
            return Some(self.with_outer(Some(self.types[found].1)));
        }
        let after = self.passed.partition_point(|passed| passed.at < of_type);
        let passed = self.passed.get(after.checked_sub(1)?)?;
        if passed.is_function || of_type >= passed.end {
            return None;
        }
        let unit = files.unit(self.file, self.start)?;
        let mut around: Vec<(isize, UnitOffset)> = Vec::new();
        let mut walk = Walk::new(&unit, Some(passed.at))?;
        while let Some(seen) = walk.next().filter(|seen| seen.at <= of_type) {
            while around.last().is_some_and(|(outer, _)| *outer >= seen.depth) {
                around.pop();
            }
            let tag = seen.abbreviation.tag();
            if seen.at == of_type {
                let mut scopes = self.with_outer(passed.outer);
                scopes.extend(around.iter().map(|(_, at)| *at));
                return is_type(tag).then_some(scopes);
            }
            match is_class(tag) {
                // It is further on.
                true if seen.next.is_some_and(|next| next <= of_type) => walk.pass(),
                true => around.push((seen.depth, seen.at)),
                false if tag == dw::DW_TAG_subprogram => walk.pass(),
                false => {}
            }
        }
        None
    }

    /// A namespace and those that it is in, the outermost first.
    fn with_outer(&self, mut next: Option<usize>) -> Vec<UnitOffset> {
        let mut found = Vec::new();
        while let Some(&Scope { at, outer }) = next.and_then(|scope| self.scopes.get(scope)) {
            found.push(at);
            next = outer;
        }
        found.reverse();
        found
    }

    fn die<'d>(&self, files: &Files<'d>, at: UnitOffset) -> Option<Die<'d>> {
        let unit = files.unit(self.file, self.start)?;
        Some(Die { file: self.file, entry: unit.entry(at).ok()?, unit })
    }
}

/// The one function that all of `found` are of.
fn only<'f>(mut found: impl Iterator<Item = &'f (Range, Function)>) -> Option<Function> {
    let (_, function) = found.next()?;
    found.all(|(_, other)| other == function).then_some(*function)
}

/// Whether a description of a function says where its code is.
fn has_code(abbreviation: &Abbreviation) -> bool {
    let mut attributes = abbreviation.attributes().iter();
    attributes.any(|spec| matches!(spec.name(), dw::DW_AT_low_pc | dw::DW_AT_ranges))
}

/// Whether a description is of a type that has a name of its own.
fn is_type(tag: gimli::DwTag) -> bool {
    is_class(tag) || matches!(tag, dw::DW_TAG_typedef | dw::DW_TAG_enumeration_type)
}

/// Where the code of a description is.
pub fn ranges<'d>(files: &Files<'d>, die: &Die<'d>) -> Vec<Range> {
    let mut found = Vec::new();
    if let Some(dwarf) = files.dwarf(die.file)
        && let Ok(mut ranges) = dwarf.die_ranges(&die.unit, &die.entry)
    {
        while let Ok(Some(range)) = ranges.next() {
            if is_there(&range) {
                found.push(range);
            }
        }
    }
    found
}

/// Whether it is code that the linker has not left out: that begins at nothing.
pub fn is_there(range: &Range) -> bool {
    range.begin != 0 && range.begin < range.end
}

/// Whether the code at `address` is in it.
pub fn has(range: &Range, address: u64) -> bool {
    range.begin <= address && address < range.end
}

/// Whether a description is of a structure, class or union.
pub fn is_class(tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type)
}
