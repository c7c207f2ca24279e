//! The measurement in the OpenMetrics text format: totals for Prometheus and its like.

use std::collections::HashMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::lockmeter::model::{Lock, MeterReport, Mode, Site};
use lockwright_analysis::model::{place_of, short_place};

/// A metric; with a unit, that ends its name.
#[derive(Clone, Copy, Debug)]
struct Metric {
    name: &'static str,
    help: &'static str,
    unit: Option<&'static Unit>,
    kind: MetricType,
}

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help, unit: None, kind: MetricType::Counter }
}

const fn seconds(name: &'static str, help: &'static str, kind: MetricType) -> Metric {
    Metric { name, help, unit: Some(&Unit::Seconds), kind }
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Count(u64),
    Seconds(f64),
}

fn from_ns(ns: f64) -> Value {
    Value::Seconds(ns / 1e9)
}

/// A metric of each site.
type OfSite = fn(&Site) -> Value;

/// All metrics of sites, in order.
const OF_SITES: &[(Metric, OfSite)] = &[
    (counter("lockwright_lock_acquisitions", "Acquisitions of the lock at the site."), |site| {
        Value::Count(site.numbers.acquisitions)
    }),
    (counter("lockwright_lock_contended", "Acquisitions that had to wait."), |site| {
        Value::Count(site.numbers.contended)
    }),
    (counter("lockwright_lock_rejected", "Trylocks that found the lock held."), |site| {
        Value::Count(site.numbers.rejects)
    }),
    (counter("lockwright_lock_timeouts", "Timed acquisitions that were given up."), |site| {
        Value::Count(site.numbers.timeouts)
    }),
    (
        seconds("lockwright_lock_wait", "Time spent waiting for the lock.", MetricType::Counter),
        |site| from_ns(site.numbers.wait.total_ns),
    ),
    (seconds("lockwright_lock_wait_max", "The longest wait.", MetricType::Gauge), |site| {
        from_ns(site.numbers.wait.max_ns)
    }),
    (
        seconds(
            "lockwright_lock_hold",
            "Time that the lock was held; an estimate where holds are sampled.",
            MetricType::Counter,
        ),
        |site| from_ns(site.numbers.hold_ns),
    ),
    (
        seconds("lockwright_lock_hold_max", "The longest hold that was timed.", MetricType::Gauge),
        |site| from_ns(site.numbers.hold.max_ns),
    ),
];

const ELAPSED: Metric = seconds("lockwright_elapsed", "How long was measured.", MetricType::Gauge);

const LOST: Metric = counter("lockwright_lost_records", "Records lost because there was no space.");

/// Names and values, in order.
type Labels = Vec<(&'static str, String)>;

/// The measurement in the encoder's form: with nothing borrowed.
#[derive(Debug)]
struct Measured {
    /// Each metric of sites, with its samples in order.
    of_sites: Vec<(Metric, Vec<(Labels, Value)>)>,
    whole: [(Metric, Value); 2],
}

/// Renders the metrics; ends with the format's end mark.
pub fn render(report: &MeterReport) -> String {
    let sites = labelled(report);
    let samples =
        |value: OfSite| sites.iter().map(|(labels, site)| (labels.clone(), value(site))).collect();
    let measured = Measured {
        of_sites: OF_SITES.iter().map(|&(metric, value)| (metric, samples(value))).collect(),
        whole: [(ELAPSED, from_ns(report.elapsed_ns as f64)), (LOST, Value::Count(report.lost))],
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(measured));
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = text::encode(&mut out, &registry);
    out
}

impl Collector for Measured {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (metric, samples) in &self.of_sites {
            let mut family = describe(&mut encoder, metric)?;
            for (labels, sample) in samples {
                value(&mut family.encode_family(labels)?, metric, *sample)?;
            }
        }
        for (metric, whole) in &self.whole {
            value(&mut describe(&mut encoder, metric)?, metric, *whole)?;
        }
        Ok(())
    }
}

fn describe<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    metric: &'a Metric,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(metric.name, metric.help, metric.unit, metric.kind)
}

fn value(encoder: &mut MetricEncoder<'_>, metric: &Metric, value: Value) -> fmt::Result {
    match (metric.kind, value) {
        (MetricType::Counter, Value::Count(n)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&n, None)
        }
        (MetricType::Counter, Value::Seconds(s)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&s, None)
        }
        (_, Value::Count(n)) => encoder.encode_gauge(&n),
        (_, Value::Seconds(s)) => encoder.encode_gauge(&s),
    }
}

/// All sites with their labels, no two of which are alike.
fn labelled(report: &MeterReport) -> Vec<(Labels, &Site)> {
    let mut seen: HashMap<Labels, u32> = HashMap::new();
    let mut sites = Vec::new();
    for lock in &report.locks {
        for site in &lock.sites {
            let mut labels = labels(lock, site);
            let times = seen.entry(labels.clone()).or_default();
            *times += 1;
            if *times > 1 {
                labels.push(("nth", times.to_string()));
            }
            sites.push((labels, site));
        }
    }
    sites
}

fn labels(lock: &Lock, site: &Site) -> Labels {
    let mode = match site.mode {
        Mode::Exclusive => "exclusive",
        Mode::Write => "write",
        Mode::Read => "read",
    };
    let place = place_of(&site.stack).map_or_else(|| "unknown".to_owned(), short_place);
    let place = if site.cond_reacquire { format!("{place}, condition wait") } else { place };
    vec![
        ("lock", lock.name.to_string()),
        ("kind", LockKind::of(lock.kind).name().to_owned()),
        ("mode", mode.to_owned()),
        ("site", place),
    ]
}
