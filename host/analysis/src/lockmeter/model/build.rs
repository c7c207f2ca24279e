//! Puts the ledgers' sums together: sites that are one place become one, locks of one class one
//! lock.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::layout::engines;
use lockwright_ledger::rows::meter::{self as rows, blame_kind, site_flag, wait_kind};
use lockwright_ledger::rows::{Class, Module, lock_kind, mode};
use lockwright_ledger::{Ledger, readers_word};

use super::at::At;
use super::clock::Ticks;
use super::end::{self, End};
use super::numbers::{Numbers, Times};
use super::report::{
    Blame, Call, Futex, Holds, Instance, Lock, MeterReport, Mode, Nested, Process, Site, Wait,
    WaitKind, Waker, WakerKind,
};
use super::site_table::SiteTable;
use super::sums::{Blames, SiteRows};
use super::{by_thread, live, order, waiting};
use crate::all_symbols::AllSymbols;
use crate::analyse::{describe, in_order_of_start};
use crate::completeness;
use crate::finding::Frame;
use crate::finding::coverage::{Completeness, Gap, Note, Untimed};
use crate::finding::futex::FutexKind;
use crate::lockmeter::timeline;
use crate::model::{
    ClassGroup, ClassKey, Classes, Sources, Symbolise, code_of, missing_names, place_key, place_of,
};

use crate::process_end::KilledChildren;
use crate::symbolize::futexes;

/// Whether lockmeter wrote the ledger.
pub fn is_metered(ledger: &Ledger) -> bool {
    ledger.header().engines & engines::LOCKMETER != 0
}

/// What lockmeter measured in the processes of a run; the ledgers of other engines only help with
/// names. `ends` are those that are known of processes otherwise than by their ledgers.
pub fn build(ledgers: &[Ledger], ends: &[End]) -> MeterReport {
    build_with(ledgers, &AllSymbols::new(ledgers).each(), ends)
}

/// As [`build`], with names from `symbols[i]` for `ledgers[i]`.
pub fn build_with(ledgers: &[Ledger], symbols: &[&dyn Symbolise], ends: &[End]) -> MeterReport {
    let sources = Sources::new(ledgers, symbols);
    let mut processes: Vec<Process> = Vec::new();
    let mut ended = Vec::new();
    let killed = KilledChildren::of(ledgers);
    let mut order = in_order_of_start(ledgers);
    order.retain(|&index| is_metered(&ledgers[index]));
    let headers = || order.iter().map(|&index| ledgers[index].header());
    let start = headers().map(|header| header.start_ns).min().unwrap_or(0);
    let timeline = timeline::Builder::new(start);
    let mut builder = Builder { are_several: order.len() > 1, timeline, ..Builder::default() };
    for &index in &order {
        let source = Source::new(&sources, index, processes.len(), ends);
        builder.add(&source);
        processes.push(Process { end: killed.end(&ledgers[index]), ..source.process() });
        ended.push(source.end_ns);
    }
    let end = ended.into_iter().max().unwrap_or(0);
    let by_instance = !processes.is_empty() && headers().all(|header| header.by_instance != 0);
    let processors = headers().map(|header| header.processors).max().unwrap_or(0).max(1);
    let gaps = order.iter().flat_map(|&index| {
        let pid = ledgers[index].header().pid;
        let missing = completeness::missing(&ledgers[index]);
        missing.into_iter().map(move |missing| Gap { pid, missing })
    });
    let completeness = Completeness { gaps: gaps.collect() };
    let mut report = MeterReport {
        elapsed_ns: end.saturating_sub(start),
        lost: processes.iter().fold(0, |sum: u64, process| sum.saturating_add(process.lost)),
        processes,
        completeness,
        by_instance,
        processors,
        ..builder.finish()
    };
    order::sort(&mut report);
    report.modules = missing_names(symbols, report.frames());
    report
}

/// The last moment that is known of a process which did not say when it ended, CLOCK_MONOTONIC.
fn last_known(ledger: &Ledger, ticks: &Ticks, sums: &SiteRows<'_>) -> u64 {
    let header = ledger.header();
    sums.held_since()
        .chain(waiting::since(ledger))
        .map(|since| ticks.monotonic_ns(since))
        .fold(header.clock_pairs[3].max(header.start_ns), u64::max)
}

