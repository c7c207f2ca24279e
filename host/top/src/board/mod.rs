//! What is shown, and how: the state behind the screen.

mod history;
mod order;
mod press;

use std::time::Duration;

use lockwright_report::live::{Branch, Finding, Lock, Moment, Thread, tree};

use history::History;
pub use order::{LockOrder, ThreadOrder};
pub use press::Wish;

use crate::style::Palette;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Locks, a line each.
    Locks,
    /// Threads, a line each.
    Threads,
    /// The graph of waits.
    Waits,
    /// Findings and advice.
    Findings,
    /// What the program has printed.
    Output,
}

impl View {
    /// In the order of their keys.
    pub const ALL: [Self; 5] =
        [Self::Locks, Self::Threads, Self::Waits, Self::Findings, Self::Output];

    /// The name in the bar of views.
    pub fn name(self) -> &'static str {
        match self {
            Self::Locks => "Locks",
            Self::Threads => "Threads",
            Self::Waits => "Waits",
            Self::Findings => "Findings",
            Self::Output => "Output",
        }
    }
}

/// What is shown alone, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A lock, by its id.
    Lock(String),
    /// A thread, by its process and kernel id.
    Thread(u32, u32),
    /// A finding, by its place.
    Finding(usize),
    /// The keys.
    Help,
}

