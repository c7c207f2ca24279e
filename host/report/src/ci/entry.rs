//! A finding as CI services want it: in a few lines, at one line of the source, of one test.

use super::test_name;
use crate::prose::told;
use crate::prose::words::{Level, level, plain};
use crate::sarif::places::did;
use crate::text::stack::Stacks;
use lockwright_analysis::finding::{Finding, Frame, Grade, Report};
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// A finding, with its title and text.
pub struct Entry<'r> {
    /// The finding.
    pub finding: &'r Finding,
    /// It fails the run.
    pub fails: bool,
    /// The fault, in a line.
    pub title: String,
    /// How sure that is, and what each thread did where: a line each.
    pub lines: Vec<String>,
    /// The remedies.
    pub help: Vec<String>,
    /// Where to look first.
    pub place: Option<Place>,
    /// The test that ran, as its author calls it. `None`: several processes.
    pub test: Option<String>,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to the current directory if it is below it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: Option<u32>,
}

impl<'r> Entry<'r> {
    pub fn new(report: &'r Report, finding: &'r Finding, fail_on: Grade, stacks: &Stacks) -> Self {
        let told = told(finding);
        let why = told.why(finding.grade).join("; ");
        let mut lines = vec![format!("{}: {why}", finding.grade.name())];
        lines.extend(finding.steps.iter().map(|step| match stacks.own(&step.stack) {
            Some(place) => format!("{} in {place}", did(finding, step)),
            None => did(finding, step),
        }));
        let first = finding.steps.iter().find_map(|step| Place::of(&step.stack, stacks));
        let process = report.process_of(finding);
        Self {
            finding,
            fails: finding.grade <= fail_on,
            title: plain(&told.title),
            lines,
            help: told.help.iter().map(|text| plain(text)).collect(),
            place: first,
            test: process.map(|process| test_name::of(process, finding)),
        }
    }

    /// The level that compilers would give it; what fails the run is an error.
    pub fn level(&self) -> Level {
        if self.fails { Level::Error } else { level(self.finding.grade) }
    }
}

impl Place {
    /// The first line of the program's own code, if it is known.
    fn of(stack: &[Frame], stacks: &Stacks) -> Option<Self> {
        let frame = first_own_frame(stack)?;
        let file = frame.file.as_deref()?;
        let file = stacks.path(file);
        Some(Self { file, line: frame.line?, column: frame.column })
    }
}