/// One ledger that is read.
struct Source<'a> {
    ledger: &'a Ledger,
    symbols: &'a dyn Symbolise,
    /// Its place among the ledgers.
    index: usize,
    /// Its process' place in the report.
    process: usize,
    classes: Classes<'a>,
    ticks: Ticks,
    holds: Holds,
    end_ns: u64,
    /// That is when it ended, not the last that is known of it.
    has_ended: bool,
    sums: SiteRows<'a>,
    /// Why times are missing.
    untimed: Option<Untimed>,
    /// Those of all ledgers.
    all_symbols: &'a [&'a dyn Symbolise],
}

impl<'a> Source<'a> {
    fn new(sources: &Sources<'a>, index: usize, process: usize, ends: &[End]) -> Self {
        let ledger = &sources.ledgers[index];
        let header = ledger.header();
        let (ticks, untimed) = match Ticks::new(header) {
            Ok(ticks) => (ticks, None),
            Err(why) => (Ticks::UNKNOWN, Some(why)),
        };
        let sums = SiteRows::new(ledger);
        let end = match header.end_ns {
            // Killed, or still running.
            0 => end::of(sources.ledgers, index, ends),
            end => Some(end),
        };
        let end_ns = end.unwrap_or_else(|| last_known(ledger, &ticks, &sums));
        let holds = match header.hold_sample {
            0 => Holds::Off,
            1 => Holds::Exact,
            n => Holds::Sampled(n),
        };
        let classes = Classes::new(sources, index);
        let symbols = sources.symbols(index);
        let has_ended = end.is_some();
        Self {
            ledger,
            symbols,
            index,
            process,
            classes,
            ticks,
            holds,
            end_ns,
            has_ended,
            sums,
            untimed,
            all_symbols: sources.all_symbols(),
        }
    }

    /// Where the locks of a class are created; empty for static ones.
    fn created(&self, group: &ClassGroup) -> Rc<[Frame]> {
        let (ledger, stack) = group.created;
        if stack == 0 { Rc::default() } else { self.all_symbols[ledger].stack(stack) }
    }

    /// The variable at an address of the process.
    fn variable_at(&self, addr: u64) -> Option<String> {
        let modules = self.ledger.rows::<Module>();
        // The last that was there, if the memory had several in turn.
        let at = modules.filter(|(_, module)| (module.start..module.end).contains(&addr)).last();
        let (id, module) = at?;
        let offset = addr.wrapping_sub(module.bias);
        let symbol = self.symbols.data(id, offset)?;
        Some(match offset - symbol.start {
            0 => symbol.name,
            within => format!("{}+{within:#x}", symbol.name),
        })
    }

    /// Locks are taken there. Semaphores of a class of which most have proved to be none are no locks.
    fn is_lock(&self, site: &rows::Site) -> bool {
        let class = || self.ledger.get::<Class>(site.class);
        site.wait == wait_kind::LOCK && !class().is_some_and(|class| is_no_lock(&class))
    }

    /// Semaphores that have proved to be no locks.
    fn nones(&self) -> u64 {
        let classes = self.ledger.rows::<Class>();
        classes.map(|(_, class)| u64::from(class.handed_over)).fold(0, u64::saturating_add)
    }

    fn elapsed_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.ledger.header().start_ns)
    }

    fn process(&self) -> Process {
        let header = self.ledger.header();
        let described = describe(self.ledger);
        let (mut threads, mut waiting) = (0u64, 0u64);
        for (_, meter) in self.ledger.rows::<rows::Meter>() {
            threads += u64::from(meter.threads);
            waiting += u64::from(meter.tid != 0 && meter.waiting != 0);
        }
        let locks = self.ledger.rows::<rows::Site>().filter(|(_, site)| self.is_lock(site));
        let acquisitions =
            locks.fold(0, |sum: u64, (row, _)| sum.saturating_add(self.sums.acquisitions(row)));
        let mut notes = described.notes;
        notes.extend(self.untimed.map(Note::Untimed));
        if !self.has_ended {
            notes.push(Note::EndUnknown);
        }
        notes.extend((waiting > 0).then_some(Note::StillWaiting(waiting)));
        Process {
            pid: described.pid,
            exe: described.exe,
            command: described.command,
            exited: described.exited,
            end: described.end,
            token: described.token,
            elapsed_ns: self.elapsed_ns(),
            threads,
            acquisitions,
            locks: header.locks_seen.saturating_sub(self.nones()),
            clock: self.ticks.clock,
            holds: self.holds,
            bounces: header.bounces != 0,
            lost: completeness::lost(self.ledger),
            notes,
        }
    }
}

