//! Waits that last longer than the user wants (`--wait-threshold`).

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use lockwright_analysis::under_way::{self, LongWait, Purpose, WaitId};
use lockwright_ledger::TableId;

use super::budget::Budget;
use super::place::Place;
use super::worker::{DescribedWait, Question};
use crate::run::clocks::monotonic_ns;

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(10);

/// Looks in the time of the threshold: so much of it is a wait reported late at most.
const LOOKS: u32 = 4;

/// The shortest time between two reports.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits of one report that are described.
const MOST_AT_ONCE: usize = 20;

/// Waits that are kept for the end of the run.
const MOST_KEPT: usize = 1000;

/// What waits are known from.
const TABLES: &[TableId] = &[TableId::Threads, TableId::Meters, TableId::Sites];

/// The waits of a run.
#[derive(Debug)]
pub struct LongWaits {
    /// What is long.
    pub threshold: Duration,
    with_events: bool,
    budget: Budget,
    next: Option<Instant>,
    reported: Option<Instant>,
    waits: HashMap<(Place, WaitId), Since>,
    /// Those that were reported.
    pub seen: Vec<LongWait>,
}

/// A wait that is under way.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// When it was seen first.
    when: Instant,
    /// It was asked for, and need not be again.
    is_settled: bool,
}

/// What is to be shown.
#[derive(Debug, Default)]
pub struct Shown {
    /// New long waits.
    pub waits: Vec<LongWait>,
    /// How many more there are.
    pub more: u64,
}

impl LongWaits {
    /// Of waits longer than `threshold`, those for events included if the user wants.
    pub fn new(threshold: Duration, with_events: bool) -> Self {
        Self {
            threshold,
            with_events,
            budget: Budget::default(),
            next: None,
            reported: None,
            waits: HashMap::new(),
            seen: Vec::new(),
        }
    }

    /// The time between two looks.
    pub fn interval(&self) -> Duration {
        (self.threshold / LOOKS).max(SHORTEST)
    }

    /// Looks at the waits, if it is time to.
    pub fn look(&mut self, now: Instant, places: &[Place]) {
        if self.next.is_some_and(|next| now < next) || !self.budget.is_due(now) {
            return;
        }
        self.next = Some(now + self.interval());
        let before = std::mem::take(&mut self.waits);
        for place in places {
            let Some(ledger) = place.open_tables(TABLES) else { continue };
            for (id, purpose) in under_way::waits(&ledger) {
                if purpose == Purpose::Event && !self.with_events {
                    continue;
                }
                let key = (place.clone(), id);
                let new = Since { when: now, is_settled: false };
                let since = before.get(&key).copied().unwrap_or(new);
                self.waits.insert(key, since);
            }
        }
        self.budget.spend(now, now.elapsed());
    }

    /// What is to be asked about waits that have become long, if something is.
    pub fn question(&mut self, now: Instant, places: &[Place]) -> Option<Question> {
        if self.reported.is_some_and(|then| now.saturating_duration_since(then) < PAUSE) {
            return None;
        }
        let threshold = self.threshold;
        let mut wanted = HashSet::new();
        for (key, since) in &mut self.waits {
            let is_long = now.saturating_duration_since(since.when) >= threshold;
            if is_long && !since.is_settled {
                since.is_settled = true;
                wanted.insert(key.clone());
            }
        }
        if wanted.is_empty() {
            return None;
        }
        self.reported = Some(now);
        Some(Question::Waits(places.to_vec(), wanted))
    }

    /// What is to be shown of the waits that were asked for and last yet.
    pub fn settle(&mut self, described: Vec<DescribedWait>) -> Shown {
        let (now, now_ns) = (Instant::now(), monotonic_ns());
        let mut shown = Shown::default();
        for DescribedWait { key, token, start_ns, is_for_lock, waiting } in described {
            if !self.with_events && !is_for_lock {
                continue;
            }
            let waited = self.waits.get(&key).map_or(self.threshold, |since| now - since.when);
            let wait = LongWait {
                token,
                waiting,
                waited_ns: u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX),
                seen_ns: now_ns.saturating_sub(start_ns),
            };
            if self.seen.len() < MOST_KEPT {
                self.seen.push(wait.clone());
            }
            match shown.waits.len() < MOST_AT_ONCE {
                true => shown.waits.push(wait),
                false => shown.more += 1,
            }
        }
        shown
    }
}
