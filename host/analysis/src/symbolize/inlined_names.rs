//! Full names of inlined functions that have no linkage name: lambdas, and what takes one as a template argument. Their own names,
//! `operator()` and `wait<main()::<lambda()> >`, lack the functions, classes and namespaces that they are described in.

use gimli::UnitOffset;
use gimli::constants as dw;

use super::debug_info::{DEEPEST, Die, Files};
use super::unit_names::{has, is_class, ranges};
use super::unit_walk::Walk;

/// The names of the functions that are inlined at `address` into `function`, the innermost first; `None` for one that has a linkage
/// name, or no name.
pub fn names<'d>(files: &Files<'d>, function: &Die<'d>, address: u64) -> Vec<Option<String>> {
    let mut inlined = Vec::new();
    add_inlined(files, function, address, &mut inlined);
    inlined.iter().rev().map(|die| full_name(files, die)).collect()
}

/// Adds the calls that have the code at `address`, the outermost first.
fn add_inlined<'d>(files: &Files<'d>, die: &Die<'d>, address: u64, inlined: &mut Vec<Die<'d>>) {
    if inlined.len() >= DEEPEST as usize {
        return;
    }
    for child in files.children(die) {
        let is_call = match child.entry.tag() {
            dw::DW_TAG_inlined_subroutine => true,
            dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => false,
            _ => continue,
        };
        if !ranges(files, &child).iter().any(|range| has(range, address)) {
            continue;
        }
        if is_call {
            inlined.push(child.clone());
        }
        return add_inlined(files, &child, address, inlined);
    }
}

/// The name of an inlined call's function with all that it is in.
fn full_name<'d>(files: &Files<'d>, call: &Die<'d>) -> Option<String> {
    let mut function = files.referred(call, dw::DW_AT_abstract_origin)?;
    for _ in 0..DEEPEST {
        let is_linked = [dw::DW_AT_linkage_name, dw::DW_AT_MIPS_linkage_name];
        if is_linked.into_iter().any(|name| function.entry.has_attr(name)) {
            return None;
        }
        let declared = [dw::DW_AT_specification, dw::DW_AT_abstract_origin];
        match declared.into_iter().find_map(|attribute| files.referred(&function, attribute)) {
            Some(declared) => function = declared,
            None => break,
        }
    }
    let mut name = String::new();
    for scope in around(&function)? {
        let die = Die { entry: function.unit.entry(scope).ok()?, ..function.clone() };
        let own = files.name(&die).or_else(|| declared_name(files, &die));
        match (die.entry.tag(), own) {
            (dw::DW_TAG_namespace, None) => name += "(anonymous namespace)",
            // GCC's, and clang's.
            (tag, None) if is_class(tag) => name += "{lambda()}",
            (tag, Some(own)) if is_class(tag) && own.starts_with("<lambda") => name += "{lambda()}",
            (_, own) => name += &own?,
        }
        name += "::";
    }
    Some(name + &files.name(&function)?)
}

/// The name of a function that is declared elsewhere.
fn declared_name<'d>(files: &Files<'d>, die: &Die<'d>) -> Option<String> {
    [dw::DW_AT_specification, dw::DW_AT_abstract_origin]
        .into_iter()
        .find_map(|attribute| files.name(&files.referred(die, attribute)?))
}

/// The namespaces, classes and functions that a description is in, the outermost first.
fn around(die: &Die<'_>) -> Option<Vec<UnitOffset>> {
    let wanted = die.entry.offset();
    let mut around: Vec<(isize, UnitOffset)> = Vec::new();
    let mut walk = Walk::new(&die.unit, None)?;
    while let Some(seen) = walk.next().filter(|seen| seen.at <= wanted) {
        while around.last().is_some_and(|(depth, _)| *depth >= seen.depth) {
            around.pop();
        }
        if seen.at == wanted {
            return Some(around.into_iter().map(|(_, at)| at).collect());
        }
        if seen.next.is_some_and(|next| next <= wanted) {
            walk.pass();
            continue;
        }
        let tag = seen.abbreviation.tag();
        if is_class(tag) || matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_subprogram) {
            around.push((seen.depth, seen.at));
        }
    }
    None
}
