//! Sentences and names in markup.

use maud::{Markup, html};

use crate::prose::words::plain;
use crate::text::stack::shorten;

/// A sentence of the report's: what it quotes is set as code.
pub fn sentence(text: &str) -> Markup {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    // A lone quote is one of the program's own letters.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A name of the program's, in the type of code, or a description of what has none.
pub fn name_of(name: &str, is_symbol: bool) -> Markup {
    let name = shorten(&plain(name));
    if is_symbol {
        html! { code { (name) } }
    } else {
        html! { (name) }
    }
}

/// A short form of a path that is shown in full elsewhere: its last two parts, or only the last if
/// the other is long.
pub fn short_path(path: &str) -> &str {
    const LONG: usize = 40;
    let mut slashes = path.rmatch_indices('/');
    match (slashes.next(), slashes.next()) {
        (Some((last, _)), Some((at, _))) if path.len() - at > LONG => &path[last + 1..],
        (Some(_), Some((at, _))) if at > 0 => &path[at + 1..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_code() {
        assert_eq!(sentence("`a<b` waits").0, "<code>a&lt;b</code> waits");
        assert_eq!(sentence("a ` b").0, "a ` b");
        assert!(!sentence("a\u{202e}b\u{1b}[1m").0.contains(['\u{202e}', '\u{1b}']));
    }

    #[test]
    fn paths_are_short() {
        assert_eq!(short_path("/usr/src/store/lru.cc"), "store/lru.cc");
        assert_eq!(short_path(&format!("/{}/lru.cc", "store".repeat(9))), "lru.cc");
        assert_eq!(short_path("/lru.cc"), "/lru.cc");
        assert_eq!(short_path("lru.cc"), "lru.cc");
    }
}
