//! Which file uses which: each name that the code of a module has, followed to the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Name, Tree};

/// For each file and a file that it uses: the items that it uses.
pub type Uses = BTreeMap<(usize, usize), BTreeSet<String>>;

pub fn uses(tree: &Tree) -> Uses {
    let mut uses = Uses::new();
    for (at, module) in tree.modules.iter().enumerate() {
        let mut add = |item: String, files: BTreeSet<usize>| {
            for file in files.into_iter().filter(|file| *file != module.file) {
                uses.entry((module.file, file)).or_default().insert(item.clone());
            }
        };
        for path in &module.imports {
            let item = path.last().cloned().unwrap_or_default();
            add(item, tree.resolve(at, path).files);
        }
        for place in &module.places {
            let macros = if place.is_macro { tree.macros(&place.path) } else { BTreeSet::new() };
            let found =
                if macros.is_empty() { tree.resolve(at, &place.path).files } else { macros };
            add(tree.item(at, &place.path), found);
        }
    }
    uses
}

/// What a path names.
#[derive(Default)]
struct Found {
    files: BTreeSet<usize>,
    modules: BTreeSet<usize>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.modules.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.modules.extend(other.modules);
    }
}

/// The names that are being looked up: an import can lead back to itself.
type Pending = Vec<(usize, String)>;

impl Tree {
    /// The file of a macro that is in scope by the order of the text, or exported.
    fn macros(&self, path: &[String]) -> BTreeSet<usize> {
        let name = match path {
            [name] => name,
            [root, name] if root == "crate" => name,
            _ => return BTreeSet::new(),
        };
        match self.macros.get(name) {
            Some(files) if files.len() == 1 => BTreeSet::from([files[0]]),
            _ => BTreeSet::new(),
        }
    }

    fn resolve(&self, module: usize, path: &[String]) -> Found {
        self.path(module, path, &mut Pending::new())
    }

    /// How a reader finds the item of a path: by its first name, or behind a module by all.
    fn item(&self, module: usize, path: &[String]) -> String {
        let is_item = self.resolve(module, &path[..1]).modules.is_empty();
        let is_relative = ["crate", "self", "super"].contains(&path[0].as_str());
        if is_item && !is_relative { path[0].clone() } else { path.join("::") }
    }

    /// What a path in a module names; nothing if it is not of this crate.
    fn path(&self, module: usize, path: &[String], pending: &mut Pending) -> Found {
        let Some((head, rest)) = path.split_first() else { return Found::default() };
        let here = &self.modules[module];
        match head.as_str() {
            "crate" | "self" if rest.is_empty() => Found::default(),
            "crate" => self.inside(here.root, rest, pending),
            "self" => self.inside(module, rest, pending),
            "super" => {
                let mut outer = here.parent.unwrap_or(module);
                let mut rest = rest;
                while rest.first().is_some_and(|next| next == "super") {
                    outer = self.modules[outer].parent.unwrap_or(outer);
                    rest = &rest[1..];
                }
                self.inside(outer, rest, pending)
            }
            _ => {
                let found = self.lookup(module, head, pending);
                self.rest(found, rest, pending)
            }
        }
    }

    /// What a path names that goes on behind a module.
    fn inside(&self, module: usize, path: &[String], pending: &mut Pending) -> Found {
        let Some((name, rest)) = path.split_first() else {
            return Found { modules: BTreeSet::from([module]), ..Found::default() };
        };
        let mut found = self.lookup(module, name, pending);
        if found.is_empty() && !self.modules[module].names.contains_key(name) {
            // A macro makes it.
            found.files.insert(self.modules[module].file);
        }
        self.rest(found, rest, pending)
    }

    fn rest(&self, found: Found, rest: &[String], pending: &mut Pending) -> Found {
        if rest.is_empty() || found.modules.is_empty() {
            return found;
        }
        let mut all = Found::default();
        for module in found.modules {
            all.add(self.inside(module, rest, pending));
        }
        all
    }

    /// What a name in a module stands for.
    fn lookup(&self, module: usize, name: &str, pending: &mut Pending) -> Found {
        let key = (module, name.to_owned());
        let mut found = Found::default();
        if pending.contains(&key) {
            return found;
        }
        pending.push(key);
        let here = &self.modules[module];
        for name in here.names.get(name).into_iter().flatten() {
            match name {
                Name::Item => found.files.extend([here.file]),
                Name::Module(inner) => found.modules.extend([*inner]),
                Name::Import(path) => found.add(self.path(module, path, pending)),
            }
        }
        if found.is_empty() && !here.names.contains_key(name) {
            for glob in &here.globs {
                for inner in self.path(module, glob, pending).modules {
                    found.add(self.lookup(inner, name, pending));
                }
            }
        }
        pending.pop();
        found
    }
}
