//! Full names of inlined functions that have no linkage name: lambdas, and what takes one as a template argument. Their own names,
//! `operator()` and `wait<main()::<lambda()> >`, lack the functions, classes and namespaces that they are described in.

use gimli::UnitOffset;
use gimli::constants as dw;

use super::debug_info::{DEEPEST, Die, Files};
use super::inlined::chain_at;
use super::merged_calls::name_of;
use super::unit_names::is_class;
use super::unit_walk::Walk;

/// The names of the functions that are inlined at `address` into `function`, the innermost first; `None` for one that has a linkage
/// name, or no name.
pub fn names<'d>(files: &Files<'d>, function: &Die<'d>, address: u64) -> Vec<Option<String>> {
    let chain = chain_at(files, function.clone(), address);
    chain[1..].iter().rev().map(|call| full_name(files, call)).collect()
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
        let own = name_of(files, &die, 0);
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
