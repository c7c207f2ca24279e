//! How long the variables of a function last that lie on its stack frame.

use gimli::constants as dw;

use super::debug_info::{DEEPEST, Die, Files};

/// Whether a function has structures, arrays or the like among its variables, and all of them last as long as its call. Those of
/// a block may share their memory with those of another block, and with themselves the next time round a loop.
pub fn variables_last<'d>(files: &Files<'d>, function: &Die<'d>) -> bool {
    let own = all(files, function);
    let mut blocks = own.iter().filter(|die| is_block(die));
    own.iter().any(|die| is_aggregate(files, die))
        && !blocks.any(|block| has_aggregate(files, block, 0))
}

/// What a function has; a copy of it may lack what that does not use.
fn all<'d>(files: &Files<'d>, function: &Die<'d>) -> Vec<Die<'d>> {
    let mut own = files.children(function);
    if let Some(origin) = files.referred(function, dw::DW_AT_abstract_origin) {
        own.extend(files.children(&origin));
    }
    own
}

fn is_block(die: &Die<'_>) -> bool {
    let tag = die.entry.tag();
    matches!(tag, dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block)
}

/// A block has such a variable, or is too deep to be known.
fn has_aggregate<'d>(files: &Files<'d>, block: &Die<'d>, depth: u32) -> bool {
    depth > DEEPEST
        || files.children(block).iter().any(|die| {
            is_aggregate(files, die) || is_block(die) && has_aggregate(files, die, depth + 1)
        })
}

/// A variable that is no number and no pointer, or of which that is not known.
fn is_aggregate<'d>(files: &Files<'d>, die: &Die<'d>) -> bool {
    let is_static = || die.entry.has_attr(dw::DW_AT_external);
    die.entry.tag() == dw::DW_TAG_variable
        && !is_static()
        && files.type_of(die, 0).is_none_or(|of_type| !is_plain(files, of_type, 0))
}

/// A number or a pointer.
fn is_plain<'d>(files: &Files<'d>, of_type: Die<'d>, depth: u32) -> bool {
    match of_type.entry.tag() {
        dw::DW_TAG_base_type
        | dw::DW_TAG_enumeration_type
        | dw::DW_TAG_pointer_type
        | dw::DW_TAG_reference_type
        | dw::DW_TAG_rvalue_reference_type => true,
        dw::DW_TAG_typedef
        | dw::DW_TAG_const_type
        | dw::DW_TAG_volatile_type
        | dw::DW_TAG_restrict_type
        | dw::DW_TAG_atomic_type => {
            let inner = files.referred(&of_type, dw::DW_AT_type).filter(|_| depth < DEEPEST);
            inner.is_some_and(|inner| is_plain(files, inner, depth + 1))
        }
        _ => false,
    }
}
