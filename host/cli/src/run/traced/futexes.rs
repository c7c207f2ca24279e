//! Waits for futexes while they are counted, with names.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use super::helper::{Helper, Met};
use super::places::Known;
use crate::run::attach::numbers;
use lockwright_analysis::attached::Holder;
use lockwright_analysis::finding::Name;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_analysis::traced::futexes::{Places, Stack, is_lock};
use lockwright_analysis::traced::{FutexReport, Message, build_futexes, with_waits_under_way};
use lockwright_console::error::Result;

/// Waits whose locks' holders are looked up: those that last longest.
const MOST_HOLDERS: usize = 200;

/// Files that so many processes ran which have ended are not kept open any longer.
const MOST_ENDED: usize = 1_000;

/// The first news come at once, but after the places of the waits that are under way.
const PATIENCE: Duration = Duration::from_secs(1);

/// `lockwright-bpf`, which counts waits for futexes.
pub struct Futexes {
    helper: Helper,
    /// The first news, until somebody asks.
    first: Option<Message>,
    images: Rc<Images>,
    named: Named,
    /// How long was counted at the last look, ns.
    last_ns: u64,
    /// Processes that have ended since [`Futexes::images`] was new.
    ended: usize,
}

/// What was counted up to a moment.
pub struct Moment {
    /// The waits, those that are under way included.
    pub report: FutexReport,
    /// By thread that waits for a lock: the threads that have it.
    pub holders: HashMap<u32, Vec<u32>>,
}

/// Names that were found already.
#[derive(Default)]
struct Named {
    /// By place: its process and its stack.
    stacks: HashMap<u64, (u32, Stack)>,
    /// By process and address.
    variables: RefCell<HashMap<(u32, u64), Option<Name>>>,
}

impl Futexes {
    /// Begins to count, for one process or for all; there is news each `interval`.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn start(pid: Option<u32>, interval: Duration) -> Result<Self> {
        let ms = interval.as_millis().clamp(1, i32::MAX as u128);
        let arguments = ["futexes".to_owned(), pid.unwrap_or(0).to_string(), ms.to_string()];
        let helper = Helper::start_for(&arguments, pid)?;
        let first = helper.next(PATIENCE)?;
        let (images, named) = (Images::new(DebugDirs::from_env()), Named::default());
        Ok(Self { helper, first, images, named, last_ns: 0, ended: 0 })
    }

    /// What was counted so far, if there is news.
    ///
    /// # Errors
    /// If counting failed.
    pub fn look(&mut self) -> Result<Option<Moment>> {
        let news = self.helper.so_far()?.or(self.first.take());
        let Some(Message::Futexes(mut counted)) = news else { return Ok(None) };
        // Our own threads wait for the news.
        let own = std::process::id();
        counted.rows.retain(|row| row.tgid != own);
        counted.waiting.retain(|wait| wait.tgid != own);
        let counted = with_waits_under_way(counted);
        let mut met = self.helper.met();
        let known = Known::with_images(&met, &self.images);
        self.named.add(&known);
        let places = Cached { known: &known, named: &self.named };
        let report = build_futexes(&counted, &places);
        let since_ns = report.elapsed_ns.saturating_sub(self.last_ns);
        self.last_ns = report.elapsed_ns;
        let holders = holders(&report, since_ns, &known);
        drop(known);
        let live: HashSet<u32> = counted.rows.iter().map(|row| row.tgid).collect();
        self.ended += forget(&mut met, &live);
        drop(met);
        self.named.forget(&live);
        if self.ended > MOST_ENDED {
            (self.images, self.ended) = (Images::new(DebugDirs::from_env()), 0);
        }
        Ok(Some(Moment { report, holders }))
    }

    /// Ends it.
    ///
    /// # Errors
    /// If counting failed.
    pub fn finish(self) -> Result<()> {
        self.helper.finish().map(drop)
    }
}

/// The threads that have the locks which threads wait for. A thread that waits itself counts only if it has waited since
/// before the last look, `since_ns` ago: holders are read after the waits, and it may have what it waited for by then.
fn holders(report: &FutexReport, since_ns: u64, known: &Known<'_>) -> HashMap<u32, Vec<u32>> {
    let began: HashMap<u32, u64> =
        report.waiting.iter().map(|wait| (wait.tid, wait.for_ns)).collect();
    let has_moved = |tid: &u32| began.get(tid).is_some_and(|&for_ns| for_ns < since_ns);
    let mut tids: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    let waits = report.waiting.iter().filter(|wait| is_lock(wait.kind)).take(MOST_HOLDERS);
    let mut holders = HashMap::new();
    for wait in waits {
        let numbers = tids.entry(wait.pid).or_insert_with(|| numbers(wait.pid));
        let own: Vec<u32> = numbers.iter().map(|(_, own)| *own).collect();
        let Some(known) = known.wait(wait.pid, wait.address, &wait.stack, &own) else { continue };
        let holder = match known.holder {
            Holder::Thread(tid) => {
                numbers.iter().find(|(_, own)| *own == tid).map(|&(outer, _)| outer)
            }
            Holder::Elsewhere(tid) => Some(tid),
            _ => None,
        };
        let holder = holder.filter(|tid| !has_moved(tid));
        holders.extend(holder.map(|holder| (wait.tid, vec![holder])));
    }
    holders
}

/// Forgets places, which have names by now, and processes that have ended: how many.
fn forget(met: &mut Met, live: &HashSet<u32>) -> usize {
    met.places = Vec::new();
    let before = met.processes.len();
    met.processes
        .retain(|pid, _| live.contains(pid) || fs::metadata(format!("/proc/{pid}")).is_ok());
    before - met.processes.len()
}

impl Named {
    fn add(&mut self, known: &Known<'_>) {
        for (place, pid) in known.all() {
            self.stacks.insert(place, (pid, known.stack(place)));
        }
    }

    fn forget(&mut self, live: &HashSet<u32>) {
        let is_alive =
            |pid: &u32| live.contains(pid) || fs::metadata(format!("/proc/{pid}")).is_ok();
        self.stacks.retain(|_, (pid, _)| is_alive(pid));
        // Most words of threads are used once.
        self.variables.get_mut().retain(|(pid, _), name| live.contains(pid) && name.is_some());
    }
}

/// Names, each found once.
struct Cached<'n, 'c> {
    known: &'n Known<'c>,
    named: &'n Named,
}

impl Places for Cached<'_, '_> {
    fn stack(&self, place: u64) -> Stack {
        self.named.stacks.get(&place).map_or_else(|| Rc::from([]), |(_, stack)| Rc::clone(stack))
    }

    fn variable(&self, pid: u32, address: u64) -> Option<Name> {
        let mut variables = self.named.variables.borrow_mut();
        let name = variables.entry((pid, address));
        name.or_insert_with(|| self.known.variable(pid, address)).clone()
    }

    fn command(&self, pid: u32) -> String {
        self.known.command(pid)
    }
}