/// Most of the class's semaphores have proved to be no locks.
fn is_no_lock(class: &Class) -> bool {
    let is_semaphore = class.kind == lock_kind::SEMAPHORE;
    is_semaphore && class.handed_over != 0 && class.handed_over >= class.locks.div_ceil(2)
}

/// A place that takes a lock. There may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LockSite {
    lock: u32,
    place: u32,
    mode: Mode,
    cond_reacquire: bool,
}

/// A place that waits for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WaitSite {
    Wait { kind: WaitKind, call: Option<&'static str>, lock: Option<usize>, place: usize },
    Futex { kind: FutexKind, process: usize, addr: u64, place: usize },
}

/// Waits at a site of a lock that began while a thread of another process held it.
struct OtherProcess {
    lock: usize,
    site: usize,
    tid: u32,
    count: u64,
    ns: f64,
}

/// A thread that is woken alone at a futex has what it was woken for, however soon it waits again. Only calls that wake several do so in
/// vain.
fn drop_lone_wakes(wait: &mut Wait) {
    if wait.kind != WaitKind::Futex {
        return;
    }
    for waker in &mut wait.wakers {
        if waker.count.saturating_mul(2) < waker.calls.saturating_mul(3) {
            waker.in_vain = 0;
        }
    }
    wait.in_vain = wait.wakers.iter().fold(0, |sum, waker| sum.saturating_add(waker.in_vain));
}

#[derive(Default)]
struct Builder {
    report: MeterReport,
    /// Several ledgers are read: classes of one may be those of another.
    are_several: bool,
    /// Where there are several.
    locks: HashMap<ClassKey, usize>,
    /// By merged class of the ledger that is read.
    of_group: Vec<Option<u32>>,
    /// Where in the lock each is.
    sites: HashMap<LockSite, u32>,
    waits: HashMap<WaitSite, usize>,
    places: HashMap<String, usize>,
    instances: HashMap<(usize, usize, u32), usize>,
    /// To be charged once all ledgers are read.
    other_processes: Vec<OtherProcess>,
    /// How long each process held each lock, by the process's threads, and at which site the longest.
    holds_of: HashMap<(usize, usize), (usize, f64)>,
    threads_of: HashMap<u32, usize>,
    /// Wakers whose calls have been counted, by the wait that they ended, ledger and row.
    counted_calls: HashSet<(usize, usize, u32)>,
    /// By lock and site: acquisitions of the call site whose stack is shown, where a place has several.
    shown: HashMap<(usize, usize), u64>,
    timeline: timeline::Builder,
}

impl Builder {
    fn add(&mut self, source: &Source<'_>) {
        self.of_group.clear();
        // The first thread's id is the process's; of others only those are known that live.
        let live = source.ledger.rows::<rows::Meter>().map(|(_, meter)| meter.tid);
        let threads = live.filter(|&tid| tid != 0).chain([source.ledger.header().pid]);
        self.threads_of.extend(threads.map(|tid| (tid, source.process)));
        let mut at = SiteTable::default();
        let sites = |are_locks: bool| {
            let rows = source.ledger.rows::<rows::Site>();
            rows.filter(move |(_, site)| source.is_lock(site) == are_locks)
        };
        // Locks before waits: a wait belongs to a lock if that was ever taken.
        for (row, site) in sites(true) {
            at.insert(row, self.lock_site(source, row, &site));
        }
        let mut wakers: HashMap<u32, rows::Site> = HashMap::new();
        for (row, site) in sites(false) {
            match site.wait {
                wait_kind::FUTEX_WAKE | wait_kind::COND_SIGNAL | wait_kind::COND_BROADCAST => {
                    _ = wakers.insert(row, site);
                }
                wait_kind::FUTEX => at.insert(row, self.futex_site(source, row, &site)),
                wait_kind::ONCE => {
                    _ = wakers.insert(row, site);
                    at.insert(row, self.wait_site(source, row, &site));
                }
                _ => at.insert(row, self.wait_site(source, row, &site)),
            }
        }
        for (row, blames) in source.sums.blames() {
            match at.get(row) {
                At::Wait(from) => self.wakers(source, from, &blames, &wakers),
                from => self.blame(source, from, &blames, &at),
            }
        }
        for (_, readers) in source.ledger.rows::<rows::Readers>() {
            self.readers(source, &readers);
        }
        for (holds_at, waits_at, ns) in
            waiting::unfinished(source.ledger, &source.ticks, source.end_ns)
        {
            self.nested(at.get(holds_at), at.get(waits_at), 1, ns);
        }
        let elapsed_ns = source.elapsed_ns() as f64;
        let measured = by_thread::Measured {
            ledger: source.ledger,
            ticks: &source.ticks,
            end_ns: source.end_ns,
            elapsed_ns,
            at: &at,
        };
        by_thread::add(&mut self.report, measured);
        let moments = waiting::Moments { ticks: &source.ticks, end_ns: source.end_ns };
        let waiters = waiting::waiters(source.ledger, source.process, moments, &at);
        self.timeline.add(source.ledger, source.process, &source.ticks, &at);
        let start_ns = source.ledger.header().start_ns;
        waiters.iter().for_each(|waiter| self.timeline.add_unfinished(waiter, start_ns));
        self.report.waiting.extend(waiters);
        self.report.live.extend(live::threads(source.ledger, source.process, moments, &at));
    }

