//! A rule that says which findings are known and wanted so: it matches if all its parts do.

use std::rc::Rc;

use super::identity;
use crate::finding::{Finding, Frame, Grade};
use crate::glob;
use crate::report::text::words;

/// One rule of a file. Parts that are empty match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// File that it stands in, as the user named it.
    pub file: Rc<str>,
    /// Line of its name, from 1.
    pub line: u32,
    /// What stands between the brackets: for people.
    pub name: String,
    /// Pattern of the kind.
    pub kind: Option<String>,
    /// Grades; any of them will do.
    pub grades: Vec<Grade>,
    /// Patterns of lock classes; each has to fit some lock.
    pub classes: Vec<String>,
    /// Patterns of functions; each has to fit some frame.
    pub functions: Vec<String>,
    /// Patterns of modules; each has to fit some frame.
    pub modules: Vec<String>,
    /// Stacks; each has to fit some stack.
    pub stacks: Vec<Vec<Level>>,
}

/// A line of a stack in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Any number of frames, none too: `...`.
    Ellipsis,
    /// A frame of a function that fits the pattern.
    Frame(String),
}

impl Rule {
    /// Whether the rule is about this finding.
    pub fn matches(&self, finding: &Finding) -> bool {
        let fits = |pattern: &String, name: &str| glob::matches(pattern, name);
        self.kind.as_ref().is_none_or(|kind| fits(kind, words::kind(finding.kind)))
            && (self.grades.is_empty() || self.grades.contains(&finding.grade))
            && self.classes.iter().all(|pattern| {
                let mut locks = finding.locks.iter();
                locks.any(|lock| fits(pattern, identity::class(lock)) || fits(pattern, &lock.name))
            })
            && self.functions.iter().all(|pattern| {
                stacks(finding).flatten().any(|frame| fits(pattern, &identity::frame(frame)))
            })
            && self.modules.iter().all(|pattern| {
                stacks(finding).flatten().any(|frame| {
                    let path = frame.module.as_deref().unwrap_or("?");
                    fits(pattern, path) || fits(pattern, identity::module(frame))
                })
            })
            && self.stacks.iter().all(|levels| {
                stacks(finding).any(|stack| {
                    let names: Vec<String> = stack.iter().map(identity::frame).collect();
                    begins_with(&names, levels)
                })
            })
    }

    /// Where it stands.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// All stacks of a finding: where its locks are taken, where those held were, and where they were made.
pub fn stacks(finding: &Finding) -> impl Iterator<Item = &[Frame]> {
    let steps = finding.steps.iter().flat_map(|step| {
        std::iter::once(&step.stack).chain(step.held.iter().map(|held| &held.stack))
    });
    steps.chain(finding.locks.iter().map(|lock| &lock.created)).map(Vec::as_slice)
}

/// Whether the stack's innermost frames are these; what called them does not matter.
fn begins_with(names: &[String], levels: &[Level]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where the last ellipsis is, and how far it reaches so far. As in a glob, those before it need no
    // second look: what they reach at the least leaves the most for the rest.
    let mut ellipsis: Option<(usize, usize)> = None;
    while let Some(level) = levels.get(at) {
        match (level, names.get(seen)) {
            (Level::Ellipsis, _) => {
                ellipsis = Some((at, seen));
                at += 1;
            }
            (Level::Frame(pattern), Some(name)) if glob::matches(pattern, name) => {
                at += 1;
                seen += 1;
            }
            (Level::Frame(_), Some(_)) => {
                let Some((back, until)) = ellipsis else { return false };
                ellipsis = Some((back, until + 1));
                at = back + 1;
                seen = until + 1;
            }
            (Level::Frame(_), None) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_match_from_the_innermost_frame_on() {
        let names = ["lock", "take", "serve", "main"].map(str::to_owned);
        let level = |word: &str| match word {
            "..." => Level::Ellipsis,
            word => Level::Frame(word.into()),
        };
        for (pattern, fits) in [
            ("lock take", true),
            ("take", false),
            ("... take", true),
            ("lock ... main", true),
            ("lock ... serve", true),
            ("lock serve", false),
            ("lock ... take ... main ...", true),
            ("... main main", false),
            ("...", true),
            ("l* t??e", true),
        ] {
            let levels: Vec<Level> = pattern.split(' ').map(level).collect();
            assert_eq!(begins_with(&names, &levels), fits, "{pattern}");
        }
        assert!(!begins_with(&[], &[Level::Frame("*".into())]));
    }
}
