//! Short names of locks that the program has no name for: in the text of one finding they are `lock
//! A` and `lock B`, and said once is which is which. Their descriptions fill lines, and two of them
//! may differ in an address only.

use lockwright_analysis::finding::lock_kind::Subject;
use lockwright_analysis::finding::{Finding, Name};

use super::words::quote;

/// The letters that stand for locks; a finding with more locks uses their descriptions.
const LETTERS: std::ops::RangeInclusive<char> = 'A'..='Z';

/// The short names of one finding.
#[derive(Debug, Default)]
pub struct ShortNames {
    /// A lock's name in sentences, and its short name; in order of the names.
    names: Vec<(String, String)>,
}

impl ShortNames {
    /// The short names of the locks of `finding` whose names are descriptions.
    pub fn new(finding: &Finding) -> Self {
        let mut names: Vec<(String, String)> = Vec::new();
        for (index, lock) in finding.locks.iter().enumerate() {
            // The names of several locks of one member differ in an address only.
            let is_one_of_many = lock.class_by_place.is_some() && lock.name != lock.class;
            let is_nameless = !lock.name.is_symbol || is_one_of_many;
            if !is_nameless
                || !matches!(lock.kind, Subject::Lock(_))
                || (lock.addr.is_none() && is_within_class(finding, index))
            {
                continue;
            }
            let long = quote(&lock.name);
            if names.iter().any(|(known, _)| *known == long) {
                continue;
            }
            let Some(letter) = LETTERS.clone().nth(names.len()) else { return Self::default() };
            names.push((long, format!("lock {letter}")));
        }
        Self { names }
    }

    /// No lock has one.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// One lock has one, so a sentence with its description is not too long.
    pub fn is_single(&self) -> bool {
        self.names.len() == 1
    }

    /// The short name of a lock.
    pub fn get(&self, name: &Name) -> Option<&str> {
        let long = quote(name);
        self.names.iter().find(|(known, _)| *known == long).map(|(_, short)| short.as_str())
    }

    /// The name of a lock in a sentence.
    pub fn quote(&self, name: &Name) -> String {
        self.get(name).map_or_else(|| quote(name), str::to_owned)
    }

    /// A sentence with the short names in it.
    pub fn shortened(&self, sentence: &str) -> String {
        let mut text = String::with_capacity(sentence.len());
        let mut rest = sentence;
        while let Some(c) = rest.chars().next() {
            // One may be the beginning of another.
            let here = self.names.iter().filter(|(long, _)| is_whole(rest, long));
            match here.max_by_key(|(long, _)| long.len()) {
                Some((long, short)) => {
                    text += short;
                    rest = &rest[long.len()..];
                }
                None => {
                    text.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        text
    }
}

/// Whether two locks of the class `lock` are taken inside each other: both have its name, and one
/// letter would make them one lock.
fn is_within_class(finding: &Finding, lock: usize) -> bool {
    let is_it = |of: usize| of == lock;
    finding
        .steps
        .iter()
        .any(|step| is_it(step.lock) && step.held.iter().any(|held| held.lock.is_some_and(is_it)))
}

/// Whether `text` begins with the name `long`, and not with that of one lock of the class that
/// `long` names.
fn is_whole(text: &str, long: &str) -> bool {
    text.strip_prefix(long).is_some_and(|rest| !rest.starts_with(" at 0x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(long: &[&str]) -> ShortNames {
        let pair = |(long, letter): (&&str, char)| ((*long).to_owned(), format!("lock {letter}"));
        ShortNames { names: long.iter().zip(LETTERS).map(pair).collect() }
    }

    #[test]
    fn sentences_have_short_names() {
        let names = names(&["the mutex of a.c:1 (f) at 0x10", "the mutex of a.c:1 (f) at 0x108"]);
        assert_eq!(
            names.shortened(
                "the mutex of a.c:1 (f) at 0x108 and the mutex of a.c:1 (f) at 0x10 meet"
            ),
            "lock B and lock A meet"
        );
        assert_eq!(names.shortened("`the mutex`"), "`the mutex`");
    }

    #[test]
    fn a_class_is_none_of_its_locks() {
        let names = names(&["the mutex of a.c:1 (f)"]);
        let sentence = "the mutex of a.c:1 (f) at 0x10 and the mutex of a.c:1 (f)";
        assert_eq!(names.shortened(sentence), "the mutex of a.c:1 (f) at 0x10 and lock A");
    }
}
