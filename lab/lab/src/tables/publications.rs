//! The names of what was published.

/// The author, subject and year of a document, by which pages name it.
pub fn name(document: u8) -> &'static str {
    match document {
        0 => "Long's lockdep patches (2018)",
        1 => "Long's debugobjects patches (2019)",
        2 => "Hansen's BKL patches (2002)",
        3 => "Song's rwsem patch (2021)",
        4 => "Long's hybrid pvqspinlock (2017)",
        _ => "a publication",
    }
}

/// The subject of a document, by which its files are named.
pub(super) fn subject(document: u8) -> &'static str {
    match document {
        0 => "lockdep",
        1 => "debugobjects",
        2 => "bkl",
        3 => "rwsem-trylock",
        4 => "pvqspinlock",
        _ => "publication",
    }
}
