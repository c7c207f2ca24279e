//! `--avoid`: which findings are avoided, and where their threads are kept apart.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lockwright_analysis::analyse;
use lockwright_analysis::finding::{Finding, Grade, Instances};
use lockwright_analysis::progress::Silent;
use lockwright_console::error::{Error, Result};
use lockwright_ledger::steering::MOST_PATHS;
use lockwright_report::prose;
use lockwright_report::verdict::identity::fingerprint;

use super::confirm::places::first_locks;
use super::load;
use super::output::Output;
use super::watch::steering::Apart;

/// How long a thread waits until it goes on all the same.
pub const LONGEST: Duration = Duration::from_secs(1);

/// The findings that the user names, as `LEDGERS` or `LEDGERS#FINGERPRINT`.
///
/// # Errors
/// If there are no ledgers, no finding in them that can be avoided, or too many.
pub fn findings(named: &[String], output: &Output) -> Result<Vec<Apart>> {
    let mut all = Vec::new();
    for name in named {
        all.extend(of(name, output)?);
    }
    let places: usize = all.iter().map(|it| it.places.len()).sum();
    if places > MOST_PATHS {
        return Err(Error::new(format!(
            "too many findings to avoid: they have {places} places, and {MOST_PATHS} can be watched"
        ))
        .help("name those that matter: --avoid LEDGERS#FINGERPRINT, as the JSON report has it"));
    }
    Ok(all)
}

fn of(name: &str, output: &Output) -> Result<Vec<Apart>> {
    let (path, digits) = match name.rsplit_once('#') {
        Some((path, digits)) if !Path::new(name).exists() => (path, Some(digits)),
        _ => (name, None),
    };
    let paths = load::expand(&[PathBuf::from(path)])?;
    let (ledgers, _) = load::open_some(&paths, |error| output.warn(error))?;
    let report = analyse(&ledgers, Instances::Folded, &Silent);
    let is_meant = |finding: &Finding| match digits {
        Some(digits) => fingerprint(finding).starts_with(digits),
        None => finding.grade <= Grade::Possible,
    };
    let apart = |finding: &Finding| {
        Some(Apart { title: prose::told(finding).title, places: first_locks(finding)? })
    };
    let meant: Vec<&Finding> = report.findings.iter().filter(|it| is_meant(it)).collect();
    let found: Vec<Apart> = meant.iter().filter_map(|finding| apart(finding)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    Err(match (meant.first(), digits) {
        (Some(finding), _) => Error::new(format!(
            "threads cannot be kept apart for this finding: {}",
            prose::told(finding).title
        ))
        .note("locks that are taken in a cycle (circular-dependency) can be avoided"),
        (None, Some(digits)) => {
            Error::new(format!("no finding in {path} has the fingerprint {digits}"))
        }
        (None, None) => Error::new(format!("there is no finding to avoid in {path}"))
            .help("name the ledgers of a run that has one: `lockwright check --keep -- PROGRAM`"),
    })
}
