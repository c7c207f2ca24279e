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
    /// Calls of functions that take or initialise locks, by their names.
    pub of_locks: usize,
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
    let mut of_locks = 0;
    count(files, function, &mut of_locks, 0);
    Some(CallsLeft { code: ranges(files, function), of_locks })
}

fn count<'d>(files: &Files<'d>, die: &Die<'d>, of_locks: &mut usize, depth: u32) {
    if depth > DEEPEST {
        return;
    }
    for child in files.children(die) {
        match child.entry.tag() {
            dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                let callee = [dw::DW_AT_call_origin, dw::DW_AT_abstract_origin]
                    .into_iter()
                    .find_map(|attribute| files.referred(&child, attribute));
                let name = callee.and_then(|callee| files.name(&callee)).unwrap_or_default();
                let name = name.to_ascii_lowercase();
                let is_of_lock = name.contains("lock") && !name.contains("unlock");
                *of_locks += usize::from(is_of_lock || name.contains("init"));
            }
            dw::DW_TAG_lexical_block
            | dw::DW_TAG_inlined_subroutine
            | dw::DW_TAG_try_block
            | dw::DW_TAG_catch_block => count(files, &child, of_locks, depth + 1),
            _ => {}
        }
    }
}
