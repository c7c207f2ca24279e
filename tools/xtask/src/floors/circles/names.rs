//! What code names: paths, and the trees of imports.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::floors::tokens::{is_colons, is_mark, is_word, word};

/// A path in code.
pub struct Place {
    pub path: Vec<String>,
    /// A macro is called.
    pub is_macro: bool,
}

/// One name that `use` imports; `*` for all names of a module.
pub struct Import {
    pub name: String,
    pub path: Vec<String>,
}

/// The path that begins here, if it can name an item, and where it ends.
pub fn place(tokens: &[TokenTree], at: usize) -> (Option<Place>, usize) {
    let before = |n: usize, mark| at >= n && is_mark(&tokens[at - n], mark);
    // A member, a lifetime, a variable of a macro, or a path that does not begin here.
    let is_member = before(1, '.') && !before(2, '.');
    let is_none =
        is_member || before(1, '\'') || before(1, '$') || before(1, ':') && before(2, ':');
    let is_none = is_none && !(before(1, '$') && is_word(&tokens[at], "crate"));
    let mut path: Vec<String> = word(tokens.get(at)).into_iter().collect();
    let mut end = at + 1;
    while is_colons(tokens, end)
        && let Some(next) = word(tokens.get(end + 2))
    {
        path.push(next);
        end += 3;
    }
    let is_field = path.len() == 1
        && tokens.get(end).is_some_and(|next| is_mark(next, ':'))
        && !is_colons(tokens, end);
    let is_macro = tokens.get(end).is_some_and(|next| is_mark(next, '!'))
        && matches!(tokens.get(end + 1), Some(TokenTree::Group(_)));
    let place = (!is_none && !is_field).then_some(Place { path, is_macro });
    (place, end)
}

/// What stands between `use` and `;` imports.
pub fn imports(tokens: &[TokenTree]) -> Vec<Import> {
    let mut found = Vec::new();
    tree(tokens, &[], &mut found);
    found
}

fn tree(tokens: &[TokenTree], prefix: &[String], found: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(ident) if *ident == "as" => {
                name = word(tokens.get(at + 1));
                at += 1;
            }
            // In braces, `self` is what stands before them.
            TokenTree::Ident(ident) if *ident == "self" && !prefix.is_empty() => {}
            TokenTree::Ident(ident) => path.push(ident.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return each(group.stream(), &path, found);
            }
            mark if is_mark(mark, '*') => name = Some("*".to_owned()),
            _ => {}
        }
        at += 1;
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        found.push(Import { name, path });
    }
}

fn each(names: TokenStream, prefix: &[String], found: &mut Vec<Import>) {
    let tokens: Vec<TokenTree> = names.into_iter().collect();
    for one in tokens.split(|token| is_mark(token, ',')).filter(|one| !one.is_empty()) {
        tree(one, prefix, found);
    }
}
