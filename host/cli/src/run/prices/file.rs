//! What the tool costs on this machine, kept from run to run: a measurement of it takes longer than
//! many a program.
//!
//! Each run adds a round to what is known, until there are enough. In a round the same is measured
//! natively and watched, one right after the other, so that mostly what disturbs the one disturbs
//! the other; the lower quartiles of both count. The file lies in a directory that only this user can write to, and holds for
//! one lockwright, one boot of one machine, and one choice of engines.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use lockwright_ledger::file;
use serde::{Deserialize, Serialize};

use super::{Calibration, Prices};
use crate::run::watch::engines::Engines;

/// Raised whenever the prices, or the loops that measure them, change: then all is measured again.
const FORMAT: u32 = 5;

/// Rounds after which no more are added, if watching costs something by then.
const ENOUGH: usize = 7;

/// More than such a file has.
const MOST_BYTES: u64 = 16384;

/// What is known of one choice of engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// What it holds for.
    key: String,
    /// What it took, unwatched, in each of the last [`ENOUGH`] rounds.
    native: Vec<Prices>,
    /// What it took, watched.
    watched: Vec<Prices>,
}

impl Known {
    /// Nothing yet.
    pub fn new(key: String) -> Self {
        Self { key, native: Vec::new(), watched: Vec::new() }
    }

    /// No more rounds are needed.
    pub fn is_enough(&self) -> bool {
        let Prices { tight_ns, pair_ns, sparse_ns, .. } = self.cost().added;
        self.native.len() >= ENOUGH && [tight_ns, pair_ns, sparse_ns].iter().all(|&ns| ns > 0.0)
    }

    /// Another round.
    pub fn add(&mut self, native: &Prices, watched: &Prices) {
        self.native.push(*native);
        self.watched.push(*watched);
        for rounds in [&mut self.native, &mut self.watched] {
            let former = rounds.len().saturating_sub(ENOUGH);
            rounds.drain(..former);
        }
    }

    /// What watching adds, and takes.
    pub fn cost(&self) -> Calibration {
        let watched = Prices::lower_quartile(&self.watched);
        Calibration { added: watched.more_than(&Prices::lower_quartile(&self.native)), watched }
    }
}

/// Where that is kept for one choice of engines.
#[derive(Debug)]
pub struct PricesFile {
    path: PathBuf,
    key: String,
}

impl PricesFile {
    /// In `dir`, which only this user can write to.
    pub fn new(dir: &Path, engines: &Engines<'_>) -> Self {
        let key = key(engines);
        // FNV-1a: names differ, and the key is in the file.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { path: dir.join(format!("prices-{hash:016x}.json")), key }
    }

    /// What it holds for.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is known already. Nothing that somebody else wrote.
    pub fn read(&self) -> Option<Known> {
        // SAFETY: it takes no argument and touches no memory of ours.
        let file = file::open_own(&self.path, unsafe { libc::geteuid() }).ok()?;
        if file.metadata().ok()?.mode() & 0o022 != 0 {
            return None;
        }
        let text = file::read_all(file, MOST_BYTES).ok()?;
        let known: Known = serde_json::from_slice(&text).ok()?;
        let mut all = known.native.iter().chain(&known.watched);
        let is_plausible = all.all(Prices::are_plausible);
        (known.key == self.key && is_plausible).then_some(known)
    }

    /// Keeps what is known. Where that fails the next run measures again.
    pub fn write(&self, known: &Known) {
        let Ok(text) = serde_json::to_string(known) else { return };
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&new);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        if written.and_then(|()| fs::rename(&new, &self.path)).is_err() {
            let _ = fs::remove_file(new);
        }
    }
}

/// This lockwright, this boot of this machine, and the options of the library.
fn key(engines: &Engines<'_>) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let tool = fs::metadata("/proc/self/exe").map_or_else(
        |_| String::new(),
        |meta| format!("{}:{}:{}.{}", meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()),
    );
    let mut told = Command::new("true");
    engines.tell(&mut told);
    let variables = told.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let variables: Vec<String> = variables.collect();
    let version = format!("{}.{FORMAT}", env!("CARGO_PKG_VERSION"));
    format!("{version} {tool} {} {}", boot.trim(), variables.join(" "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const CHECK: Engines<'_> = Engines {
        lockdep: true,
        objects: true,
        lockmeter: None,
        bounces: false,
        timeline: None,
        allocations: false,
    };

    fn prices(ns: f64) -> Prices {
        Prices::each(|_| ns)
    }

    #[test]
    fn rounds_are_added_until_there_are_enough_and_the_lower_quartile_counts() {
        let dir =
            std::env::temp_dir().join(format!("lockwright-test-prices-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = PricesFile::new(&dir, &CHECK);
        assert_eq!(file.read(), None);
        let mut known = Known::new(file.key().to_owned());
        for watched in [14.0, 60.0, 15.0, 10.0, 17.0, 13.0, 18.0] {
            assert!(!known.is_enough());
            known.add(&prices(10.0), &prices(watched));
        }
        assert!(known.is_enough());
        assert_eq!((known.cost().added, known.cost().watched), (prices(3.0), prices(13.0)));
        // Rounds of which none was dearer than native ones are not enough; the last ones count.
        let mut nothing = known.clone();
        (0..ENOUGH).for_each(|_| nothing.add(&prices(10.0), &prices(9.0)));
        assert!(!nothing.is_enough());
        // Nor are those in which one of the three prices of a pair seemed to be nothing.
        let mut free = known.clone();
        let tight_free = |ns: f64| Prices { tight_ns: 10.0, ..prices(ns) };
        (0..ENOUGH).for_each(|_| free.add(&tight_free(10.0), &tight_free(15.0)));
        assert!(!free.is_enough());
        assert_eq!(nothing.cost().added, prices(0.0));
        file.write(&known);
        assert_eq!(file.read(), Some(known.clone()));
        let other = PricesFile::new(&dir, &Engines { objects: false, ..CHECK });
        assert_eq!(other.read(), None, "of other engines");
        // What others may have written, or have us read, is not believed.
        let real = file.path.with_extension("real");
        fs::rename(&file.path, &real).unwrap();
        symlink(&real, &file.path).unwrap();
        assert_eq!(file.read(), None, "a link");
        file.write(&known);
        assert_eq!(file.read(), Some(known), "which gives way");
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(file.read(), None, "others could write it");
        fs::remove_dir_all(dir).unwrap();
    }
}