/// A line of the view of findings.
#[derive(Clone, Copy, Debug)]
pub enum Found<'b> {
    /// A finding, and its place.
    Finding(usize, &'b Finding),
    /// Advice, and the lock it is about.
    Advice(&'b lockwright_report::live::Advice, Option<&'b Lock>),
    /// What is missing.
    Note(&'b str),
}

/// What is shown, and how.
#[derive(Debug)]
pub struct Board {
    /// What it is about: a program, a process, a file.
    pub title: String,
    /// Colours.
    pub palette: Palette,
    /// Time between two moments.
    pub interval: Duration,
    /// The view.
    pub view: View,
    /// What is shown in full, the last first to be left.
    pub details: Vec<Detail>,
    /// No new moment is shown.
    pub is_paused: bool,
    /// Figures of all time, and not of the last interval.
    pub shows_totals: bool,
    /// The order of locks.
    pub lock_order: LockOrder,
    /// The order of threads.
    pub thread_order: ThreadOrder,
    /// The order is turned round.
    pub is_reversed: bool,
    /// Only what has this in its name; in small letters.
    pub filter: String,
    /// Letters of the filter that is being typed.
    pub typed: Option<String>,
    /// What the program has printed last.
    pub output: Vec<String>,
    /// Said in the last line until the next key.
    pub message: String,
    /// Lines that fit the list; the screen says so.
    pub page: usize,
    /// The first line shown of what is shown in full.
    pub scroll: usize,
    now: Option<Moment>,
    history: History,
    /// What is selected in each view, by what its line is known by.
    selected: [String; View::ALL.len()],
}

impl Board {
    /// Nothing known yet.
    pub fn new(title: impl Into<String>, interval: Duration, colour: bool) -> Self {
        Self {
            title: title.into(),
            palette: Palette { colour },
            interval,
            view: View::Locks,
            details: Vec::new(),
            is_paused: false,
            shows_totals: false,
            lock_order: LockOrder::Waiting,
            thread_order: ThreadOrder::Waiting,
            is_reversed: false,
            filter: String::new(),
            typed: None,
            output: Vec::new(),
            message: String::new(),
            page: 20,
            scroll: 0,
            now: None,
            history: History::default(),
            selected: Default::default(),
        }
    }

    /// Shows a moment, whose rates are known; nothing while the board is paused.
    pub fn show(&mut self, moment: Moment) {
        self.history.add(&moment);
        if !self.is_paused || self.now.is_none() {
            self.now = Some(moment);
        }
    }

    /// All has ended, and what was seen last stays.
    pub fn end(&mut self) {
        for process in self.now.iter_mut().flat_map(|moment| &mut moment.processes) {
            process.runs = false;
        }
    }

    /// What is shown.
    pub fn now(&self) -> Option<&Moment> {
        self.now.as_ref()
    }

    /// How many threads waited for a lock at the last moments, the oldest first.
    pub fn trend(&self, lock: &str) -> impl DoubleEndedIterator<Item = f64> {
        self.history.of(lock)
    }

    /// Rates are known, and wanted.
    pub fn shows_rates(&self) -> bool {
        !self.shows_totals && self.now().is_some_and(|moment| moment.interval_ns > 0)
    }

    fn passes(&self, texts: &[&str]) -> bool {
        let filter = self.typed.as_ref().map_or(self.filter.clone(), |typed| typed.to_lowercase());
        filter.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&filter))
    }

    /// The locks of the view, in order.
    pub fn locks(&self) -> Vec<&Lock> {
        let Some(moment) = self.now() else { return Vec::new() };
        let mut locks: Vec<&Lock> = moment
            .locks
            .iter()
            .filter(|lock| {
                let sites = lock.sites.iter().map(|site| site.place.text.as_str());
                let mut texts: Vec<&str> = sites.collect();
                texts.extend([lock.name.as_str(), lock.kind.as_str()]);
                self.passes(&texts)
            })
            .collect();
        let rates = self.shows_rates();
        locks.sort_by(|a, b| self.turned(self.lock_order.compare(a, b, rates)));
        locks
    }

    /// The threads of the view, in order.
    pub fn threads(&self) -> Vec<&Thread> {
        let Some(moment) = self.now() else { return Vec::new() };
        let mut threads: Vec<&Thread> = moment
            .threads
            .iter()
            .filter(|thread| {
                let tid = thread.tid.to_string();
                let what = thread.wait.as_ref().map_or("", |wait| wait.what.as_str());
                let held = thread.held.iter().map(|held| held.name.as_str());
                let mut texts: Vec<&str> = held.collect();
                texts.extend([thread.name.as_str(), tid.as_str(), what]);
                self.passes(&texts)
            })
            .collect();
        threads.sort_by(|a, b| self.turned(self.thread_order.compare(a, b)));
        threads
    }

    /// The graph of waits.
    pub fn waits(&self) -> Vec<Branch<'_>> {
        self.now().map(tree).unwrap_or_default()
    }

    /// Findings, advice and notes.
    pub fn found(&self) -> Vec<Found<'_>> {
        let Some(moment) = self.now() else { return Vec::new() };
        let findings = moment.findings.iter().enumerate();
        let findings = findings.filter(|(_, it)| self.passes(&[&it.title, &it.kind, &it.grade]));
        let advice =
            moment.advice.iter().map(|advice| Found::Advice(advice, moment.lock(&advice.lock)));
        let advice = advice.filter(|it| match it {
            Found::Advice(advice, lock) => {
                self.passes(&[&advice.text, &advice.rule, lock.map_or("", |lock| &lock.name)])
            }
            _ => true,
        });
        let notes = moment.notes.iter().map(|note| Found::Note(note));
        findings.map(|(at, it)| Found::Finding(at, it)).chain(advice).chain(notes).collect()
    }

    fn turned(&self, order: std::cmp::Ordering) -> std::cmp::Ordering {
        if self.is_reversed { order.reverse() } else { order }
    }

    /// What the lines of the view are known by.
    fn ids(&self) -> Vec<String> {
        match self.view {
            View::Locks => self.locks().iter().map(|lock| lock.id.clone()).collect(),
            View::Threads => self.threads().iter().map(|it| thread_id(it)).collect(),
            View::Waits => {
                let lines = self.waits();
                lines.iter().map(|it| format!("{} {}", thread_id(it.thread), it.depth)).collect()
            }
            View::Findings => (0..self.found().len()).map(|at| at.to_string()).collect(),
            View::Output => Vec::new(),
        }
    }

    /// The selected line of the view.
    pub fn selected(&self) -> usize {
        let wanted = &self.selected[self.view as usize];
        self.ids().iter().position(|id| id == wanted).unwrap_or(0)
    }

    fn select(&mut self, line: usize) {
        let ids = self.ids();
        if let Some(id) = ids.get(line.min(ids.len().saturating_sub(1))) {
            self.selected[self.view as usize].clone_from(id);
        }
    }
}

fn thread_id(thread: &Thread) -> String {
    format!("{}.{}", thread.pid, thread.tid)
}
