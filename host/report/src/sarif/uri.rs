//! Paths as URIs (RFC 3986).

use std::fmt::Write;

/// A path in the form of an URI's: `/a b` is `/a%20b`.
pub fn path(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for &byte in path.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

/// An absolute path as an URI; a relative one as a reference.
pub fn file(name: &str) -> String {
    if name.starts_with('/') { format!("file://{}", path(name)) } else { path(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_escaped() {
        assert_eq!(file("/src/a.c"), "file:///src/a.c");
        assert_eq!(file("/src/größe #1%.c"), "file:///src/gr%C3%B6%C3%9Fe%20%231%25.c");
        assert_eq!(file("a b/c:d.c"), "a%20b/c%3Ad.c");
    }
}