    fn finish(mut self) -> MeterReport {
        for OtherProcess { lock, site, tid, count, ns } in
            core::mem::take(&mut self.other_processes)
        {
            let process = self.threads_of.get(&tid);
            let held = process.and_then(|&process| self.holds_of.get(&(process, lock)));
            self.charge(lock, (site, held.map(|&(site, _)| site)), count, ns);
        }
        self.report.timeline = self.timeline.finish();
        self.report.waits.iter_mut().for_each(drop_lone_wakes);
        self.report
    }

    /// The waits at the first site of a lock were for the holds at the second, if that is known.
    fn charge(
        &mut self,
        lock: usize,
        (waiter, holder): (usize, Option<usize>),
        count: u64,
        ns: f64,
    ) {
        let blame = &mut self.report.locks[lock].blame;
        match blame.iter_mut().find(|it| (it.waiter, it.holder) == (waiter, holder)) {
            Some(sum) => add(&mut sum.count, &mut sum.ns, count, ns),
            None => blame.push(Blame { waiter, holder, count, ns }),
        }
    }

    /// The lock that a class row stands for.
    fn lock(&mut self, source: &Source<'_>, class: u32) -> usize {
        let group_id = source.classes.group_of(class);
        if let Some(&Some(lock)) = self.of_group.get(group_id as usize) {
            return lock as usize;
        }
        let group = source.classes.group(group_id);
        let key = self.are_several.then(|| source.classes.key(group_id));
        let known = key.as_ref().and_then(|key| self.locks.get(key).copied());
        let locks = &mut self.report.locks;
        let index = known.unwrap_or_else(|| {
            locks.push(Lock {
                first_seen: (source.ledger.header().token, class),
                name: group.name.clone(),
                is_symbol: group.is_symbol,
                by_place: group.by_place.clone(),
                kind: group.kind,
                created: source.created(group),
                origin: group.origin,
                locks: 0,
                measured_ns: 0,
                sites: Vec::new(),
                total: Numbers::default(),
                readers: None,
                blame: Vec::new(),
                instances: Vec::new(),
                threads: Vec::new(),
            });
            locks.len() - 1
        });
        if let Some(key) = key {
            self.locks.insert(key, index);
        }
        let lock = &mut self.report.locks[index];
        lock.locks += group.locks.max(1);
        lock.measured_ns = lock.measured_ns.saturating_add(source.elapsed_ns());
        let places = self.of_group.len().max(group_id as usize + 1);
        self.of_group.resize(places, None);
        self.of_group[group_id as usize] = Some(index as u32);
        index
    }

    /// The lock of a merged class, if it was ever taken.
    fn known_lock(&self, source: &Source<'_>, group: u32) -> Option<usize> {
        let own = self.of_group.get(group as usize).copied().flatten().map(|lock| lock as usize);
        let others = || self.locks.get(&source.classes.key(group)).copied();
        own.or_else(|| self.are_several.then(others)?)
    }

    fn place(&mut self, source: &Source<'_>, site: &rows::Site) -> usize {
        self.place_at(source, site, &source.symbols.stack(site.stack))
    }

    fn place_at(&mut self, source: &Source<'_>, site: &rows::Site, stack: &[Frame]) -> usize {
        let key = match place_of(stack) {
            Some(frame) => place_key(frame),
            None => format!("ledger {}, site {:#x}", source.index, site.site),
        };
        let next = self.places.len();
        *self.places.entry(key).or_insert(next)
    }

