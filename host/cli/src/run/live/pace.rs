//! What was done to locks from one look at the ledgers to the next.

use std::collections::HashMap;

use lockwright_analysis::finding::{Frame, Name};
use lockwright_analysis::lockmeter::model::{
    At, Lock, MeterReport, Waiter, build_with, is_metered,
};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::under_way::{self, Purpose};
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Thread;
use lockwright_report::text::Hottest;

/// What was done.
#[derive(Debug)]
pub struct Pace {
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of them found the lock held.
    pub contended: u64,
    /// Threads that wait.
    pub waits: u64,
    /// The lock that was waited for longest; if that is not measured, the one that most threads wait for.
    pub hottest: Option<Hottest>,
}

/// What had been done at the last look.
#[derive(Debug, Default)]
pub struct Paces {
    acquisitions: u64,
    contended: u64,
    /// By the name of the class: acquisitions, the waits in ns, and by holder what it had a part in.
    locks: HashMap<String, Sums>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    acquisitions: u64,
    wait_ns: f64,
    holders: HashMap<(Option<String>, u64), f64>,
}

impl Paces {
    /// What was done since the last call.
    pub fn next(&mut self, ledgers: &[Ledger], symbols: &[&dyn Symbolise]) -> Pace {
        let waits = ledgers.iter().map(|ledger| under_way::waits(ledger).len() as u64).sum();
        let (acquisitions, contended, hottest) = if ledgers.iter().any(is_metered) {
            let report = build_with(ledgers, symbols, &[]);
            let total = report.total();
            let hottest = self.hottest_measured(&report);
            (total.acquisitions, total.contended, hottest)
        } else {
            let (acquisitions, contended) = counts(ledgers);
            (acquisitions, contended, most_waited_for(ledgers, symbols))
        };
        let pace = Pace {
            acquisitions: acquisitions.saturating_sub(self.acquisitions),
            contended: contended.saturating_sub(self.contended),
            waits,
            hottest,
        };
        (self.acquisitions, self.contended) = (acquisitions, contended);
        pace
    }

    /// The lock with the longest waits that have ended since; if there are none, the one that most threads wait for.
    fn hottest_measured(&mut self, report: &MeterReport) -> Option<Hottest> {
        let mut hottest: Option<(f64, Hottest)> = None;
        let waiters = |lock: usize| {
            let of = move |it: &&Waiter| matches!(it.at, At::Lock { lock: at, .. } if at == lock);
            report.waiting.iter().filter(of)
        };
        let stack = |lock: &Lock, site: Option<usize>| {
            let site = site.and_then(|site| lock.sites.get(site));
            site.map_or_else(Vec::new, |site| site.stack.to_vec())
        };
        for (number, lock) in report.locks.iter().enumerate() {
            let now = sums(lock);
            let before = self.locks.insert(lock.name.clone(), now.clone()).unwrap_or_default();
            let wait_ns = now.wait_ns - before.wait_ns;
            if wait_ns <= 0.0 || hottest.as_ref().is_some_and(|(most, _)| *most >= wait_ns) {
                continue;
            }
            let part = |site: &usize| {
                let key = key(&lock.sites[*site].stack);
                now.holders.get(&key).unwrap_or(&0.0) - before.holders.get(&key).unwrap_or(&0.0)
            };
            let holder = (0..lock.sites.len()).max_by(|a, b| part(a).total_cmp(&part(b)));
            let holder = holder.filter(|site| part(site) > 0.0);
            let acquisitions = now.acquisitions.saturating_sub(before.acquisitions);
            let lock = Hottest {
                name: Name { text: lock.name.clone(), is_symbol: lock.is_symbol },
                measured: Some((acquisitions, wait_ns)),
                waiters: waiters(number).count() as u64,
                holder: stack(lock, holder),
            };
            hottest = Some((wait_ns, lock));
        }
        let waited_for = || {
            let most = (0..report.locks.len()).max_by_key(|&lock| waiters(lock).count())?;
            let holder = waiters(most).next()?.holders.first();
            let lock = &report.locks[most];
            Some(Hottest {
                name: Name { text: lock.name.clone(), is_symbol: lock.is_symbol },
                measured: None,
                waiters: waiters(most).count() as u64,
                holder: stack(lock, holder.and_then(|holder| holder.site)),
            })
        };
        hottest.map(|(_, lock)| lock).or_else(waited_for)
    }
}

fn sums(lock: &Lock) -> Sums {
    let mut holders = HashMap::new();
    for blame in &lock.blame {
        if let Some(site) = blame.holder.and_then(|site| lock.sites.get(site)) {
            *holders.entry(key(&site.stack)).or_default() += blame.ns;
        }
    }
    let (acquisitions, wait_ns) = (lock.total.acquisitions, lock.total.wait.total_ns);
    Sums { acquisitions, wait_ns, holders }
}

/// What a place is known by from look to look.
fn key(stack: &[Frame]) -> (Option<String>, u64) {
    stack.first().map_or((None, 0), |frame| (frame.module.clone(), frame.offset))
}

/// Acquisitions, and how many found the lock held, of ledgers that lockdep has written.
fn counts(ledgers: &[Ledger]) -> (u64, u64) {
    let of = |ledger: &Ledger| {
        let header = ledger.header();
        let removed = (header.removed_acquisitions, header.removed_contended);
        ledger.rows::<Thread>().fold(removed, |(acquisitions, contended), (_, row)| {
            (acquisitions.saturating_add(row.acquisitions), contended.saturating_add(row.contended))
        })
    };
    ledgers.iter().map(of).fold((0, 0), |(a, c), (acquisitions, contended)| {
        (a.saturating_add(acquisitions), c.saturating_add(contended))
    })
}

/// The lock that most threads wait for now.
fn most_waited_for(ledgers: &[Ledger], symbols: &[&dyn Symbolise]) -> Option<Hottest> {
    let mut most: Option<Hottest> = None;
    for (index, ledger) in ledgers.iter().enumerate() {
        let waits = under_way::waits(ledger).into_iter();
        let wanted: Vec<_> =
            waits.filter(|(_, it)| *it == Purpose::Lock).map(|(id, _)| id).collect();
        // Most of the time there is none, and names take long.
        if wanted.is_empty() {
            continue;
        }
        let described = under_way::describe(ledgers, symbols, index, |id| wanted.contains(&id));
        let mut by_lock: HashMap<(Name, Option<u64>), Hottest> = HashMap::new();
        for under_way::Described { waiting, .. } in described {
            let Some(lock) = waiting.lock else { continue };
            let holder = || {
                let first = waiting.holders.first();
                first.map_or_else(Vec::new, |holder| holder.stack.clone())
            };
            let of = by_lock.entry((lock.name.clone(), lock.addr)).or_insert_with(|| Hottest {
                name: lock.name,
                measured: None,
                waiters: 0,
                holder: holder(),
            });
            of.waiters += 1;
        }
        for lock in by_lock.into_values() {
            if most.as_ref().is_none_or(|most| lock.waiters > most.waiters) {
                most = Some(lock);
            }
        }
    }
    most
}
