//! The floors of the house: which crate may use which, and in a crate which module. ARCHITECTURE.md
//! says why; this holds it. What stands further down in a list may be used by what stands above it,
//! never the other way round, and modules of one floor do not use each other: so there are no
//! cycles. `circles` looks for cycles of files.

mod circles;
mod groups;
mod paths;
mod plan;
mod sentences;
mod sources;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::{cargo_command, output};
use sources::{Source, sources};

/// The crate of this check. It is in no plan, as it may use everything.
const XTASK: &str = "tools/xtask";

/// Checks every crate of the workspace against the plan, and looks for circles of files.
///
/// # Errors
/// When a crate or a module uses what it may not, or has no place in the plan; with one line for
/// each.
pub fn check() -> Result<(), String> {
    let mut faults = crates(&dependencies()?);
    let mut circles = Vec::new();
    for planned in plan::CRATES {
        let sources = sources(planned.dir)?;
        faults.extend(modules(planned.name, planned.floors, &sources));
        if !planned.says {
            faults.extend(said(planned.name, &sources));
        }
        circles.extend(circles::circles(planned.dir, &sources));
    }
    circles.extend(circles::circles(XTASK, &sources(XTASK)?));
    faults.extend(circles::check(&circles)?);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What crates of the workspace depend on: of those alone, and not for their tests.
fn dependencies() -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut cargo = cargo_command();
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&output(cargo)?).map_err(|e| format!("cargo metadata: {e}"))?;
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let of = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().into_iter().flatten();
        let built_in = all.filter(|dependency| dependency["kind"].is_null());
        built_in.map(name).filter(|name| members.contains(name)).collect()
    };
    Ok(packages.iter().map(|package| (name(package), of(package))).collect())
}

/// What is wrong with the arrows between crates.
fn crates(found: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let planned = |name: &str| plan::CRATES.iter().find(|planned| planned.name == name);
    let unplanned = found.keys().filter(|name| planned(name).is_none() && *name != "xtask");
    let mut faults: Vec<String> =
        unplanned.map(|name| format!("crate {name}: has no place in the plan")).collect();
    for (name, uses) in found {
        let Some(planned) = planned(name) else { continue };
        let more = uses.iter().filter(|used| !planned.uses.contains(&used.as_str()));
        faults.extend(more.map(|used| format!("crate {name}: may not use {used}")));
    }
    faults
}

/// What is wrong with the arrows between the modules of a crate, and which of them have no floor.
/// The root has none: it names all. A folder that only groups modules has none either.
fn modules(name: &str, floors: &[&[&str]], sources: &[Source]) -> Vec<String> {
    let rooms = || {
        floors.iter().enumerate().flat_map(|(at, floor)| floor.iter().map(move |room| (at, *room)))
    };
    let room = |module: &str| rooms().find(|(_, room)| room.split(" + ").any(|one| one == module));
    let groups = groups::groups(|module| room(module).is_some(), sources);
    let sources = || {
        let all = sources.iter();
        let own =
            all.map(|source| (groups::without_group(&groups, &source.module), &source.tokens));
        own.filter(|(module, _)| !module.is_empty())
    };
    let there: BTreeSet<&str> = sources().map(|(module, _)| module[0].as_str()).collect();
    let mut faults = Vec::new();
    for module in there.iter().filter(|module| room(module).is_none()) {
        faults.push(format!("{name}: module {module} has no floor"));
    }
    for gone in rooms().flat_map(|(_, room)| room.split(" + ")).filter(|one| !there.contains(one)) {
        faults.push(format!("{name}: there is no module {gone}"));
    }
    for (module, tokens) in sources() {
        let from = module.join("::");
        for used in &paths::used(tokens, module) {
            if groups.contains(used) {
                faults.push(format!("{name}: {from} uses the folder {used}, not a module in it"));
            }
            let (Some(here), Some(there)) = (room(&module[0]), room(used)) else { continue };
            if here != there && there.0 <= here.0 {
                let place = if here.0 == there.0 { "beside" } else { "above" };
                faults.push(format!("{name}: {from} uses {used}, which is {place} it"));
            }
        }
    }
    faults
}