    fn lock_site(&mut self, source: &Source<'_>, row: u32, site: &rows::Site) -> At {
        let lock = self.lock(source, site.class);
        let kind = source.classes.kind(site.class);
        let mode = match kind {
            _ if site.mode & mode::READ != 0 => Mode::Read,
            lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => Mode::Write,
            _ => Mode::Exclusive,
        };
        let cond_reacquire = site.flags & site_flag::COND_REACQUIRE != 0;
        let place = self.place(source, site);
        let stack = source.symbols.stack(site.stack);
        let sites = &mut self.report.locks[lock].sites;
        let key = LockSite { lock: lock as u32, place: place as u32, mode, cond_reacquire };
        let index = *self.sites.entry(key).or_insert_with(|| {
            let (numbers, calls, nested) = (Numbers::default(), Vec::new(), Vec::new());
            let (stack, addr) = (Rc::clone(&stack), site.addr);
            let lost_ns = 0.0;
            let site =
                Site { mode, cond_reacquire, stack, place, addr, numbers, calls, nested, lost_ns };
            push_to_few(sites, site);
            sites.len() as u32 - 1
        });
        let index = index as usize;
        let at = At::Lock { lock, site: index };
        let Some(sums) = source.sums.sums(row) else { return at };
        let numbers = sums.numbers(&source.ticks, source.holds, source.end_ns);
        self.report.locks[lock].total.add(&numbers);
        let longest = self.holds_of.entry((source.process, lock)).or_insert((index, 0.0));
        if numbers.hold_ns > longest.1 {
            *longest = (index, numbers.hold_ns);
        }
        let merged = &mut self.report.locks[lock].sites[index];
        let before = merged.numbers.acquisitions;
        add_call(merged, &stack, &numbers);
        merged.numbers.add(&numbers);
        if before == 0 {
            merged.stack = stack;
        } else {
            let most = self.shown.entry((lock, index)).or_insert(before);
            if numbers.acquisitions > *most {
                *most = numbers.acquisitions;
                merged.stack = stack;
            }
        }
        if site.inst != 0 {
            self.instance(source, lock, index, site, numbers);
        }
        at
    }

    fn instance(
        &mut self,
        source: &Source<'_>,
        lock: usize,
        site: usize,
        row: &rows::Site,
        numbers: Numbers,
    ) {
        let instances = &mut self.report.locks[lock].instances;
        let index = *self.instances.entry((lock, source.index, row.inst)).or_insert_with(|| {
            instances.push(Instance {
                pid: source.ledger.header().pid,
                process: source.process,
                inst: row.inst,
                addr: row.addr,
                total: Numbers::default(),
                sites: Vec::new(),
            });
            instances.len() - 1
        });
        let instance = &mut instances[index];
        instance.total.add(&numbers);
        match instance.sites.iter_mut().find(|(at, _)| *at == site) {
            Some((_, sum)) => sum.add(&numbers),
            None => instance.sites.push((site, numbers)),
        }
    }

    fn wait_site(&mut self, source: &Source<'_>, row: u32, site: &rows::Site) -> At {
        let kind = match site.wait {
            wait_kind::COND => WaitKind::Condition,
            // One that counted as a lock, and proved to be none.
            wait_kind::SEMAPHORE | wait_kind::LOCK => WaitKind::Semaphore,
            wait_kind::BARRIER => WaitKind::Barrier,
            wait_kind::JOIN => WaitKind::Join,
            wait_kind::ONCE => WaitKind::Once,
            wait_kind::BLOCKING_CALL => WaitKind::Call,
            _ => WaitKind::Other,
        };
        let call = (kind == WaitKind::Call)
            .then(|| rows::BLOCKING_CALLS.get(site.inst as usize).copied())
            .flatten();
        let group = source.classes.group_of(site.class);
        let is_of_lock = site.class != 0 && site.wait != wait_kind::LOCK;
        let lock = self.known_lock(source, group).filter(|_| is_of_lock);
        let place = self.place(source, site);
        let waits = &mut self.report.waits;
        let has_name =
            matches!(kind, WaitKind::Condition | WaitKind::Semaphore | WaitKind::Barrier);
        let name = || source.symbols.waited_member(site.stack).filter(|_| has_name);
        let index =
            *self.waits.entry(WaitSite::Wait { kind, call, lock, place }).or_insert_with(|| {
                waits.push(Wait {
                    kind,
                    call,
                    name: name(),
                    lock,
                    stack: source.symbols.stack(site.stack),
                    place,
                    waits: 0,
                    blocked: 0,
                    timeouts: 0,
                    wait: Times::default(),
                    in_vain: 0,
                    wakers: Vec::new(),
                    futex: None,
                });
                waits.len() - 1
            });
        let at = At::Wait(index);
        self.count_wait(source, row, at);
        at
    }

