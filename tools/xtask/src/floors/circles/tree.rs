//! The modules of a crate: which file has each, and which names it defines, imports and uses.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

use crate::floors::sources::Source;
use crate::floors::tokens::{braces, is_mark, is_word, without_tests, word};

use super::names::{self, Place};

/// Words that an item's name follows.
const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mut"];
/// Words between the first word of an item and the one that its name follows.
const QUALIFIERS: [&str; 5] = ["fn", "unsafe", "extern", "async", "mut"];

/// What a name in a module stands for.
pub enum Name {
    Item,
    Module(usize),
    Import(Vec<String>),
}

pub struct Module {
    pub file: usize,
    pub parent: Option<usize>,
    pub root: usize,
    pub names: BTreeMap<String, Vec<Name>>,
    /// The modules of which it imports all names.
    pub globs: Vec<Vec<String>>,
    /// Its imports that are for itself alone.
    pub imports: Vec<Vec<String>>,
    /// The paths in its code.
    pub places: Vec<Place>,
}

#[derive(Default)]
pub struct Tree {
    pub files: Vec<String>,
    pub modules: Vec<Module>,
    /// The files that define each macro.
    pub macros: BTreeMap<String, Vec<usize>>,
}

impl Tree {
    pub fn new(sources: &[Source]) -> Self {
        let mut tree = Self::default();
        for root in sources.iter().filter(|source| source.module.is_empty()) {
            tree.read(sources, root, None);
        }
        tree
    }

    /// Reads a file, and the files of the modules that it declares.
    fn read(&mut self, sources: &[Source], source: &Source, parent: Option<usize>) -> usize {
        self.files.push(source.file.clone());
        let module = self.add(self.files.len() - 1, parent);
        self.items(sources, &source.module, module, source.tokens.clone());
        module
    }

    fn add(&mut self, file: usize, parent: Option<usize>) -> usize {
        let at = self.modules.len();
        let root = parent.map_or(at, |parent| self.modules[parent].root);
        self.modules.push(Module {
            file,
            parent,
            root,
            names: BTreeMap::new(),
            globs: Vec::new(),
            imports: Vec::new(),
            places: Vec::new(),
        });
        at
    }

    /// Reads the items of a module, which `path` names.
    fn items(&mut self, sources: &[Source], path: &[String], module: usize, tokens: TokenStream) {
        let tokens = without_tests(tokens);
        let mut at = 0;
        while at < tokens.len() {
            let name = word(tokens.get(at + 1));
            let body = braces(tokens.get(at + 2));
            match (&tokens[at], name) {
                (token, Some(name)) if is_word(token, "mod") => {
                    let path = [path, std::slice::from_ref(&name)].concat();
                    let inner = if let Some(body) = body {
                        let inner = self.add(self.modules[module].file, Some(module));
                        self.items(sources, &path, inner, body);
                        Some(inner)
                    } else {
                        let source = sources.iter().find(|source| source.module == path);
                        source.map(|source| self.read(sources, source, Some(module)))
                    };
                    if let Some(inner) = inner {
                        self.define(module, name, Name::Module(inner));
                    }
                    at += 3;
                }
                (token, Some(name)) if is_item(&tokens, at, token, &name) => {
                    self.define(module, name, Name::Item);
                    at += 2;
                }
                (token, None) if is_word(token, "extern") && body.is_some() => {
                    self.items(sources, path, module, body.unwrap_or_default());
                    at += 3;
                }
                _ => at = self.code(&tokens, at, module),
            }
        }
    }

    /// Reads one step of code that defines no name of the module; gives where it ends.
    fn code(&mut self, tokens: &[TokenTree], at: usize, module: usize) -> usize {
        match &tokens[at] {
            // Attributes, of which documentation is one: `#[...]` or `#![...]`.
            mark if is_mark(mark, '#') => {
                let inner = tokens.get(at + 1).is_some_and(|next| is_mark(next, '!'));
                at + 2 + usize::from(inner)
            }
            token if is_word(token, "use") => self.import(tokens, at, module),
            // `pub(in crate::module)`: what is named is not used.
            token if is_word(token, "pub") => {
                at + 1 + usize::from(matches!(tokens.get(at + 1), Some(TokenTree::Group(_))))
            }
            token if is_word(token, "macro_rules") => {
                if let Some(name) = word(tokens.get(at + 2)) {
                    let file = self.modules[module].file;
                    self.macros.entry(name.clone()).or_default().push(file);
                    self.define(module, name, Name::Item);
                }
                at + 3
            }
            TokenTree::Group(group) => {
                self.body(group.stream(), module);
                at + 1
            }
            TokenTree::Ident(_) => {
                let (place, end) = names::place(tokens, at);
                self.modules[module].places.extend(place);
                end
            }
            _ => at + 1,
        }
    }

    /// Reads what stands in brackets or braces.
    fn body(&mut self, tokens: TokenStream, module: usize) {
        let tokens = without_tests(tokens);
        let mut at = 0;
        while at < tokens.len() {
            let name = word(tokens.get(at + 1));
            at = match name {
                Some(name) if is_item(&tokens, at, &tokens[at], &name) => at + 2,
                _ => self.code(&tokens, at, module),
            };
        }
    }

    /// Reads `use`, with what stands before it; gives where it ends.
    fn import(&mut self, tokens: &[TokenTree], at: usize, module: usize) -> usize {
        let end = tokens[at..].iter().position(|token| is_mark(token, ';'));
        let Some(end) = end.map(|len| at + len) else { return at + 1 };
        let shared = match at.checked_sub(1).map(|before| &tokens[before]) {
            Some(TokenTree::Group(_)) => at > 1 && is_word(&tokens[at - 2], "pub"),
            Some(token) => is_word(token, "pub"),
            None => false,
        };
        for import in names::imports(&tokens[at + 1..end]) {
            if import.name == "*" {
                self.modules[module].globs.push(import.path);
                continue;
            }
            if !shared {
                self.modules[module].imports.push(import.path.clone());
            }
            self.define(module, import.name, Name::Import(import.path));
        }
        end + 1
    }

    fn define(&mut self, module: usize, name: String, what: Name) {
        self.modules[module].names.entry(name).or_default().push(what);
    }
}

/// `fn name` stands here, or the like of another item: not `*const name`, `&mut name` or `&'static name`.
fn is_item(tokens: &[TokenTree], at: usize, token: &TokenTree, name: &str) -> bool {
    let before = |n: usize, is: &dyn Fn(&TokenTree) -> bool| at >= n && is(&tokens[at - n]);
    let is_lifetime = |n| before(n, &|token| is_mark(token, '\''));
    let is_pointer = before(1, &|token| is_mark(token, '*') || is_word(token, "raw"));
    let is_static = before(1, &|token| is_word(token, "static")) && !is_lifetime(2);
    ITEMS.iter().any(|item| is_word(token, item))
        && !QUALIFIERS.contains(&name)
        && !is_lifetime(1)
        && !is_pointer
        && (is_static || !is_word(token, "mut"))
}