/// The sentences of a crate that is to have none.
fn said(name: &str, sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for Source { module, tokens, .. } in sources {
        let module = module.join("::");
        let found = sentences::sentences(tokens);
        faults.extend(found.iter().map(|text| format!("{name}: {module} has a sentence: {text}")));
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn faults(floors: &[&[&str]], sources: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source::new(Path::new(path), text).unwrap();
        modules("house", floors, &sources.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn an_arrow_upward_is_found_however_it_is_written() {
        for upward in [
            "use crate::roof;",
            "use crate::{cellar, roof::{Tile, Gutter}};",
            "use super::roof::Tile;",
            "fn f() { crate::roof::rain() }",
            "fn f() { println!(\"{}\", crate::roof::rain()) }",
            "mod inner { use super::super::roof; }",
            "macro_rules! rain { () => { $crate::roof::rain() } }",
        ] {
            let sources = [("roof.rs", ""), ("cellar.rs", ""), ("hall.rs", upward)];
            let found = faults(&[&["roof"], &["hall"], &["cellar"]], &sources);
            assert_eq!(found, ["house: hall uses roof, which is above it"], "{upward}");
        }
    }

    #[test]
    fn modules_of_one_floor_do_not_use_each_other() {
        let sources = [("a/mod.rs", "use crate::b;"), ("a/c.rs", ""), ("b.rs", "use crate::a::c;")];
        let found = faults(&[&["a", "b"]], &sources);
        assert_eq!(
            found,
            ["house: a uses b, which is beside it", "house: b uses a, which is beside it"]
        );
    }

    #[test]
    fn modules_of_one_room_use_each_other() {
        let sources =
            [("a.rs", "use crate::b;"), ("b.rs", "use crate::a;"), ("c.rs", "use crate::b;")];
        let found = faults(&[&["a + b", "c"]], &sources);
        assert_eq!(found, ["house: c uses b, which is beside it"]);
    }

    #[test]
    fn what_is_below_may_be_used_and_tests_may_use_all() {
        let test = "use crate::cellar; #[cfg(test)] mod tests { use crate::roof; }";
        let sources = [("roof.rs", "use crate::hall;"), ("hall.rs", test), ("cellar.rs", "")];
        assert!(faults(&[&["roof"], &["hall"], &["cellar"]], &sources).is_empty());
    }

    #[test]
    fn each_module_has_a_floor_and_each_floor_its_modules() {
        let found = faults(&[&["roof"]], &[("hall/mod.rs", ""), ("hall/door.rs", "")]);
        assert_eq!(found, ["house: module hall has no floor", "house: there is no module roof"]);
    }

    #[test]
    fn the_modules_of_a_folder_without_a_place_have_their_own() {
        let faults_of = |hall: &str| {
            let files = [("wing/mod.rs", "pub mod hall;"), ("wing/hall.rs", hall), ("roof.rs", "")];
            faults(&[&["roof"], &["hall"]], &files)
        };
        assert!(faults_of("").is_empty());
        for upward in ["use crate::roof;", "use super::roof;"] {
            assert_eq!(faults_of(upward), ["house: hall uses roof, which is above it"], "{upward}");
        }
        let around = faults_of("use crate::wing::hall;");
        assert_eq!(around, ["house: hall uses the folder wing, not a module in it"]);
    }

    #[test]
    fn a_crate_that_uses_one_above_it_is_found() {
        let found =
            [("lockwright-ledger", "lockwright-cli"), ("lockwright-new", "lockwright-ledger")];
        let found = found.map(|(name, used)| (name.to_owned(), BTreeSet::from([used.to_owned()])));
        let faults = crates(&BTreeMap::from(found));
        assert_eq!(
            faults,
            [
                "crate lockwright-new: has no place in the plan",
                "crate lockwright-ledger: may not use lockwright-cli",
            ]
        );
    }
}