    /// Counts what was measured at a row of sites among the waits at `at`.
    fn count_wait(&mut self, source: &Source<'_>, row: u32, at: At) {
        let waits = &mut self.report.waits;
        if let (At::Wait(index), Some(sums)) = (at, source.sums.sums(row)) {
            let numbers = sums.numbers(&source.ticks, source.holds, source.end_ns);
            let wait = &mut waits[index];
            wait.waits = wait.waits.saturating_add(numbers.acquisitions.max(numbers.contended));
            wait.blocked = wait.blocked.saturating_add(numbers.contended);
            wait.timeouts = wait.timeouts.saturating_add(numbers.timeouts);
            wait.wait.add(&numbers.wait);
            if let Some(futex) = &mut wait.futex {
                futex.refused = futex.refused.saturating_add(numbers.rejects);
                // Waits have no holds: the field counts those that a signal ended.
                futex.interrupted = futex.interrupted.saturating_add(numbers.hold.count);
            }
        }
    }

    /// A place that waits at a futex. Where each thread waits at one of its own, they are summed up.
    fn futex_site(&mut self, source: &Source<'_>, row: u32, site: &rows::Site) -> At {
        let stack = source.symbols.stack(site.stack);
        let kind = futexes::kind_of(site.inst, &stack);
        let stack = futexes::folded(&stack);
        let place = self.place_at(source, site, &stack);
        let addr = if futexes::is_of_thread(kind) { 0 } else { site.addr };
        let key = WaitSite::Futex { kind, process: source.process, addr, place };
        let waits = &mut self.report.waits;
        let index = *self.waits.entry(key).or_insert_with(|| {
            waits.push(Wait {
                kind: WaitKind::Futex,
                call: None,
                name: None,
                lock: None,
                stack: Rc::clone(&stack),
                place,
                waits: 0,
                blocked: 0,
                timeouts: 0,
                wait: Times::default(),
                in_vain: 0,
                wakers: Vec::new(),
                futex: Some(Futex {
                    kind,
                    addr,
                    name: source.variable_at(addr),
                    refused: 0,
                    interrupted: 0,
                }),
            });
            waits.len() - 1
        });
        let at = At::Wait(index);
        self.count_wait(source, row, at);
        at
    }

    /// Who ended the waits on a condition or futex.
    fn wakers(
        &mut self,
        source: &Source<'_>,
        from: usize,
        blames: &Blames,
        wakers: &HashMap<u32, rows::Site>,
    ) {
        for (&(kind, other), &(count, ticks)) in blames {
            if kind == blame_kind::IN_VAIN {
                let in_vain = &mut self.report.waits[from].in_vain;
                *in_vain = in_vain.saturating_add(count);
            }
            let Some(site) = wakers.get(&other) else { continue };
            let stack = source.symbols.stack(site.stack);
            let (by, stack) = match site.wait {
                wait_kind::COND_SIGNAL => (WakerKind::Signal, stack),
                wait_kind::COND_BROADCAST => (WakerKind::Broadcast, stack),
                wait_kind::ONCE => (WakerKind::Routine, stack),
                _ => (WakerKind::Wake, futexes::folded(&stack)),
            };
            let place = self.place_at(source, site, &stack);
            let calls = match self.counted_calls.insert((from, source.index, other)) {
                true => source.sums.acquisitions(other),
                false => 0,
            };
            let wakers = &mut self.report.waits[from].wakers;
            let known = wakers.iter().position(|it| (it.place, it.kind) == (place, by));
            let index = known.unwrap_or_else(|| {
                let (calls, count, ns, in_vain) = (0, 0, 0.0, 0);
                wakers.push(Waker { stack, place, kind: by, calls, count, ns, in_vain });
                wakers.len() - 1
            });
            let waker = &mut wakers[index];
            waker.calls = waker.calls.saturating_add(calls);
            match kind {
                blame_kind::HOLDER => {
                    add(&mut waker.count, &mut waker.ns, count, source.ticks.ns(ticks));
                }
                blame_kind::IN_VAIN => waker.in_vain = waker.in_vain.saturating_add(count),
                _ => {}
            }
        }
    }

