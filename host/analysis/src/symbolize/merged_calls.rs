//! Calls that the compiler made one of: GCC merges the ends of two ways through a function where they are
//! alike, as with `-Os`, and the one call that is left has the line of one of them. Clang gives such a call
//! no line. It shows in how many calls of locks the function has, and how many lines of it have one.

use gimli::Range;
use gimli::constants as dw;

use super::debug_info::{DEEPEST, Die, Files};
use super::unit_names::ranges;

/// The calls that are left in a function that GCC has optimised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsLeft {
    /// Where its code is.
    pub code: Vec<Range>,
    /// Names of the functions that are called.
    pub callees: Vec<String>,
}

impl CallsLeft {
    /// How many of them take or initialise locks, by their names, or are called `own`.
    pub fn of_locks(&self, own: Option<&str>) -> usize {
        let is_of_lock = |callee: &&String| {
            let name = callee.to_ascii_lowercase();
            let takes = name.contains("lock") && !name.contains("unlock");
            takes || name.contains("init") || own == Some(callee.as_str())
        };
        self.callees.iter().filter(is_of_lock).count()
    }
}

/// Those of a function with code; `None` where no calls are merged without a trace.
pub fn calls_left<'d>(files: &Files<'d>, function: &Die<'d>) -> Option<CallsLeft> {
    let root = function.unit.entry(function.unit.header.root_offset()).ok()?;
    let root = Die { entry: root, ..function.clone() };
    let producer = files.text(&root, dw::DW_AT_producer)?;
    let level = producer.split_whitespace().rev().find(|word| word.starts_with("-O"));
    if !producer.starts_with("GNU") || level.is_none_or(|level| level == "-O0") {
        return None;
    }
    let mut callees = Vec::new();
    add_callees(files, function, &mut callees, 0);
    Some(CallsLeft { code: ranges(files, function), callees })
}

fn add_callees<'d>(files: &Files<'d>, die: &Die<'d>, callees: &mut Vec<String>, depth: u32) {
    if depth > DEEPEST {
        return;
    }
    for child in files.children(die) {
        match child.entry.tag() {
            dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                let callee = [dw::DW_AT_call_origin, dw::DW_AT_abstract_origin]
                    .into_iter()
                    .find_map(|attribute| files.referred(&child, attribute));
                callees.extend(callee.and_then(|callee| name_of(files, &callee, 0)));
            }
            dw::DW_TAG_lexical_block
            | dw::DW_TAG_inlined_subroutine
            | dw::DW_TAG_try_block
            | dw::DW_TAG_catch_block => add_callees(files, &child, callees, depth + 1),
            _ => {}
        }
    }
}

/// The name of a function, which a method has where it is declared.
pub fn name_of<'d>(files: &Files<'d>, function: &Die<'d>, depth: u32) -> Option<String> {
    files.name(function).or_else(|| {
        let declared = [dw::DW_AT_specification, dw::DW_AT_abstract_origin]
            .into_iter()
            .find_map(|attribute| files.referred(function, attribute))?;
        if depth < DEEPEST { name_of(files, &declared, depth + 1) } else { None }
    })
}
