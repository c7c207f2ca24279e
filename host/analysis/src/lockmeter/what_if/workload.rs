//! The program that is simulated, as the measurement describes it.

use super::super::model::{At, Holds as Timing, Lock, LockThread, MeterReport, Mode, Site};
use super::holds::{Holds, Parts, Sleeps};
use super::machine::{Place, Thread, Workload};
use super::why::Why;

/// Most threads that are simulated.
const MOST_THREADS: usize = 256;
/// Fewest waits that say how long waits are.
const FEWEST_WAITS: u64 = 20;
/// Least part of the waits for the locks of a class at which one lock stands for all.
const OF_ONE: f64 = 0.9;

/// A lock as it was measured.
#[derive(Clone, Debug)]
pub struct Described {
    /// The program, with as many locks as the class has.
    pub load: Workload,
    /// The mean wait for an acquisition, ns.
    pub wait_ns: f64,
    /// By how much the measured mean may be off by chance: two standard errors, as a part of it.
    pub chance: f64,
    /// How long the lock was free in a wait, on average: mostly a woken thread was on its way, ns.
    pub free_ns: f64,
    /// Acquisitions a nanosecond.
    pub rate: f64,
    /// The part of their time that the threads waited for each other otherwise than at locks.
    pub signalled: f64,
    /// Places that a thread takes the lock at about as often as at each other: it may go through them one after the other.
    pub burst: u32,
}

/// A lock's program. The sleeps at `target` within holds of a site are those that a remedy is about.
pub fn describe(
    report: &MeterReport,
    lock: &Lock,
    target: Option<(usize, At)>,
) -> Result<Described, Why> {
    if report.holds() == Some(Timing::Off) || lock.total.hold.count == 0 {
        return Err(Why::HoldsNotTimed);
    }
    if lock.total.contended < FEWEST_WAITS {
        return Err(Why::FewWaits);
    }
    let one = the_one(report, lock);
    let mut places: Vec<Place> = lock
        .sites
        .iter()
        .enumerate()
        .map(|(index, site)| {
            let target = target.filter(|(of, _)| *of == index).map(|(_, at)| at);
            Place { holds: holds(site, target), is_shared: site.mode == Mode::Read }
        })
        .collect();
    let uses: Vec<Use> =
        lock.threads.iter().filter_map(|thread| Use::of(thread, one, lock)).collect();
    if uses.len() < 2 {
        return Err(Why::ThreadsUnknown);
    }
    if uses.len() > MOST_THREADS {
        return Err(Why::ManyThreads);
    }
    let rate = uses.iter().map(|of| of.taken / of.lived).sum();
    let waiting: f64 = uses.iter().map(|of| of.waited / of.lived).sum();
    let signalled: f64 = uses.iter().map(|of| of.taken / of.lived * of.signalled / of.lived).sum();
    let burst = burst(&uses);
    let running = running_part(report, &uses, &mut places);
    let threads = uses.into_iter().map(|of| of.thread(running)).collect();
    let locks = if one.is_some() { 1 } else { usize::try_from(lock.locks).unwrap_or(usize::MAX) };
    let processors = report.processors.max(1) as usize;
    let load = Workload { threads, places, processors, locks };
    let (chance, free_ns) = (chance(lock), free_ns(lock));
    let (wait_ns, signalled) = (waiting / rate, signalled / rate);
    Ok(Described { load, wait_ns, chance, free_ns, rate, signalled, burst })
}

/// The one lock of the class that is waited for, if locks were kept apart.
fn the_one(report: &MeterReport, lock: &Lock) -> Option<u32> {
    let first =
        lock.instances.first().filter(|_| report.by_instance && report.processes.len() == 1)?;
    (first.total.wait.total_ns >= OF_ONE * lock.total.wait.total_ns).then_some(first.inst)
}

/// See [`Described::chance`].
fn chance(lock: &Lock) -> f64 {
    let waits = &lock.total.wait.histogram;
    let count = waits.count() as f64;
    let mean = waits.buckets().map(|(ns, n)| ns * n as f64).sum::<f64>() / count;
    let squares: f64 = waits.buckets().map(|(ns, n)| (ns - mean).powi(2) * n as f64).sum();
    2.0 * (squares / count / count).sqrt() / mean
}

