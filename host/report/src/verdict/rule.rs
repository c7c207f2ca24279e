//! A rule that says which findings are known and wanted so: it matches if all its parts do.

use std::rc::Rc;

use serde::Serialize;

use super::identity;
use crate::glob;
use crate::text::stack::is_runtime;
use lockwright_analysis::finding::{Finding, Frame, Grade};
use lockwright_analysis::symbolize::portable::portable;
use lockwright_analysis::symbolize::wrapper::{first_own_frame, own_frames};

/// Who wrote a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The user: it stands in a file given with `--suppressions`.
    #[default]
    File,
    /// lockwright: it ships with it.
    Default,
}

/// One rule of a file. Parts that are empty match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Who wrote it.
    pub source: Source,
    /// File that it stands in, as the user named it.
    pub file: Rc<str>,
    /// Line of its name, from 1.
    pub line: u32,
    /// The text between the brackets: for people.
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
    /// Pattern of the module that alone has a part in it: what was done and what was locked is its
    /// own.
    pub only_module: Option<String>,
    /// Stacks; each has to fit some stack.
    pub stacks: Vec<Vec<Level>>,
}

/// A line of a stack in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Any number of frames, none too: `...`.
    Ellipsis,
    /// A frame that fits patterns.
    Frame {
        /// A pattern for its function.
        function: String,
        /// A pattern for the path or file name of its module; `None`: any module.
        module: Option<String>,
    },
}

impl Level {
    /// Whether a frame fits; the ellipsis is for [`begins_with`].
    fn fits(&self, frame: &Frame) -> bool {
        match self {
            Self::Ellipsis => false,
            Self::Frame { function, module } => {
                is_of(function, frame) && module.as_ref().is_none_or(|module| is_in(module, frame))
            }
        }
    }
}

/// Whether the frame's function fits the pattern, as this build calls it or as every build does.
fn is_of(pattern: &str, frame: &Frame) -> bool {
    glob::matches(pattern, &identity::frame(frame))
        || glob::matches(pattern, &identity::portable_frame(frame))
}

/// Whether the frame's module fits the pattern.
fn is_in(pattern: &str, frame: &Frame) -> bool {
    let path = frame.module.as_deref().unwrap_or("?");
    glob::matches(pattern, path) || glob::matches(pattern, identity::module(frame))
}

impl Rule {
    /// Whether the rule is about this finding.
    pub fn matches(&self, finding: &Finding) -> bool {
        let fits = |pattern: &String, name: &str| glob::matches(pattern, name);
        self.kind.as_ref().is_none_or(|kind| fits(kind, finding.kind.name()))
            && (self.grades.is_empty() || self.grades.contains(&finding.grade))
            && self.classes.iter().all(|pattern| {
                let mut locks = finding.locks.iter();
                locks.any(|lock| {
                    let class = identity::class(lock);
                    fits(pattern, class)
                        || fits(pattern, &portable(class))
                        || fits(pattern, &lock.class.text)
                        || fits(pattern, &lock.name.text)
                })
            })
            && self
                .functions
                .iter()
                .all(|pattern| stacks(finding).flatten().any(|frame| is_of(pattern, frame)))
            && self
                .modules
                .iter()
                .all(|pattern| stacks(finding).flatten().any(|frame| is_in(pattern, frame)))
            && self.only_module.as_ref().is_none_or(|pattern| {
                done(finding)
                    .all(|stack| first_own_frame(stack).is_some_and(|frame| is_in(pattern, frame)))
            })
            && self.stacks.iter().all(|levels| stacks(finding).any(|stack| is_stack(stack, levels)))
    }

    /// Where it stands.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The stacks of a finding where something was done: where its locks are taken, and where those
/// held were.
fn done(finding: &Finding) -> impl Iterator<Item = &[Frame]> {
    let steps = finding.steps.iter().flat_map(|step| {
        std::iter::once(&step.stack).chain(step.held.iter().map(|held| &held.stack))
    });
    steps.map(Vec::as_slice)
}

/// All stacks of a finding: those, and where its locks were made.
pub fn stacks(finding: &Finding) -> impl Iterator<Item = &[Frame]> {
    done(finding).chain(finding.locks.iter().map(|lock| lock.created.as_slice()))
}

/// Whether the stack begins with these frames, with wrappers of locks and with what libraries have
/// between them, or without: all that may be inlined.
fn is_stack(stack: &[Frame], levels: &[Level]) -> bool {
    if begins_with(stack, levels, Level::fits) {
        return true;
    }
    let own: Vec<&Frame> = own_frames(stack).iter().filter(|frame| !is_runtime(frame)).collect();
    own.len() < stack.len() && begins_with(&own, levels, |level, frame| level.fits(frame))
}

/// Whether the stack's innermost frames are these; what called them does not matter.
fn begins_with<F>(frames: &[F], levels: &[Level], fits: impl Fn(&Level, &F) -> bool) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where the last ellipsis is, and how far it reaches so far. As in a glob, those before it need
    // no second look: what they reach at the least leaves the most for the rest.
    let mut ellipsis: Option<(usize, usize)> = None;
    while let Some(level) = levels.get(at) {
        match (level, frames.get(seen)) {
            (Level::Ellipsis, _) => {
                ellipsis = Some((at, seen));
                at += 1;
            }
            (Level::Frame { .. }, Some(frame)) if fits(level, frame) => {
                at += 1;
                seen += 1;
            }
            (Level::Frame { .. }, Some(_)) => {
                let Some((back, until)) = ellipsis else { return false };
                ellipsis = Some((back, until + 1));
                at = back + 1;
                seen = until + 1;
            }
            (Level::Frame { .. }, None) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_match_from_the_innermost_frame_on() {
        let frame = |name: &str| Frame {
            function: Some(name.into()),
            module: Some("/usr/lib/libpool.so.2".into()),
            ..Frame::default()
        };
        let stack = ["lock", "take", "serve", "main"].map(frame);
        let level = |word: &str| match word.split_once('@') {
            None if word == "..." => Level::Ellipsis,
            None => Level::Frame { function: word.into(), module: None },
            Some((function, module)) => {
                Level::Frame { function: function.into(), module: Some(module.into()) }
            }
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
            ("lock@libpool.so.2 take@/usr/lib/*", true),
            ("... serve@libpool.so*", true),
            ("lock@libother.so*", false),
            ("... serve@libother.so* ...", false),
        ] {
            let levels: Vec<Level> = pattern.split(' ').map(level).collect();
            assert_eq!(begins_with(&stack, &levels, Level::fits), fits, "{pattern}");
        }
        assert!(!begins_with(&[], &[level("*")], Level::fits));
    }
}
