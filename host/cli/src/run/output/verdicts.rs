//! The command line's options about findings, and the files that they write.

use std::path::{Path, PathBuf};

use super::baseline_file::Target;
use super::step_summary;
use crate::args::VerdictArgs;
use lockwright_analysis::finding::Instances;
use lockwright_analysis::finding::{Grade, Report};
use lockwright_console::error::Result;
use lockwright_console::sink::Sink;
use lockwright_report::ci;
use lockwright_report::sarif;
use lockwright_report::verdict::{Judged, Policy, SHIPPED_FILE};

/// Read and opened before the program runs, so that a fault of a file is reported before an hour's
/// run, not after.
#[derive(Debug)]
pub struct Verdicts {
    /// Show all grades.
    pub all: bool,
    /// The counters are wanted.
    pub stats: bool,
    /// What findings that are the same to a reader become.
    pub instances: Instances,
    fail_on: Grade,
    policy: Policy,
    /// Rules are wanted: in a file, or else after the report.
    rules: Option<Option<Sink>>,
    baseline: Option<Target>,
    sarif: Option<Sink>,
    junit: Option<Sink>,
    markdown: Option<Sink>,
    /// GitHub's commands are wanted.
    github: bool,
}

/// What is to follow the report.
#[derive(Debug, Default)]
pub struct After {
    /// Rules that suppress what was found.
    pub rules: String,
    /// Commands for the CI service.
    pub commands: String,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self {
            all: false,
            stats: false,
            instances: Instances::Folded,
            fail_on: Grade::Likely,
            policy: Policy::default(),
            rules: None,
            baseline: None,
            sarif: None,
            junit: None,
            markdown: None,
            github: false,
        }
    }
}

impl Verdicts {
    /// Reads what is to be read and opens what is to be written.
    ///
    /// # Errors
    /// If a file is not there, not what it should be, or cannot be written.
    pub fn open(args: &VerdictArgs) -> Result<Self> {
        let sink = |path: &Path, usage| Sink::create(path, usage);
        let is_shipped = |file: &Path| file == Path::new(SHIPPED_FILE);
        let files = args.suppressions.iter().map(PathBuf::as_path);
        let policy =
            Policy::read(files.clone().filter(|file| !is_shipped(file)), args.baseline.as_deref())?;
        let with_shipped = !args.no_default_suppressions || files.clone().any(is_shipped);
        let rules = args.gen_suppressions.as_ref().map(|file| {
            file.as_deref().map(|path| sink(path, "--gen-suppressions=FILE")).transpose()
        });
        Ok(Self {
            all: args.all,
            stats: args.stats,
            instances: if args.all_instances { Instances::Apart } else { Instances::Folded },
            fail_on: args.fail_on,
            policy: if with_shipped { policy.with_shipped() } else { policy },
            rules: rules.transpose()?,
            baseline: args.write_baseline.as_deref().map(Target::check).transpose()?,
            sarif: args.sarif.as_deref().map(|path| sink(path, "--sarif FILE")).transpose()?,
            junit: args.junit.as_deref().map(|path| sink(path, "--junit FILE")).transpose()?,
            markdown: args
                .markdown
                .as_deref()
                .map(|path| sink(path, "--markdown FILE"))
                .transpose()?,
            github: args.github,
        })
    }

    /// The verdicts of the user's files on a report.
    pub fn judge<'r>(&'r self, report: &'r Report) -> Judged<'r> {
        self.policy.judge(report)
    }

    /// Writes the files. What is to follow the report is given back, and an error if a file could
    /// not be written.
    pub fn write(&mut self, report: &Report) -> (After, Result<()>) {
        let judged = self.policy.judge(report);
        let mut done = Vec::new();
        if let Some(target) = &mut self.baseline {
            done.push(target.write(&judged.next_baseline(self.all, self.fail_on)));
        }
        if let Some(sink) = &mut self.sarif {
            done.push(sink.put(&sarif::render(&judged, self.all)));
        }
        let options = ci::Options { all: self.all, fail_on: self.fail_on };
        if let Some(sink) = &mut self.junit {
            done.push(sink.put(&ci::junit(&judged, options)));
        }
        let mut after = After::default();
        if self.github {
            after.commands = ci::github(&judged, options);
        }
        let adds = !after.commands.is_empty();
        if adds || self.markdown.is_some() {
            let page = ci::markdown(&judged, options);
            done.extend(self.markdown.as_mut().map(|sink| sink.put(&page)));
            done.extend(adds.then(|| step_summary::add(&page)));
        }
        match &mut self.rules {
            None => {}
            Some(None) => after.rules = judged.generated(self.all),
            Some(Some(sink)) => done.push(sink.put(&judged.generated(self.all))),
        }
        // All were tried.
        (after, done.into_iter().collect())
    }
}
