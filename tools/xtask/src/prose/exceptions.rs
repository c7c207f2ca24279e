//! The list of exceptions: how many faults each text still has. Its numbers may only go down.

use std::collections::BTreeMap;
use std::fmt;

use super::hit::Hit;

/// Counts of faults by text and rule. As text: a line each, of the text's name, the rule and the count.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exceptions(BTreeMap<(String, String), usize>);

impl Exceptions {
    /// # Errors
    /// When a line has not the three parts.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut counts = BTreeMap::new();
        for line in list.lines() {
            let parts = || {
                let (rest, count) = line.rsplit_once(' ')?;
                let (text, rule) = rest.rsplit_once(' ')?;
                Some(((text.to_owned(), rule.to_owned()), count.parse().ok()?))
            };
            let (key, count) =
                parts().ok_or_else(|| format!("{line:?} is not a text, a rule and a count"))?;
            counts.insert(key, count);
        }
        Ok(Self(counts))
    }

    pub fn count(hits: &[Hit]) -> Self {
        let mut counts = BTreeMap::new();
        for hit in hits {
            *counts.entry((hit.text.clone(), hit.rule.to_owned())).or_default() += 1;
        }
        Self(counts)
    }

    /// Zero if it is not listed.
    pub fn get(&self, text: &str, rule: &str) -> usize {
        self.0.get(&(text.to_owned(), rule.to_owned())).copied().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.0.iter().map(|((text, rule), count)| (text.as_str(), rule.as_str(), *count))
    }

    /// This list with each count lowered to what was found; no count rises.
    pub fn lowered(&self, hits: &[Hit]) -> Self {
        let found = Self::count(hits);
        let lower = self.iter().map(|(text, rule, count)| {
            ((text.to_owned(), rule.to_owned()), count.min(found.get(text, rule)))
        });
        Self(lower.filter(|(_, count)| *count > 0).collect())
    }
}

impl fmt::Display for Exceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(text, rule, count)| writeln!(f, "{text} {rule} {count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(text: &str, rule: &'static str) -> Hit {
        Hit { text: text.to_owned(), line: 1, rule, quote: String::new(), advice: "" }
    }

    #[test]
    fn a_name_may_have_spaces() {
        let list = "lockwright check --help anew 2\nx.md whom 1\n";
        let parsed = Exceptions::parse(list).unwrap();
        assert_eq!(parsed.get("lockwright check --help", "anew"), 2);
        assert_eq!(parsed.to_string(), list);
        assert!(Exceptions::parse("x.md anew\n").is_err());
    }

    #[test]
    fn a_count_goes_down_and_never_up() {
        let listed = Exceptions::parse("a.md anew 3\nb.md whom 1\n").unwrap();
        let hits = [hit("a.md", "anew"), hit("c.md", "anew")];
        assert_eq!(listed.lowered(&hits).to_string(), "a.md anew 1\n");
    }
}
