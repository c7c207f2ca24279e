//! Which modules of its crate a file of Rust names: by its tokens, as macros are no syntax tree.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The outermost modules of the crate that `text` names by `crate::` or `super::`, not in its
/// tests. `module` is its own, outermost first.
///
/// # Errors
/// When it is no Rust.
pub fn used(text: &str, module: &[String]) -> Result<BTreeSet<String>, String> {
    let tokens: TokenStream = text.parse().map_err(|e| format!("{e}"))?;
    let mut found = BTreeSet::new();
    scan(tokens, module, &mut found);
    Ok(found)
}

fn scan(tokens: TokenStream, module: &[String], found: &mut BTreeSet<String>) {
    let tokens = without_tests(tokens);
    let mut at = 0;
    while at < tokens.len() {
        match (&tokens[at], tokens.get(at + 1), tokens.get(at + 2)) {
            (word, Some(TokenTree::Ident(name)), Some(TokenTree::Group(body)))
                if is_word(word, "mod") && body.delimiter() == Delimiter::Brace =>
            {
                let inner = [module, &[name.to_string()]].concat();
                scan(body.stream(), &inner, found);
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

/// The tokens that are not of an item which is for tests alone. Groups stand as they are.
pub fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_test(&tokens, at) {
            at = after_item(&tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// `#[cfg(test)]` stands here, or `#[cfg(all(test, ...))]`.
fn is_test(tokens: &[TokenTree], at: usize) -> bool {
    let Some(TokenTree::Group(attribute)) = tokens.get(at + 1) else { return false };
    let attribute = attribute.stream().to_string().replace(' ', "");
    is_mark(&tokens[at], '#')
        && ["cfg(test", "cfg(all(test"].iter().any(|test| attribute.starts_with(test))
}

/// Behind the item that begins here.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_end = |token: &TokenTree| {
        is_mark(token, ';')
            || matches!(token, TokenTree::Group(body) if body.delimiter() == Delimiter::Brace)
    };
    tokens[at..].iter().position(is_end).map_or(tokens.len(), |len| at + len + 1)
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

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if *ident == word)
}

pub fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    tokens.len() > at + 1 && is_mark(&tokens[at], ':') && is_mark(&tokens[at + 1], ':')
}
