//! Waits for the kernel's own locks in lockmeter's table, as far as they are known: lockmeter
//! counted acquisitions in the kernel, and these are waits alone.

use crate::lockmeter::compat::format::{blank, percent, time};
use crate::prose::kernel_locks::name;
use crate::prose::words::plain;
use lockwright_analysis::traced::kernel::{KernelKind, KernelLock};
use lockwright_analysis::traced::{KernelReport, Waits};

/// A section, and which kinds are in it.
const SECTIONS: &[(&str, &[KernelKind])] = &[
    ("SPINLOCKS", &[KernelKind::Spinlock]),
    ("MUTEXES", &[KernelKind::Mutex, KernelKind::RtMutex, KernelKind::Semaphore]),
    ("RWLOCK READS", &[KernelKind::RwlockRead, KernelKind::RwsemRead, KernelKind::PercpuRwsemRead]),
    (
        "RWLOCK WRITES",
        &[KernelKind::RwlockWrite, KernelKind::RwsemWrite, KernelKind::PercpuRwsemWrite],
    ),
];

/// The columns of lockmeter's section of spinlocks.
const TITLES: &str =
    "  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME";

/// The text for a number that contention events do not have.
const UNKNOWN: &str = "    ?";

/// Renders head and sections; ends with a newline.
pub fn render(report: &KernelReport) -> String {
    let mut out = format!(
        "{}\nSystem: the running kernel, {} CPUs\nTotal time: {:.2} s\n\
         From lock:contention_begin and contention_end. `?` is what these do not tell: UTIL, HOLD,\n\
         CON, NOWAIT and RJECT need acquisitions without contention. TOTAL is of contended ones.\n\
         Selected: all locks that were waited for.\n\n",
        "_".repeat(121),
        report.cpus,
        report.elapsed_ns as f64 / 1e9
    );
    for (title, kinds) in SECTIONS {
        section(title, kinds, report, &mut out);
    }
    out + &format!("{}\n", "_".repeat(121))
}

fn section(title: &str, kinds: &[KernelKind], report: &KernelReport, out: &mut String) {
    *out += &"- ".repeat(52);
    *out += &format!("\n{title:<18}HOLD            WAIT\n{TITLES}\n\n");
    let machine_ns = report.cpus as f64 * report.elapsed_ns as f64;
    let of = |lock: &KernelLock| {
        let mut sum = Waits::default();
        let sites = lock.sites.iter().filter(|site| kinds.contains(&site.kind));
        sites.for_each(|site| sum.add(site.waits));
        sum
    };
    let mut total = Waits::default();
    report.locks.iter().for_each(|lock| total.add(of(lock)));
    *out += &format!("{}  *TOTAL*\n", line(&total, machine_ns));
    for lock in &report.locks {
        let sum = of(lock);
        if sum.count == 0 {
            continue;
        }
        *out += &format!("\n{}  {}\n", line(&sum, machine_ns), name(lock).replace('`', ""));
        // Lockmeter's callers are one frame.
        let mut callers: Vec<(&str, Waits)> = Vec::new();
        for site in lock.sites.iter().filter(|site| kinds.contains(&site.kind)) {
            let caller = site.stack.first().map_or("?", String::as_str);
            match callers.iter_mut().find(|(own, _)| *own == caller) {
                Some((_, waits)) => waits.add(site.waits),
                None => callers.push((caller, site.waits)),
            }
        }
        for (caller, waits) in callers {
            *out += &format!("{}    {}\n", line(&waits, machine_ns), plain(caller));
        }
    }
    out.push('\n');
}

/// UTIL, CON, HOLD (mean and max), WAIT (mean, max, part of the processors' time), TOTAL, NOWAIT,
/// SPIN and RJECT.
fn line(waits: &Waits, machine_ns: f64) -> String {
    let wait = match waits.count {
        0 => format!("    0us{}", blank(15)),
        _ => format!(
            " {}({})({})",
            time(waits.mean_ns()),
            time(waits.max_ns as f64),
            percent(waits.total_ns as f64, machine_ns)
        ),
    };
    let hold = format!("{:>7}{}", "?", blank(8));
    let count = waits.count;
    format!(" {UNKNOWN} {UNKNOWN}{hold}{wait}{count:10} {UNKNOWN} {UNKNOWN} {UNKNOWN}")
}