    /// Adds the holders that the waits at `from` were for, and what its holds were spent on.
    fn blame(&mut self, source: &Source<'_>, from: At, blames: &Blames, at: &SiteTable) {
        let At::Lock { lock, site } = from else { return };
        for (&(kind, other), &(count, ticks)) in blames {
            let ns = source.ticks.ns(ticks);
            let to = at.get(other);
            // The holder's site, where it is one of this lock.
            let holder = match to {
                At::Lock { lock: of, site } if of == lock => Some(site),
                _ => None,
            };
            match (kind, holder) {
                (blame_kind::NESTED, _) => self.nested(from, to, count, ns),
                (blame_kind::HOLDER, _) => self.charge(lock, (site, holder), count, ns),
                (blame_kind::OTHER_PROCESS, _) => {
                    self.other_processes.push(OtherProcess { lock, site, tid: other, count, ns });
                }
                (blame_kind::LOST, _) => {
                    self.report.locks[lock].sites[site].lost_ns += ns;
                }
                _ => {}
            }
        }
    }

    /// Holds of the lock at `from` were spent waiting at `to`.
    fn nested(&mut self, from: At, to: At, count: u64, ns: f64) {
        let At::Lock { lock, site } = from else { return };
        let nested = &mut self.report.locks[lock].sites[site].nested;
        match nested.iter_mut().find(|nested| nested.at == to) {
            Some(sum) => add(&mut sum.count, &mut sum.ns, count, ns),
            None => nested.push(Nested { at: to, count, ns }),
        }
    }

    fn readers(&mut self, source: &Source<'_>, row: &rows::Readers) {
        if row.max == 0 {
            return;
        }
        let lock = self.lock(source, row.class);
        let readers = self.report.locks[lock].readers.get_or_insert_default();
        readers.most = readers.most.max(row.max.into());
        // Where holds are sampled, so are the periods that they begin.
        let each = if let Holds::Sampled(n) = source.holds { n } else { 1 };
        let busy = Times {
            count: row.periods.saturating_mul(each.into()),
            total_ns: source.ticks.ns(row.ticks) * f64::from(each),
            max_ns: source.ticks.ns(row.max_ticks),
            ..Times::default()
        };
        readers.busy.add(&busy);
        if readers_word::now(row.now_since) > 0 && readers_word::is_timed(row.now_since) {
            let end = source.ticks.reading(source.end_ns);
            let ns = source.ticks.ns(readers_word::ticks(row.now_since, end));
            readers.busy.add(&Times { count: 1, total_ns: ns, max_ns: ns, ..Times::default() });
        }
    }
}

fn add(count: &mut u64, ns: &mut f64, by: u64, by_ns: f64) {
    *count = count.saturating_add(by);
    *ns += by_ns;
}

/// Adds to what has one or two elements in most reports: space for four would be most of a large one.
pub(crate) fn push_to_few<T>(items: &mut Vec<T>, item: T) {
    if items.len() < 4 {
        items.reserve_exact(1);
    }
    items.push(item);
}

/// Adds what was measured at a call to the calls of a site whose sum does not have it yet. The same line of one
/// function may have several addresses, as of a loop that is unrolled, and may be in other processes, too.
fn add_call(site: &mut Site, stack: &Rc<[Frame]>, numbers: &Numbers) {
    type Code<'s> = Option<(Option<&'s str>, Option<&'s str>, Option<u64>)>;
    fn code(stack: &[Frame]) -> Code<'_> {
        let frame = code_of(stack)?;
        let offset = frame.function.is_none().then_some(frame.offset);
        Some((frame.module.as_deref(), frame.function.as_deref(), offset))
    }
    let this = code(stack);
    if site.calls.is_empty() {
        if !site.is_counted() || code(&site.stack) == this {
            return;
        }
        site.calls.push(Call { stack: Rc::clone(&site.stack), numbers: site.numbers.clone() });
    }
    match site.calls.iter_mut().find(|call| code(&call.stack) == this) {
        Some(call) => call.numbers.add(numbers),
        None => site.calls.push(Call { stack: Rc::clone(stack), numbers: numbers.clone() }),
    }
}
