//! Where threads waited for locks, how often and how long: what a profile of contended mutexes consists of.
//!
//! A sample is known by names that another run of the program has, too: the lock's class, and for each frame the module's
//! build id, the function with its line, or the offset in the module. No address of a process is in it.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::prose::futexes::used_as;
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{Futex, MeterReport};
use lockwright_analysis::model::{place_key, place_of};
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The waits for a lock at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The same at each reading of the ledgers of a run, while the run goes on and later.
    pub key: String,
    /// The class of the lock.
    pub lock: String,
    /// Innermost first.
    pub frames: Vec<Location>,
    /// Waits that have ended.
    pub count: u64,
    /// Their sum, ns.
    pub ns: u64,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Path of the module.
    pub module: Option<String>,
    /// The module's build id in hexadecimal digits; empty if it has none.
    pub build_id: String,
    /// Where the call is in the module's file, whichever address it was loaded at.
    pub address: u64,
    /// The function, if it has a name.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line, from 1; 0 if it is not known.
    pub line: u32,
}

impl Location {
    fn of(frame: &Frame) -> Self {
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            module: frame.module.as_deref().map(plain),
            build_id: frame.build_id.as_deref().map_or_else(String::new, hex),
            // The call itself: that of a return address is one byte before it.
            address: frame.offset.saturating_sub(1),
            function: frame.function.as_deref().map(plain),
            file: frame.file.as_deref().map(plain),
            line: frame.line.unwrap_or(0),
        }
    }

    /// The function, or the offset in the module.
    pub fn name(&self) -> String {
        self.function.clone().unwrap_or_else(|| format!("{:#x}", self.address))
    }
}

/// The samples of a measurement, in its order.
pub fn samples(report: &MeterReport) -> Vec<Sample> {
    let mut samples = Samples::default();
    for lock in &report.locks {
        let (token, class) = lock.first_seen;
        for site in lock.sites.iter().filter(|site| site.numbers.wait.count > 0) {
            let how = format!("{token:x}.{class} {:?} {}", site.mode, site.cond_reacquire);
            let wait = &site.numbers.wait;
            samples.add(&how, &lock.name, &site.stack, (wait.count, wait.total_ns));
        }
    }
    // Only the waits are known of locks that are made of futexes.
    for wait in report.waits.iter().filter(|wait| wait.is_for_lock() && wait.wait.count > 0) {
        let Some(futex) = &wait.futex else { continue };
        let how = format!("futex {:x}", futex.addr);
        samples.add(&how, &class(futex), &wait.stack, (wait.wait.count, wait.wait.total_ns));
    }
    samples.all
}

/// The class of a lock that is made of a futex. Its address is not the same in another run.
fn class(futex: &Futex) -> String {
    let used_as = used_as(futex.kind);
    futex.name.as_ref().map_or(used_as.clone(), |name| format!("{used_as} `{name}`"))
}

/// Samples that are being made.
#[derive(Default)]
struct Samples {
    all: Vec<Sample>,
    by_key: HashMap<String, usize>,
}

impl Samples {
    fn add(&mut self, how: &str, lock: &str, stack: &[Frame], (count, ns): (u64, f64)) {
        let place = place_of(stack).map_or_else(String::new, place_key);
        let key = format!("{how} {place}");
        let ns = ns as u64;
        if let Some(&known) = self.by_key.get(&key) {
            let known = &mut self.all[known];
            (known.count, known.ns) = (known.count + count, known.ns + ns);
            return;
        }
        self.by_key.insert(key.clone(), self.all.len());
        let frames = own_frames(stack).iter().map(Location::of).collect();
        self.all.push(Sample { key, lock: plain(lock), frames, count, ns });
    }
}

/// How much there was of each sample, by its key: waits, and their sum in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals(BTreeMap<String, (u64, u64)>);

impl Totals {
    /// Those of all samples.
    pub fn of(samples: &[Sample]) -> Self {
        let mut totals = Self::default();
        totals.add(samples);
        totals
    }

    /// Adds them.
    pub fn add(&mut self, samples: &[Sample]) {
        for sample in samples {
            let (count, ns) = self.0.entry(sample.key.clone()).or_default();
            (*count, *ns) = (*count + sample.count, *ns + sample.ns);
        }
    }

    /// What of `now` came after these. The sums over all samples are exact: where a sample was counted under another key
    /// before, what is counted twice is taken off the others.
    pub fn until(&self, now: &[Sample]) -> Vec<Sample> {
        let current = Self::of(now);
        let before = |key: &str| self.0.get(key).copied().unwrap_or_default();
        let mut later = Vec::new();
        for sample in now {
            let (count, ns) = before(&sample.key);
            let (count, ns) = (sample.count.saturating_sub(count), sample.ns.saturating_sub(ns));
            later.push(Sample { count, ns, ..sample.clone() });
        }
        let (mut counts, mut times) = (0, 0);
        for (key, &(count, ns)) in &self.0 {
            let (now_count, now_ns) = current.0.get(key).copied().unwrap_or_default();
            counts += count.saturating_sub(now_count);
            times += ns.saturating_sub(now_ns);
        }
        for sample in &mut later {
            take_off(&mut sample.count, &mut counts);
            take_off(&mut sample.ns, &mut times);
        }
        later.retain(|sample| sample.count > 0 || sample.ns > 0);
        later
    }
}

fn take_off(from: &mut u64, surplus: &mut u64) {
    let part = (*from).min(*surplus);
    (*from, *surplus) = (*from - part, *surplus - part);
}

/// Waits and their sum, ns, of all samples.
pub fn sum(samples: &[Sample]) -> (u64, u64) {
    samples.iter().fold((0, 0), |(count, ns), sample| (count + sample.count, ns + sample.ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(key: &str, count: u64, ns: u64) -> Sample {
        Sample { key: key.into(), lock: "l".into(), frames: Vec::new(), count, ns }
    }

    fn keys(samples: &[Sample]) -> Vec<(&str, u64, u64)> {
        samples.iter().map(|it| (it.key.as_str(), it.count, it.ns)).collect()
    }

    #[test]
    fn a_difference_has_what_is_new() {
        let sent = Totals::of(&[sample("a", 2, 20), sample("b", 1, 5)]);
        let now = [sample("a", 5, 50), sample("b", 1, 5), sample("c", 1, 1)];
        assert_eq!(keys(&sent.until(&now)), [("a", 3, 30), ("c", 1, 1)]);
    }

    #[test]
    fn what_has_another_key_now_is_not_counted_twice() {
        let mut sent = Totals::of(&[sample("a", 4, 40)]);
        // `a` has become `b`, with two more waits.
        let now = [sample("b", 6, 60)];
        let later = sent.until(&now);
        assert_eq!(keys(&later), [("b", 2, 20)]);
        sent.add(&later);
        assert_eq!(keys(&sent.until(&now)), []);
        assert_eq!(keys(&sent.until(&[sample("b", 7, 61)])), [("b", 1, 1)]);
    }
}
