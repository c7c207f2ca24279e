//! Which lock classes of different processes are the same: those of locks created at one place of
//! the program.
//!
//! Within one build (the same build id) three things match classes: the variable's place in the
//! module, the call that initialised or first took a lock, or an annotated name. Between builds,
//! variables are matched by module and name, if each build has but
//! one of that name; places by function, file and line. Never by run-time addresses.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Module, Node};

use crate::across::processes::Processes;
use crate::model::{ClassKey, Model};

/// The classes of all processes, numbered from 1.
pub struct Classes {
    /// By ledger and its own merged class.
    by_ledger: Vec<HashMap<u32, u32>>,
    /// By class: some of its variables were matched by name alone.
    by_name: HashSet<u32>,
    /// By class: not the one lock that a variable is.
    several: HashSet<u32>,
    count: u64,
}

/// A variable's class by its names: module, variable, kind of the lock.
type Name = (String, String, u8);

impl Classes {
    pub(super) fn new(all: &Processes<'_, '_>) -> Self {
        let mut keys: Vec<HashMap<u32, ClassKey>> = Vec::new();
        let mut names: HashMap<ClassKey, Name> = HashMap::new();
        for model in all.models {
            let builds = builds(model);
            let build = |path: &str| builds.get(path).cloned().unwrap_or_else(|| path.to_owned());
            let mut own = HashMap::new();
            for (group, class) in model.classes.plain_groups() {
                let by_path = model.classes.key(group);
                let path = by_path.variables_module().map(str::to_owned);
                let key = by_path.in_module(build);
                if let Some(path) = path {
                    let module = path.rsplit('/').next().unwrap_or(&path).to_owned();
                    // A place in a module without symbols is a name of one build only.
                    if !class.name.starts_with(&format!("{module}+0x")) {
                        names.insert(key.clone(), (module, class.name.clone(), class.kind));
                    }
                }
                own.insert(group, key);
            }
            keys.push(own);
        }
        let arrays = arrays(&keys, &names);
        for key in keys.iter_mut().flat_map(HashMap::values_mut) {
            let whole = key.clone().whole_variable();
            if arrays.contains(&whole) {
                if let Some(name) = names.get(key).cloned() {
                    names.entry(whole.clone()).or_insert(name);
                }
                *key = whole;
            }
        }
        let joined = joined(&keys, &names);
        let mut ids: HashMap<&ClassKey, u32> = HashMap::new();
        let (mut by_name, mut several) = (HashSet::new(), HashSet::new());
        let mut by_ledger = Vec::new();
        let mut count = 0;
        for (own, model) in keys.iter().zip(all.models) {
            let mut groups: Vec<_> = own.iter().collect();
            groups.sort_unstable_by_key(|(group, _)| **group);
            let mut classes = HashMap::new();
            for (&group, key) in groups {
                let first = joined.get(key).copied();
                let id = *ids.entry(first.unwrap_or(key)).or_insert_with(|| {
                    count += 1;
                    count
                });
                if first.is_some() {
                    by_name.insert(id);
                }
                let class = model.classes.plain(group);
                let is_element = key.member() == Some(true);
                if !class.is_static || class.locks > 1 || is_element || arrays.contains(key) {
                    several.insert(id);
                }
                classes.insert(group, id);
            }
            by_ledger.push(classes);
        }
        Self { by_ledger, by_name, several, count: count.into() }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// The class of what a node is about, if that is known to be a lock.
    pub fn lock(&self, ledger: usize, model: &Model<'_>, node: &Node) -> Option<u32> {
        let group = model.classes.group_of(node.class);
        let is_lock = model.classes.excludes(node.class) && !model.classes.is_mixed(node.class);
        self.by_ledger[ledger].get(&group).copied().filter(|_| is_lock)
    }

    /// Whether the class is one variable that is a lock, so that a process has but one of it.
    pub fn is_single(&self, class: u32) -> bool {
        !self.several.contains(&class)
    }

    /// Whether variables of different builds were taken for one class because they have one name.
    pub fn is_by_name(&self, class: u32) -> bool {
        self.by_name.contains(&class)
    }
}

/// The variables that are arrays of locks: one process saw that, or several saw different elements.
fn arrays(keys: &[HashMap<u32, ClassKey>], names: &HashMap<ClassKey, Name>) -> HashSet<ClassKey> {
    let mut places: HashMap<ClassKey, HashSet<&ClassKey>> = HashMap::new();
    for key in keys.iter().flat_map(HashMap::values) {
        // What a type says is known.
        if key.variables_module().is_some() && key.member().is_none() {
            places.entry(key.clone().whole_variable()).or_default().insert(key);
        }
    }
    // What can only be a member of a structure is called `variable+0x28`.
    let is_element =
        |key: &&ClassKey| names.get(key).is_some_and(|(_, name, _)| !name.contains("+0x"));
    places.retain(|whole, places| {
        places.contains(whole) || (places.len() > 1 && places.iter().all(is_element))
    });
    places.into_keys().collect()
}

/// The keys of variables that are one class by name, each with the one that stands for all. Each
/// build has but one of them.
fn joined<'k>(
    keys: &'k [HashMap<u32, ClassKey>],
    names: &HashMap<ClassKey, Name>,
) -> HashMap<&'k ClassKey, &'k ClassKey> {
    let mut by_name: HashMap<&Name, Vec<&ClassKey>> = HashMap::new();
    let mut all: Vec<&ClassKey> = keys
        .iter()
        .flat_map(|own| {
            let mut groups: Vec<_> = own.iter().collect();
            groups.sort_unstable_by_key(|(group, _)| **group);
            groups.into_iter().map(|(_, key)| key)
        })
        .collect();
    let mut seen = HashSet::new();
    all.retain(|key| seen.insert(*key));
    for key in all {
        if let Some(name) = names.get(key) {
            by_name.entry(name).or_default().push(key);
        }
    }
    let mut joined = HashMap::new();
    for same in by_name.into_values() {
        let builds: HashSet<_> = same.iter().map(|key| key.variables_module()).collect();
        if same.len() > 1 && builds.len() == same.len() {
            joined.extend(same.iter().map(|&key| (key, same[0])));
        }
    }
    joined
}

/// Build ids of a process's modules in hexadecimal, by path.
fn builds(model: &Model<'_>) -> HashMap<String, String> {
    let rows = model.ledger.rows::<Module>();
    rows.filter_map(|(_, module)| {
        let id: String = model
            .ledger
            .raw_text(module.build_id)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        (!id.is_empty()).then(|| (model.ledger.text(module.path), id))
    })
    .collect()
}
