//! The kinds as SARIF's rules, with the text of docs/report-kinds.md.

use serde::Serialize;

use super::message::Message;
use crate::kinds_page::section;
use lockwright_analysis::finding::Kind;

/// reportingDescriptor (3.49).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    id: &'static str,
    name: String,
    short_description: Message,
    full_description: Message,
    help: Message,
}

/// All kinds, in the order of [`Kind::ALL`].
pub fn all() -> Vec<Descriptor> {
    Kind::ALL.iter().copied().map(descriptor).collect()
}

/// The place of a kind among [`all`].
pub fn index(kind: Kind) -> usize {
    Kind::ALL.iter().position(|&known| known == kind).expect("Kind::ALL has every kind")
}

fn descriptor(kind: Kind) -> Descriptor {
    let id = kind.name();
    let section = section(id).unwrap_or_default();
    let first = section.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let sentence = first.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned();
    Descriptor {
        id,
        name: name(id),
        short_description: Message::new(sentence),
        full_description: Message::new(first),
        help: Message::new(section),
    }
}

/// An identifier for people (3.49.7). It differs from the id by more than case, as validators want.
fn name(id: &str) -> String {
    let name: String = id.split('-').map(capitalised).collect();
    if id.contains('-') { name } else { name + "Lock" }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_text() {
        for (i, rule) in all().iter().enumerate() {
            assert_eq!(index(Kind::ALL[i]), i);
            assert!(
                rule.short_description.text.ends_with(['.', ':']),
                "{}",
                rule.short_description.text
            );
            assert!(
                rule.help.text.starts_with(&rule.short_description.text[..10]),
                "{}",
                rule.help.text
            );
            assert!(!rule.help.text.contains("<!--") && !rule.help.text.contains("###"));
        }
        let cycle = descriptor(Kind::CircularDependency);
        assert_eq!(cycle.name, "CircularDependency");
        assert_eq!(descriptor(Kind::Unpinned).name, "UnpinnedLock");
        let short =
            "Locks are taken in orders that form a cycle: the classic AB-BA and all longer ones.";
        assert_eq!(cycle.short_description.text, short);
        assert!(cycle.help.text.contains("What to do"));
    }
}
