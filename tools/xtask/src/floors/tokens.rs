//! The tokens of a file of Rust. Checks read tokens and not a syntax tree, because a macro has no tree.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

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
    if !is_mark(&tokens[at], '#') {
        return false;
    }
    let mut attribute = attribute.stream().into_iter();
    let Some(TokenTree::Group(condition)) =
        attribute.next().filter(|token| is_word(token, "cfg")).and_then(|_| attribute.next())
    else {
        return false;
    };
    let condition = condition.to_string().replace(' ', "");
    ["(test", "(all(test"].iter().any(|test| condition.starts_with(test))
}

/// Behind the item that begins here.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_end = |token: &TokenTree| is_mark(token, ';') || braces(Some(token)).is_some();
    tokens[at..].iter().position(is_end).map_or(tokens.len(), |len| at + len + 1)
}

pub fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if *ident == word)
}

pub fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// `::` stands here.
pub fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    tokens.len() > at + 1 && is_mark(&tokens[at], ':') && is_mark(&tokens[at + 1], ':')
}

/// The name that stands here.
pub fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// What the braces that stand here hold.
pub fn braces(token: Option<&TokenTree>) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => Some(body.stream()),
        _ => None,
    }
}
