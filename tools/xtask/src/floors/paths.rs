//! Which modules of its crate a file of Rust names: by its tokens, as macros are no syntax tree.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::tokens::{braces, is_colons, is_mark, is_word, without_tests};

/// The outermost modules of the crate that `tokens` name by `crate::` or `super::`, not in their
/// tests. `module` is their own, outermost first.
pub fn used(tokens: &TokenStream, module: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    scan(tokens.clone(), module, &mut found);
    found
}

fn scan(tokens: TokenStream, module: &[String], found: &mut BTreeSet<String>) {
    let tokens = without_tests(tokens);
    let mut at = 0;
    while at < tokens.len() {
        match (&tokens[at], tokens.get(at + 1), braces(tokens.get(at + 2))) {
            (word, Some(TokenTree::Ident(name)), Some(body)) if is_word(word, "mod") => {
                let inner = [module, &[name.to_string()]].concat();
                scan(body, &inner, found);
                at += 3;
            }
            (word, ..) if is_word(word, "crate") || is_word(word, "super") => {
                at = path(&tokens, at, module, found);
            }
            (TokenTree::Group(group), ..) => {
                scan(group.stream(), module, found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// A path that begins here with `crate` or `super`; gives where it ends.
fn path(
    tokens: &[TokenTree],
    mut at: usize,
    module: &[String],
    found: &mut BTreeSet<String>,
) -> usize {
    let mut prefix = match is_word(&tokens[at], "crate") {
        true => Vec::new(),
        false => module.split_last().map_or(Vec::new(), |(_, outer)| outer.to_vec()),
    };
    at += 1;
    while is_colons(tokens, at) {
        at += 2;
        match tokens.get(at) {
            Some(word) if is_word(word, "super") => {
                prefix.pop();
                at += 1;
            }
            next => {
                tree(next, &prefix, found);
                return at + 1;
            }
        }
    }
    at
}

/// What a path goes on with behind `prefix`: a name, or several in braces.
fn tree(next: Option<&TokenTree>, prefix: &[String], found: &mut BTreeSet<String>) {
    if let Some(first) = prefix.first() {
        found.insert(first.clone());
        return;
    }
    match next {
        Some(TokenTree::Ident(name)) => {
            found.insert(name.to_string());
        }
        Some(TokenTree::Group(names)) => {
            let tokens: Vec<TokenTree> = names.stream().into_iter().collect();
            for one in tokens.split(|token| is_mark(token, ',')) {
                tree(one.first(), prefix, found);
            }
        }
        _ => {}
    }
}
