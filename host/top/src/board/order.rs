//! Orders of locks and threads.

use std::cmp::Ordering;

use lockwright_report::live::{Lock, Thread};

/// By what locks are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOrder {
    /// Threads that wait for it.
    Waiting,
    /// Contended acquisitions.
    Contended,
    /// Acquisitions.
    Acquisitions,
    /// How long it is held.
    Held,
    /// Its name.
    Name,
}

/// By what threads are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadOrder {
    /// How long it waits.
    Waiting,
    /// Locks that it holds.
    Held,
    /// Acquisitions.
    Acquisitions,
    /// Its id.
    Id,
    /// Its name.
    Name,
}

impl LockOrder {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 5] =
        [Self::Name, Self::Acquisitions, Self::Contended, Self::Waiting, Self::Held];

    /// What the user reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Contended => "contended",
            Self::Acquisitions => "acquisitions",
            Self::Held => "held",
            Self::Name => "name",
        }
    }

    /// The one that comes first is less. By rates, or by what was counted in all.
    pub fn compare(self, a: &Lock, b: &Lock, rates: bool) -> Ordering {
        let figure = |lock: &Lock| {
            let (rate, total) = (lock.rates.unwrap_or_default(), &lock.totals);
            match self {
                Self::Waiting if rates => rate.waiting,
                Self::Waiting => total.wait_ns,
                Self::Contended if rates => rate.contended,
                Self::Contended => total.contended as f64,
                Self::Acquisitions if rates => rate.acquisitions,
                Self::Acquisitions => total.acquisitions as f64,
                Self::Held if rates => rate.held,
                Self::Held => total.hold_ns,
                Self::Name => 0.0,
            }
        };
        let by_total = |a: &Lock, b: &Lock| b.totals.wait_ns.total_cmp(&a.totals.wait_ns);
        match self {
            Self::Name => a.name.cmp(&b.name).then_with(|| a.id.cmp(&b.id)),
            _ => figure(b)
                .total_cmp(&figure(a))
                .then_with(|| by_total(a, b))
                .then_with(|| a.id.cmp(&b.id)),
        }
    }
}

impl ThreadOrder {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 5] =
        [Self::Id, Self::Name, Self::Acquisitions, Self::Held, Self::Waiting];

    /// What the user reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Acquisitions => "acquisitions",
            Self::Id => "id",
            Self::Name => "name",
        }
    }

    /// The one that comes first is less.
    pub fn compare(self, a: &Thread, b: &Thread) -> Ordering {
        let by_id = || (a.pid, a.tid).cmp(&(b.pid, b.tid));
        let first = match self {
            Self::Waiting => waits(b).total_cmp(&waits(a)),
            Self::Held => b.held.len().cmp(&a.held.len()),
            Self::Acquisitions => {
                let rate = |thread: &Thread| thread.acquisition_rate.unwrap_or(0.0);
                rate(b).total_cmp(&rate(a)).then(b.acquisitions.cmp(&a.acquisitions))
            }
            Self::Id => Ordering::Equal,
            Self::Name => a.name.cmp(&b.name),
        };
        first.then_with(by_id)
    }
}

/// How long it waits for a thread. Those in a deadlock come first; waits for work, which last long everywhere, come last.
fn waits(thread: &Thread) -> f64 {
    match &thread.wait {
        _ if thread.is_deadlocked => f64::INFINITY,
        Some(wait) if wait.is_for_thread => 1.0 + wait.for_ns.unwrap_or(0.0),
        Some(_) => 0.0,
        None => 0.5,
    }
}
