//! From locks and sites to lockmeter's entries: what was counted for a lock, or at a place that
//! takes it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::writers::WriterWaits;
use crate::prose::words::plain;
use crate::text::stack::shorten;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{
    CallNumbers, Lock, MeterReport, Mode, Numbers, Readers, Site,
};
use lockwright_analysis::model::code_of;

/// One line of a table.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The lock's name, or the place's.
    pub name: String,
    /// The counts.
    pub numbers: Numbers,
    /// Part of the measured time, 0 to 1: of holds, for readers of busy periods.
    pub utilisation: f64,
    /// The waits of writers for writers.
    pub writers: WriterWaits,
    /// How readers overlapped; a lock's alone.
    pub readers: Option<Readers>,
}

impl Entry {
    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Requests of all sorts: granted, given up or, for trylocks, refused.
    pub fn total(&self) -> u64 {
        let numbers = &self.numbers;
        numbers.acquisitions.saturating_add(numbers.timeouts).saturating_add(numbers.rejects)
    }

    /// Requests that were granted at once.
    pub fn no_wait(&self) -> u64 {
        self.total().saturating_sub(self.numbers.rejects).saturating_sub(self.numbers.contended)
    }

    /// Part of the requests that were not granted at once, 0 to 1.
    pub fn contention(&self) -> f64 {
        match self.total() {
            0 => 0.0,
            total => 1.0 - self.no_wait() as f64 / total as f64,
        }
    }

    fn add(&mut self, other: &Self) {
        self.numbers.add(&other.numbers);
        self.utilisation += other.utilisation;
        self.writers.add(&other.writers);
    }
}

/// A lock and the places that take it and no other.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their sum.
    pub lock: Entry,
    /// By name.
    pub callers: Vec<Entry>,
}

/// All that is taken in one way.
#[derive(Clone, Debug)]
pub struct Section {
    /// The sum over everything, what is not shown included.
    pub total: Entry,
    /// Locks, by name.
    pub groups: Vec<Group>,
    /// Places that took several locks, by name.
    pub multi_locks: Vec<Entry>,
}

/// Thresholds, 0 to 1: a lock is shown if it reaches them, and all its callers with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thresholds {
    /// Least contention.
    pub contention: f64,
    /// Least utilisation.
    pub utilisation: f64,
}

impl Thresholds {
    fn let_through(&self, entry: &Entry) -> bool {
        entry.contention() >= self.contention && entry.utilisation >= self.utilisation
    }

    /// Whether a lock is shown where it has no entries.
    pub fn let_through_lock(&self, lock: &Lock) -> bool {
        lock.total.contended_part() >= self.contention && lock.utilisation() >= self.utilisation
    }
}

/// The acquisitions in mode `mode`.
pub fn section(report: &MeterReport, mode: Mode, thresholds: &Thresholds) -> Section {
    let multi = multi_locks(report, mode);
    let mut section = Section {
        total: Entry::named("*TOTAL*".into()),
        groups: Vec::new(),
        multi_locks: Vec::new(),
    };
    let mut alone: BTreeMap<Place, Entry> = BTreeMap::new();
    for lock in &report.locks {
        let mut callers: BTreeMap<Place, Entry> = BTreeMap::new();
        for (index, site, call) in calls(lock, mode) {
            let entry = entry(lock, index, call);
            // A place that only takes again what it holds has asked for nothing.
            if entry.total() == 0 {
                continue;
            }
            section.total.add(&entry);
            let place = place(site, call);
            let by_place = if multi.contains(&place) { &mut alone } else { &mut callers };
            by_place.entry(place).or_insert_with(|| Entry::named(entry.name.clone())).add(&entry);
        }
        if callers.is_empty() {
            continue;
        }
        let group = group(lock, mode, callers.into_values().collect());
        if thresholds.let_through(&group.lock) {
            section.groups.push(group);
        }
    }
    section.groups.sort_by(|a, b| by_name(&a.lock, &b.lock));
    section.multi_locks = alone.into_values().filter(|e| thresholds.let_through(e)).collect();
    section.multi_locks.sort_by(by_name);
    section
}

/// A call: lockmeter knew return addresses only. A line may have several, one for each lock that it
/// takes, and one place that is inlined into several functions has one in each. So debug information,
/// which knows lines, makes no difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// Its module, the function that has its code, and how far that begins behind its start, or, if no
    /// function is known, its address in the module.
    Code(Option<String>, Option<String>, u64),
    /// What has no frame: the number of the place.
    Unknown(usize),
}

fn place(site: &Site, call: CallNumbers<'_>) -> Place {
    let Some(frame) = code_of(call.stack) else { return Place::Unknown(site.place) };
    let at = frame.function_offset.unwrap_or(frame.offset);
    Place::Code(frame.module.clone(), frame.function.clone(), at)
}

/// The sites that take the lock in mode `mode`: the sites, by their numbers, and their calls.
fn calls(lock: &Lock, mode: Mode) -> impl Iterator<Item = (usize, &Site, CallNumbers<'_>)> {
    let sites = lock.sites.iter().enumerate().filter(move |(_, site)| site.mode == mode);
    sites.flat_map(|(index, site)| site.each_call().map(move |call| (index, site, call)))
}

/// Places that take several locks.
fn multi_locks(report: &MeterReport, mode: Mode) -> HashSet<Place> {
    let mut first: HashMap<Place, usize> = HashMap::new();
    let mut several = HashSet::new();
    for (index, lock) in report.locks.iter().enumerate() {
        for (_, site, call) in calls(lock, mode) {
            let place = place(site, call);
            if *first.entry(place.clone()).or_insert(index) != index {
                several.insert(place);
            }
        }
    }
    several
}

fn entry(lock: &Lock, index: usize, call: CallNumbers<'_>) -> Entry {
    let writes = lock.sites[index].mode == Mode::Write;
    Entry {
        name: caller(call.stack),
        numbers: call.numbers.clone(),
        utilisation: lock.utilisation_of(call.numbers),
        writers: if writes { WriterWaits::at(lock, index, call) } else { WriterWaits::default() },
        readers: None,
    }
}

fn group(lock: &Lock, mode: Mode, mut callers: Vec<Entry>) -> Group {
    let mut sum = Entry::named(plain(&lock.name));
    callers.iter().for_each(|caller| sum.add(caller));
    callers.sort_by(by_name);
    if mode == Mode::Read {
        let busy_ns = lock.readers.as_ref().map_or(0.0, |readers| readers.busy.total_ns);
        sum.utilisation =
            if lock.measured_ns == 0 { 0.0 } else { busy_ns / lock.measured_ns as f64 };
        sum.readers = lock.readers.clone();
    }
    Group { lock: sum, callers }
}

/// By function, then by offset: as a number.
fn by_name(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    let key = |name: &str| match name.rsplit_once("+0x") {
        Some((function, offset)) => (function.to_owned(), u64::from_str_radix(offset, 16).ok()),
        None => (name.to_owned(), None),
    };
    key(&a.name).cmp(&key(&b.name))
}

/// `function+0xoffset` of a call: of the function that has its code, which an inlined one has not.
fn caller(stack: &[Frame]) -> String {
    let Some(frame) = code_of(stack) else { return "[unknown]".into() };
    match (&frame.function, frame.function_offset) {
        (Some(function), Some(offset)) => format!("{}+{offset:#x}", shorten(&plain(function))),
        (Some(function), None) => shorten(&plain(function)),
        (None, _) => {
            let module = frame.module.as_deref().unwrap_or("?");
            let name = module.rsplit('/').next().unwrap_or(module);
            format!("{}+{:#x}", plain(name), frame.offset)
        }
    }
}
