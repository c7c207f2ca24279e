//! What the tool costs: the same loops (`loops.rs`), natively and watched.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lockwright_analysis::finding::coverage::OtherLayouts;
use lockwright_ledger::Ledger;

use super::file::{Known, PricesFile};
use super::{Calibration, Prices};
use crate::ledger_dir::{CALIBRATION, RunDir, ledgers_in};
use crate::run::clocks::cpu_of_children_ns;
use crate::run::watch::engines::Engines;
use crate::run::watch::preload::Preload;

/// A round that takes longer is given up, and the calibration with it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What `engines` add to each thing on this machine. Measures a round, unless enough is known of
/// former runs. `None` if it cannot be measured. `dir` is the run's, `base` one of this user's own
/// for what is known.
pub fn cost(
    preload: &Preload,
    engines: &Engines<'_>,
    dir: &RunDir,
    base: Option<&Path>,
) -> Option<Calibration> {
    let file = base.map(|base| PricesFile::new(base, engines));
    let known = file.as_ref().and_then(PricesFile::read);
    if let Some(known) = known.as_ref().filter(|known| known.is_enough()) {
        return Some(known.cost());
    }
    let ledgers = dir.make_ledgers(CALIBRATION).ok()?;
    let preload = preload.writing_to(ledgers.clone());
    let native = round(Preload::leave_alone);
    let watched = round(|command| {
        preload.watch(command);
        engines.tell(command);
    });
    let recording = ledgers_in(&ledgers).map(|paths| start_ns(&paths));
    // The ledger of that process is nobody's business.
    dir.remove_ledgers(CALIBRATION);
    let (native, mut watched) = (native?, watched?);
    watched.load_ns -= recording.unwrap_or_default();
    let key = || file.as_ref().map_or(String::new(), |file| file.key().to_owned());
    let mut known = known.unwrap_or_else(|| Known::new(key()));
    known.add(&native, &watched);
    if let Some(file) = &file {
        file.write(&known);
    }
    Some(known.cost())
}

/// What the library measured of its own start, ns.
fn start_ns(paths: &[PathBuf]) -> f64 {
    let ledgers = paths.iter().filter_map(|path| Ledger::open(path).ok());
    ledgers.map(|ledger| ledger.header().start_cpu_ns as f64).sum()
}

/// A program of our own, watched once.
#[derive(Debug)]
pub enum Trial {
    /// It did not end well, or not in time: nothing is known.
    Unknown,
    /// It ran, and nothing of it was recorded.
    Unwatched,
    /// It was watched.
    Watched {
        /// The C library lays locks out as known.
        stamped: bool,
        /// Types of objects that it lays out in another way.
        other_layouts: Option<OtherLayouts>,
    },
}

/// Whether programs can be watched here at all.
pub fn trial(preload: &Preload, engines: &Engines<'_>, dir: &Path) -> Trial {
    let ran = round(|command| {
        preload.watch(command);
        engines.tell(command);
    });
    if ran.is_none() {
        return Trial::Unknown;
    }
    let paths = ledgers_in(dir).unwrap_or_default();
    let ledger = paths.iter().find_map(|path| Ledger::open(path).ok());
    let watched = ledger.filter(|ledger| ledger.header().locks_seen > 0);
    watched.map_or(Trial::Unwatched, |ledger| {
        let header = ledger.header();
        Trial::Watched {
            stamped: header.stamped == 1,
            other_layouts: OtherLayouts::of(header.libc_version, header.layouts_differing),
        }
    })
}

/// One process that measures.
fn round(prepare: impl FnOnce(&mut Command)) -> Option<Prices> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("calibrate").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    prepare(&mut command);
    let before_ns = cpu_of_children_ns();
    let mut child = command.spawn().ok()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => break,
            Some(_) => return None,
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    let measured: Prices = serde_json::from_str(&text).ok()?;
    // What it took in all, except the measurement.
    let load_ns = cpu_of_children_ns() - before_ns - measured.load_ns;
    Some(Prices { load_ns, ..measured })
}