/// See [`Described::free_ns`].
fn free_ns(lock: &Lock) -> f64 {
    let nobody = lock.blame.iter().filter(|blame| blame.holder.is_none());
    let free: f64 = nobody.map(|blame| blame.ns).sum();
    (free / lock.total.contended.max(1) as f64).clamp(1e3, 1e6)
}

fn holds(site: &Site, target: Option<At>) -> Holds {
    let numbers = &site.numbers;
    let mut holds = Holds::of(&numbers.hold.histogram, numbers.hold.total_ns);
    // Where holds are sampled, each stands for several.
    let each = match numbers.hold.count {
        0 => 1.0,
        timed => numbers.acquisitions as f64 / timed as f64,
    };
    let each = each.max(1.0);
    for nested in &site.nested {
        let sleeps = Sleeps { count: nested.count as f64 / each, ns: nested.ns / each };
        holds.sleep(sleeps, target == Some(nested.at));
    }
    holds.without_preemption(site.preempted_ns() / each);
    holds
}

/// What one thread did with the lock.
struct Use {
    taken: f64,
    waited: f64,
    lived: f64,
    signalled: f64,
    /// Time for which it is not known whether the thread ran.
    rest: f64,
    away: f64,
    places: Vec<(usize, f64)>,
}

impl Use {
    fn of(thread: &LockThread, one: Option<u32>, lock: &Lock) -> Option<Self> {
        let sites = || thread.sites.iter().filter(|of| one.is_none_or(|one| of.inst == one));
        let taken: f64 = sites().map(|of| of.acquisitions as f64).sum();
        let waited: f64 = sites().map(|of| of.wait_ns).sum();
        let mean = |site: usize| lock.sites.get(site)?.numbers.hold.mean_ns();
        let held: f64 = sites()
            .map(|of| of.hold_ns.max(of.acquisitions as f64 * mean(of.site).unwrap_or(0.0)))
            .sum();
        let lived = thread.lived_ns;
        if taken <= 0.0 || lived <= 0.0 {
            return None;
        }
        let away = thread.away_ns.min(lived);
        let rest = (lived - waited - held - away).max(0.0);
        let places = sites().map(|of| (of.site, of.acquisitions as f64)).collect();
        Some(Self { taken, waited, lived, signalled: thread.signalled_ns, rest, away, places })
    }

    fn thread(self, running: f64) -> Thread {
        let asleep = self.away + self.rest * (1.0 - running);
        let think =
            Parts { running: self.rest * running / self.taken, asleep: asleep / self.taken };
        Thread { think, places: self.places }
    }
}

/// See [`Described::burst`]: of the thread that takes the lock most often.
fn burst(uses: &[Use]) -> u32 {
    let busiest = uses.iter().max_by(|a, b| a.taken.total_cmp(&b.taken));
    let most = |of: &Use| of.places.iter().map(|(_, taken)| *taken).fold(1.0, f64::max);
    busiest.map_or(1, |of| (of.taken / most(of)).round() as u32)
}

/// The part of the time between acquisitions that is not known to be spent waiting, and in which the threads ran: all have the
/// same. The holds cannot have run for longer than the program did. The rest of them was lost to other programs.
fn running_part(report: &MeterReport, uses: &[Use], places: &mut [Place]) -> f64 {
    let cpu = report.cost.and_then(|cost| cost.program_cpu_ns);
    let cpu = cpu.unwrap_or(report.elapsed_ns as f64 * f64::from(report.processors));
    let rest: f64 = uses.iter().map(|of| of.rest).sum();
    let ran: Vec<f64> = places.iter().map(|of| of.holds.running()).collect();
    let held: f64 = ran.iter().sum();
    if held > cpu {
        for (place, ran) in places.iter_mut().zip(ran) {
            let ns = (held - cpu) * ran / held;
            place.holds.sleep(Sleeps { count: 0.0, ns }, false);
        }
    }
    if rest > 0.0 { ((cpu - held) / rest).clamp(0.0, 1.0) } else { 1.0 }
}
