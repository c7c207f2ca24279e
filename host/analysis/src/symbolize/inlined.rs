//! Calls that were inlined into a function.

use gimli::constants as dw;

use super::debug_info::{DEEPEST, Die, Files};
use super::unit_names::{has, ranges};

/// The function, and the calls that were inlined into it at `address`, each into the one before.
pub fn chain_at<'d>(files: &Files<'d>, function: Die<'d>, address: u64) -> Vec<Die<'d>> {
    let mut chain = vec![function];
    while chain.len() <= DEEPEST as usize
        && let Some(inner) = chain.last().and_then(|outer| inlined_at(files, outer, address, 0))
    {
        chain.push(inner);
    }
    chain
}

/// The call that was inlined at `address` into a function, or into a call in it.
pub fn inlined_at<'d>(
    files: &Files<'d>,
    die: &Die<'d>,
    address: u64,
    depth: u32,
) -> Option<Die<'d>> {
    if depth > DEEPEST {
        return None;
    }
    files.children(die).into_iter().find_map(|child| match child.entry.tag() {
        dw::DW_TAG_inlined_subroutine => {
            let is_it = ranges(files, &child).iter().any(|range| has(range, address));
            is_it.then_some(child)
        }
        dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
            inlined_at(files, &child, address, depth + 1)
        }
        _ => None,
    })
}
