//! Where the threads of a finding are to be held up.

use lockwright_analysis::finding::action::Action;
use lockwright_analysis::finding::order::{self, handler};
use lockwright_analysis::finding::{Details, Finding, Frame, Kind, Step};
use lockwright_ledger::steering::{MOST_FRAMES, MOST_PATHS};
use lockwright_report::verdict::identity;

use crate::run::watch::steering::Place;

/// The places of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Each once.
    pub all: Vec<Place>,
    /// For each of them, the first step of the finding that is there.
    pub steps: Vec<usize>,
    /// Where all steps of the finding are.
    there: Vec<Place>,
    /// Where threads take the first locks of their parts, if it is a cycle of locks.
    first: Vec<Place>,
    /// The classes of its locks, if it is a cycle of locks.
    classes: Option<Vec<String>>,
}

impl Places {
    /// Those of a finding; `None`: it is of a kind or of several processes, or has stacks, for which threads cannot be held up.
    pub fn of(finding: &Finding) -> Option<Self> {
        // Threads of several processes do not wait for each other here.
        finding.process?;
        let signal = match finding.kind {
            Kind::InconsistentState => taken_in_handler(finding)?,
            _ => 0,
        };
        let is_one: fn(&Step) -> bool = match finding.kind {
            Kind::CircularDependency | Kind::JoinWithLockHeld | Kind::RecursiveLocking => |_| true,
            // Between the test of what it waits for and the wait.
            Kind::LostWakeup => |step| step.action == Action::WaitsOnCondition,
            // Where the signal is open, and no handler runs.
            Kind::InconsistentState => |step| step.held.is_empty(),
            _ => return None,
        };
        let first = first_locks(finding).unwrap_or_default().into_iter();
        let mut places = Self {
            all: Vec::new(),
            steps: Vec::new(),
            there: Vec::new(),
            first: first.map(|(place, _)| Place { is_first: true, ..place }).collect(),
            classes: classes(finding),
        };
        for (at, step) in finding.steps.iter().enumerate() {
            let place = Place { signal, ..place(step)? };
            if is_one(step) && !places.all.contains(&place) {
                places.all.push(place.clone());
                places.steps.push(at);
            }
            places.there.push(place);
        }
        Some(places).filter(|places| (1..=MOST_PATHS).contains(&places.all.len()))
    }

    /// Where threads are held up in this run, from 1: in every second one also before the first lock of one part. The thread
    /// of another part may come later, and need that lock before.
    pub fn of_run(&self, run: u32) -> Vec<Place> {
        let mut places = self.all.clone();
        if run.is_multiple_of(2) && !self.first.is_empty() {
            let part = (run / 2 - 1) as usize % self.first.len();
            places.push(self.first[part].clone());
        }
        places
    }

    /// Whether a deadlock of another run has its threads at these places; or at others with locks of the same classes in a
    /// cycle, of which a finding names one set of places.
    pub fn are_of(&self, deadlock: &Finding) -> bool {
        if self.classes.is_some() && self.classes == classes(deadlock) {
            return true;
        }
        let there: Vec<Place> = deadlock.steps.iter().filter_map(place).collect();
        let is_one_of = |one: &Place, of: &[Place]| of.iter().any(|it| is_same(it, one));
        if self.all.len() == 1 {
            // What is in the way of one alone is no part of the finding.
            return there.iter().any(|place| is_one_of(place, &self.there));
        }
        there.iter().all(|place| is_one_of(place, &self.all))
            && self.all.iter().all(|place| is_one_of(place, &there))
    }
}

/// The classes of the locks of a cycle, in alphabetical order, as they are called in each run.
fn classes(finding: &Finding) -> Option<Vec<String>> {
    let of = |lock| identity::steady_name(identity::class_of_any_run(lock).0);
    let mut classes: Vec<String> = finding.locks.iter().map(of).collect();
    classes.sort();
    (finding.kind == Kind::CircularDependency).then_some(classes)
}

/// The signal whose handler takes the one lock of a finding; `None`: it is more than that.
fn taken_in_handler(finding: &Finding) -> Option<u32> {
    let Details::Order(fault) = &finding.details else { return None };
    match fault.fault {
        order::Fault::Handler(handler::Fault::TakenInHandler { signal }) => Some(signal),
        _ => None,
    }
}

/// In another run it may have been known of more calls, or of fewer, that they are wrappers'.
fn is_same(one: &Place, other: &Place) -> bool {
    one.offsets.iter().zip(&other.offsets).all(|(one, other)| one == other)
}

/// Where the threads of a cycle take the first lock of their parts, each place once, and whether several parts begin there.
/// `None`: it is no cycle, or there are stacks that tell no place.
pub fn first_locks(finding: &Finding) -> Option<Vec<(Place, bool)>> {
    if finding.kind != Kind::CircularDependency {
        return None;
    }
    let mut places: Vec<(Place, bool)> = Vec::new();
    for step in &finding.steps {
        let first = step.held.iter().find(|held| held.lock.is_some())?;
        let offsets = offsets(&first.stack)?;
        match places.iter_mut().find(|(place, _)| place.offsets == offsets) {
            Some((_, alone)) => *alone = true,
            None => places.push((Place { offsets, ..Place::default() }, false)),
        }
    }
    Some(places).filter(|places| (1..=MOST_PATHS).contains(&places.len()))
}

/// Where a step is.
fn place(step: &Step) -> Option<Place> {
    let (offsets, needs_held) = (offsets(&step.stack)?, !step.held.is_empty());
    Some(Place { offsets, needs_held, ..Place::default() })
}

/// A call, and those that lead to it from the first function that is no wrapper of it.
fn offsets(stack: &[Frame]) -> Option<Vec<u64>> {
    let mut offsets = Vec::new();
    // An inlined call has no frame.
    for frame in stack.iter().filter(|frame| !frame.inlined).take(MOST_FRAMES) {
        frame.module.as_ref()?;
        offsets.push(frame.offset);
        if !wraps(frame) {
            break;
        }
    }
    Some(offsets).filter(|offsets| !offsets.is_empty())
}

fn wraps(frame: &Frame) -> bool {
    frame.wraps && !frame.is_no_wrapper
}
