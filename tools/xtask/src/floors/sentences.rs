//! Which strings of a file of Rust are sentences: those belong where all sentences are made.

use proc_macro2::{TokenStream, TokenTree};

use super::tokens::{is_mark, without_tests};

/// Words that make a sentence. Names and descriptions of locks are shorter.
const WORDS: usize = 8;

/// The sentences that a file has in strings, not in its tests, documentation or attributes.
pub fn sentences(tokens: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    scan(tokens.clone(), &mut found);
    found
}

fn scan(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens = without_tests(tokens);
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            // Attributes, of which documentation is one: `#[...]` or `#![...]`.
            mark if is_mark(mark, '#') => {
                at += 1 + usize::from(tokens.get(at + 1).is_some_and(|next| is_mark(next, '!')));
            }
            TokenTree::Group(group) => scan(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') && words(&text) >= WORDS {
                    found.push(text);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// How many parts of a string, set apart by spaces, are of letters alone.
fn words(text: &str) -> usize {
    let is_word = |part: &&str| part.chars().all(|c| c.is_ascii_alphabetic());
    let parts = text.split([' ', '"', ',', '.', ':', ';', '\'', '\\', '\n']);
    parts.filter(|part| !part.is_empty()).filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_found_and_a_name_is_not() {
        let text = r#"
            //! This is what the file is about, in more than so many words.
            #[doc = "and this is what an item of it is about in words"]
            fn f() -> String {
                format!("{n} threads wait for each other in a cycle of {locks}")
            }
            fn g() -> &'static str { "condition variable attributes object" }
            #[cfg(test)]
            mod tests { fn h() { panic!("a test may say whatever it wants to who reads it"); } }
        "#;
        let found = sentences(&text.parse().unwrap());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("wait for each other"));
    }
}
