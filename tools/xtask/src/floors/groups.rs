//! Folders that only group modules, which the root of the crate has as its own.

use std::collections::BTreeSet;

use super::sources::Source;

/// The folders that have no room although modules in them have one.
pub fn groups(is_planned: impl Fn(&str) -> bool, sources: &[Source]) -> BTreeSet<String> {
    let in_group = |module: &[String]| {
        module.get(1).is_some_and(|inner| !is_planned(&module[0]) && is_planned(inner))
    };
    let modules = sources.iter().map(|source| &source.module);
    modules.filter(|module| in_group(module)).map(|module| module[0].clone()).collect()
}

/// A module as the root of the crate has it, without the folder that groups it. The folder itself
/// has no name left.
pub fn without_group<'a>(groups: &BTreeSet<String>, module: &'a [String]) -> &'a [String] {
    match module.split_first() {
        Some((first, inner)) if groups.contains(first) => inner,
        _ => module,
    }
}
