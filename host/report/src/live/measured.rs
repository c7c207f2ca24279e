//! A moment by what lockmeter has recorded.

use super::moment::{Advice, Blame, Held, Lock, Moment, Process, Site, Thread, Totals, Wait};
use super::places::Places;
use crate::lockmeter::advice::advise;
use crate::lockmeter::text::waiting::waits_for;
use crate::prose::coverage;
use crate::prose::words::{command, plain};
use crate::text::stack::shorten;
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::lockmeter::model::{self, At, MeterReport, Mode, Numbers, WaitKind};
use lockwright_analysis::process_end::ProcessEnd;

/// Sites kept of a lock.
const MOST_SITES: usize = 32;

/// Pairs of a waiter and a holder kept of a lock.
const MOST_BLAME: usize = 32;

/// What the kernel knows about a thread.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its name, empty if it has none or is gone.
    pub name: String,
    /// What it does, for a thread that waits for nothing that is watched: "runs", "sleeps".
    pub state: String,
}

/// The moment that a measurement is of. `about` has what is known of a process's thread besides.
pub fn of_report(
    report: &MeterReport,
    places: &Places,
    about: impl Fn(u32, u32) -> About,
) -> Moment {
    let locks: Vec<Lock> = report.locks.iter().map(|lock| lock_of(lock, places)).collect();
    let mut moment = Moment {
        is_measured: !report.processes.is_empty(),
        counts_waits: !report.processes.is_empty(),
        processes: report.processes.iter().map(process).collect(),
        locks,
        ..Moment::default()
    };
    moment.threads = report.live.iter().map(|it| thread(report, &moment, places, it)).collect();
    add_waits(report, &mut moment, places);
    for thread in &mut moment.threads {
        let About { name, state } = about(thread.pid, thread.tid);
        (thread.name, thread.state) = (plain(&name), state);
    }
    moment.advice = advise(report)
        .into_iter()
        .map(|advice| Advice {
            rule: advice.rule.to_owned(),
            lock: advice
                .lock()
                .and_then(|lock| moment.locks.get(lock))
                .map_or_else(String::new, |lock| lock.id.clone()),
            text: advice.text,
            confidence: advice.confidence.to_string(),
        })
        .collect();
    // While it runs, waits are under way, and its end is not known.
    let is_of_live = |note: &&Note| matches!(note, Note::StillWaiting(_) | Note::EndUnknown);
    let notes = report.processes.iter().flat_map(|process| &process.notes);
    moment.notes = notes.filter(|note| !is_of_live(note)).map(coverage::note).collect();
    moment
}

fn process(process: &model::Process) -> Process {
    Process {
        pid: process.pid,
        command: plain(&command(&process.exe, &process.command)),
        runs: process.end == ProcessEnd::Running || process.end == ProcessEnd::Unknown,
        elapsed_ns: process.elapsed_ns,
        locks: process.locks,
    }
}

fn id(lock: &model::Lock) -> String {
    let (token, class) = lock.first_seen;
    format!("{token:x}.{class}")
}

/// The name of a lock as reports have it.
fn name(lock: &model::Lock) -> String {
    shorten(&plain(&lock.name))
}

fn lock_of(lock: &model::Lock, places: &Places) -> Lock {
    let sites = lock.sites.iter().take(MOST_SITES);
    let is_kept = |site: usize| site < MOST_SITES;
    let blame = lock.blame.iter().filter(|blame| is_kept(blame.waiter)).take(MOST_BLAME);
    Lock {
        id: id(lock),
        name: name(lock),
        kind: LockKind::of(lock.kind).name().to_owned(),
        locks: lock.locks,
        totals: totals(&lock.total),
        rates: None,
        sites: sites
            .map(|site| Site {
                how: match (site.cond_reacquire, site.mode) {
                    (true, _) => "re-locked after a condition wait".to_owned(),
                    (_, Mode::Read) => "read".to_owned(),
                    (_, Mode::Write) => "write".to_owned(),
                    (_, Mode::Exclusive) => String::new(),
                },
                place: places.place(&site.stack),
                totals: totals(&site.numbers),
                rates: None,
            })
            .collect(),
        blame: blame
            .map(|blame| Blame {
                waiter: blame.waiter,
                holder: blame.holder.filter(|&holder| is_kept(holder)),
                count: blame.count,
                ns: blame.ns,
            })
            .collect(),
        wakers: Vec::new(),
    }
}

fn totals(numbers: &Numbers) -> Totals {
    Totals {
        acquisitions: numbers.acquisitions,
        contended: numbers.contended,
        wait_ns: numbers.wait.total_ns,
        longest_wait_ns: numbers.wait.max_ns,
        hold_ns: numbers.hold_ns,
    }
}

fn thread(
    report: &MeterReport,
    moment: &Moment,
    places: &Places,
    thread: &model::LiveThread,
) -> Thread {
    let held = thread.held.iter().map(|held| {
        let (lock, site) = match held.at {
            At::Lock { lock, site } => (moment.locks.get(lock), report.site(lock, site)),
            _ => (None, None),
        };
        Held {
            lock: lock.map_or_else(String::new, |lock| lock.id.clone()),
            name: lock.map_or_else(String::new, |lock| lock.name.clone()),
            addr: held.addr,
            place: site.map_or_else(Default::default, |site| places.place(&site.stack)),
            for_ns: held.held_ns,
        }
    });
    Thread {
        pid: thread.pid,
        tid: thread.tid,
        acquisitions: thread.acquisitions,
        wait_ns: thread.wait_ns,
        held: held.collect(),
        ..Thread::default()
    }
}

/// Adds the waits that are under way to the threads that are in them, and to what their locks were waited for.
fn add_waits(report: &MeterReport, moment: &mut Moment, places: &Places) {
    for waiter in &report.waiting {
        let mut wait = Wait {
            what: plain(&waits_for(report, waiter)),
            for_ns: waiter.waited_ns,
            holders: waiter.holders.iter().map(|holder| holder.tid).collect(),
            ..Wait::default()
        };
        match waiter.at {
            At::Lock { lock, site } => {
                wait.is_for_thread = true;
                wait.place = report
                    .site(lock, site)
                    .map_or_else(Default::default, |site| places.place(&site.stack));
                if let Some(lock) = moment.locks.get_mut(lock) {
                    wait.lock.clone_from(&lock.id);
                    let waited = waiter.waited_ns.unwrap_or(0.0);
                    lock.totals.wait_ns += waited;
                    if let Some(site) = lock.sites.get_mut(site) {
                        site.totals.wait_ns += waited;
                    }
                }
            }
            At::Wait(index) => {
                if let Some(what) = report.waits.get(index) {
                    wait.place = places.place(&what.stack);
                    wait.is_for_thread = matches!(what.kind, WaitKind::Join | WaitKind::Once);
                }
            }
            At::Unknown => {}
        }
        if let Some(named) = waiter.names {
            wait.holders.push(named);
        }
        let is_it = |thread: &&mut Thread| (thread.pid, thread.tid) == (waiter.pid, waiter.tid);
        match moment.threads.iter_mut().find(is_it) {
            Some(thread) => thread.wait = Some(wait),
            None => moment.threads.push(Thread {
                pid: waiter.pid,
                tid: waiter.tid,
                wait: Some(wait),
                ..Thread::default()
            }),
        }
    }
}
