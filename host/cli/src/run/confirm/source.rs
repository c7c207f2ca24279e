//! Which findings are to be confirmed: those of a check, of kept ledgers, or those that a baseline knows.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lockwright_analysis::finding::Finding;
use lockwright_console::error::Result;
use lockwright_report::verdict::baseline::Baseline;
use lockwright_report::verdict::identity::fingerprint;

use crate::run::load;

/// Where findings come from.
#[derive(Debug)]
pub enum Source {
    /// The program is checked.
    Check,
    /// The program is checked, and the findings of these fingerprints are meant.
    Baseline(HashSet<String>),
    /// Ledgers of an earlier run.
    Ledgers(Vec<PathBuf>),
}

impl Source {
    /// What the user names.
    ///
    /// # Errors
    /// If it cannot be read, or is neither ledgers nor a baseline.
    pub fn open(from: Option<&Path>) -> Result<Self> {
        let Some(from) = from else { return Ok(Self::Check) };
        if from.is_dir() || from.extension().is_some_and(|it| it == "lwl") {
            return Ok(Self::Ledgers(load::expand(&[from.to_owned()])?));
        }
        let baseline = Baseline::read(from)
            .map_err(|error| error.help("or name a directory with ledgers, as --keep leaves it"))?;
        Ok(Self::Baseline(baseline.fingerprints().map(str::to_owned).collect()))
    }

    /// Whether a finding is meant.
    pub fn has(&self, finding: &Finding) -> bool {
        match self {
            Self::Baseline(known) => known.contains(&fingerprint(finding)),
            Self::Check | Self::Ledgers(_) => true,
        }
    }
}
