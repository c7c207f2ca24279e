//! The measurement in the OpenMetrics text format: totals for Prometheus and its like.

use std::collections::HashMap;
use std::fmt::Write;

use lockwright_analysis::lockmeter::model::{Lock, MeterReport, Mode, Site};
use lockwright_analysis::model::{described, place_of, short_place};

/// A metric of each site.
struct Family {
    /// With the unit, if it has one, at the end.
    name: &'static str,
    unit: &'static str,
    /// What is appended for a counter's samples.
    kind: &'static str,
    help: &'static str,
    value: fn(&Site) -> f64,
}

const NS: f64 = 1e9;

/// All metrics, in order.
const FAMILIES: &[Family] = &[
    Family {
        name: "lockwright_lock_acquisitions",
        unit: "",
        kind: "counter",
        help: "Acquisitions of the lock at the site.",
        value: |site| site.numbers.acquisitions as f64,
    },
    Family {
        name: "lockwright_lock_contended",
        unit: "",
        kind: "counter",
        help: "Acquisitions that had to wait.",
        value: |site| site.numbers.contended as f64,
    },
    Family {
        name: "lockwright_lock_rejected",
        unit: "",
        kind: "counter",
        help: "Trylocks that found the lock held.",
        value: |site| site.numbers.rejects as f64,
    },
    Family {
        name: "lockwright_lock_timeouts",
        unit: "",
        kind: "counter",
        help: "Timed acquisitions that were given up.",
        value: |site| site.numbers.timeouts as f64,
    },
    Family {
        name: "lockwright_lock_wait_seconds",
        unit: "seconds",
        kind: "counter",
        help: "Time spent waiting for the lock.",
        value: |site| site.numbers.wait.total_ns / NS,
    },
    Family {
        name: "lockwright_lock_wait_max_seconds",
        unit: "seconds",
        kind: "gauge",
        help: "The longest wait.",
        value: |site| site.numbers.wait.max_ns / NS,
    },
    Family {
        name: "lockwright_lock_hold_seconds",
        unit: "seconds",
        kind: "counter",
        help: "Time that the lock was held; an estimate where holds are sampled.",
        value: |site| site.numbers.hold_ns / NS,
    },
    Family {
        name: "lockwright_lock_hold_max_seconds",
        unit: "seconds",
        kind: "gauge",
        help: "The longest hold that was timed.",
        value: |site| site.numbers.hold.max_ns / NS,
    },
];

/// Renders the metrics; ends with the format's end mark.
pub fn render(report: &MeterReport) -> String {
    let mut text = String::new();
    let sites = labelled(report);
    for family in FAMILIES {
        head(&mut text, family.name, family.unit, family.kind, family.help);
        let total = if family.kind == "counter" { "_total" } else { "" };
        for (labels, site) in &sites {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}{total}{{{labels}}} {}", family.name, (family.value)(site));
        }
    }
    for (name, unit, kind, help, value) in [
        (
            "lockwright_elapsed_seconds",
            "seconds",
            "gauge",
            "How long was measured.",
            report.elapsed_ns as f64 / NS,
        ),
        (
            "lockwright_lost_records",
            "",
            "counter",
            "Records lost for want of space.",
            report.lost as f64,
        ),
    ] {
        head(&mut text, name, unit, kind, help);
        let total = if kind == "counter" { "_total" } else { "" };
        let _ = writeln!(text, "{name}{total} {value}");
    }
    text + "# EOF\n"
}

fn head(text: &mut String, name: &str, unit: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

/// All sites with their labels, no two of which are alike.
fn labelled(report: &MeterReport) -> Vec<(String, &Site)> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut sites = Vec::new();
    for lock in &report.locks {
        for site in &lock.sites {
            let mut labels = labels(lock, site);
            let times = seen.entry(labels.clone()).or_default();
            *times += 1;
            if *times > 1 {
                labels += &format!(",nth=\"{times}\"");
            }
            sites.push((labels, site));
        }
    }
    sites
}

fn labels(lock: &Lock, site: &Site) -> String {
    let mode = match site.mode {
        Mode::Exclusive => "exclusive",
        Mode::Write => "write",
        Mode::Read => "read",
    };
    let place = place_of(&site.stack).map_or_else(|| "unknown".to_owned(), short_place);
    let place = if site.cond_reacquire { format!("{place}, condition wait") } else { place };
    let (name, place) = (escape(&lock.name), escape(&place));
    format!("lock=\"{name}\",kind=\"{}\",mode=\"{mode}\",site=\"{place}\"", described(lock.kind))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
