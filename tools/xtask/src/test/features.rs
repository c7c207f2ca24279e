//! The check that nothing is built twice because a feature is missing.
//!
//! Cargo builds a package again for each set of features that it is used with. The set depends on
//! the packages that are built along with it. xtask uses most of what the tests use; with other
//! features, all of that would be built a second time.

use std::collections::{BTreeMap, BTreeSet};

use crate::builds::TESTED_APART;
use crate::workspace::{cargo_command, output};

/// Checks that what xtask is made of has the features that it has in the tests of the workspace.
///
/// # Errors
/// The packages that have others, a line for each, with what is missing.
pub fn check() -> Result<(), String> {
    let ours = features(&["--package", "xtask", "--edges", "normal,build"])?;
    let apart = TESTED_APART.iter().flat_map(|package| ["--exclude", package]);
    let of: Vec<&str> =
        ["--workspace", "--edges", "normal,build,dev"].into_iter().chain(apart).collect();
    let tests = features(&of)?;
    let faults = differences(&ours, &tests);
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("add to the dependencies in tools/xtask/Cargo.toml:\n{}", faults.join("\n")))
}

/// A package's name and version, and the sets of features that it is built with.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Those of what `cargo tree` shows.
fn features(of: &[&str]) -> Result<Features, String> {
    let mut cargo = cargo_command();
    cargo.args(["tree", "--prefix", "none", "--no-dedupe", "--format", "{p}\t{f}"]).args(of);
    Ok(parsed(&output(cargo)?))
}

/// The lines of `cargo tree`: a package, its source if it is no registry, a tab, its features.
fn parsed(tree: &str) -> Features {
    let mut features = Features::new();
    for (package, of) in tree.lines().filter_map(|line| line.split_once('\t')) {
        let name = package.split(" (").next().unwrap_or(package);
        features.entry(name.to_owned()).or_default().insert(of.to_owned());
    }
    features
}

/// What is built for xtask and, with other features alone, for the tests.
fn differences(ours: &Features, tests: &Features) -> Vec<String> {
    let mut faults = Vec::new();
    for (package, sets) in ours {
        let Some(wanted) = tests.get(package) else { continue };
        for set in sets.difference(wanted) {
            let has: BTreeSet<&str> = set.split(',').collect();
            let more = wanted.iter().flat_map(|wanted| wanted.split(','));
            let missing: BTreeSet<&str> = more.filter(|feature| !has.contains(feature)).collect();
            let missing: Vec<&str> = missing.into_iter().collect();
            faults.push(format!("{package}, with the features {}", missing.join(", ")));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_only_the_tests_have_is_a_fault() {
        let tests =
            parsed("json v1.0.1\tdefault,round,std\nlog v0.4.0\t\nours v0.1.0 (/src)\tstd\n");
        let same = parsed("json v1.0.1\tdefault,round,std\nours v0.1.0 (/src)\tstd\n");
        assert_eq!(differences(&same, &tests), Vec::<String>::new());
        let fewer = parsed("json v1.0.1\tdefault,std\nours v0.1.0 (/src)\tstd\n");
        assert_eq!(differences(&fewer, &tests), ["json v1.0.1, with the features round"]);
    }

    #[test]
    fn one_of_several_sets_suffices() {
        let tests = parsed("syn v2.0.0 (proc-macro)\tderive\nsyn v2.0.0\tderive,full\n");
        assert!(differences(&parsed("syn v2.0.0\tderive"), &tests).is_empty());
        assert_eq!(differences(&parsed("syn v2.0.0\tparsing"), &tests).len(), 1);
    }
}
