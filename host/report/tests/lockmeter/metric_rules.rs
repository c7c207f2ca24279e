//! The rules of `promtool check metrics` for names, types, units and help, and those of OpenMetrics for the text. promtool
//! itself reads the older text format, in which the help of a counter has another name.

use std::collections::HashSet;

use lockwright_report::lockmeter::openmetrics;

use super::example;

/// A family of metrics, with what its lines say.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    help: String,
    unit: String,
    /// Names and labels of its samples.
    samples: Vec<String>,
}

/// Words that promtool wants replaced by their base units.
const OTHER_UNITS: &[&str] = &[
    "ns",
    "nanoseconds",
    "us",
    "microseconds",
    "ms",
    "milliseconds",
    "sec",
    "minutes",
    "hours",
    "days",
    "kilobytes",
    "megabytes",
    "bits",
];

/// Words for types, which no name is to have.
const TYPES: &[&str] = &["counter", "gauge", "histogram", "summary"];

/// Families in the order of the text. A line that is none of the format's is a fault.
fn families(text: &str, faults: &mut Vec<String>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let mut lines = text.lines();
    for line in lines.by_ref().take_while(|line| *line != "# EOF") {
        let mut words = line.strip_prefix("# ").unwrap_or_default().splitn(3, ' ');
        let (what, name, text) = (words.next(), words.next(), words.next().unwrap_or_default());
        if let (Some(what @ ("HELP" | "TYPE" | "UNIT")), Some(name)) = (what, name) {
            if families.last().is_none_or(|family| family.name != name) {
                families.push(Family { name: name.to_owned(), ..Family::default() });
            }
            let family = families.last_mut().expect("one is there");
            if !family.samples.is_empty() {
                faults.push(format!("{name}: {what} after its samples"));
            }
            let field = match what {
                "HELP" => &mut family.help,
                "TYPE" => &mut family.kind,
                _ => &mut family.unit,
            };
            field.push_str(text);
        } else if let Some((sample, value)) = line.rsplit_once(' ') {
            if value.parse::<f64>().is_err() {
                faults.push(format!("{sample}: {value} is no number"));
            }
            match families.last_mut() {
                Some(family) => family.samples.push(sample.to_owned()),
                None => faults.push(format!("{sample}: of no family")),
            }
        } else {
            faults.push(format!("`{line}`"));
        }
    }
    if lines.next().is_some() || !text.ends_with("# EOF\n") {
        faults.push("no end".to_owned());
    }
    families
}

fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let families = families(text, &mut faults);
    let mut names = HashSet::new();
    for family in &families {
        let name = &family.name;
        let mut fault = |what: &str| faults.push(format!("{name}: {what}"));
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !name.bytes().all(is_plain) {
            fault("not in lower case with underscores");
        }
        if family.help.is_empty() {
            fault("no help");
        }
        if !names.insert(name) {
            fault("twice");
        }
        if name.ends_with("_total") || name.ends_with("_count") || name.ends_with("_sum") {
            fault("the suffix of a sample");
        }
        for word in name.split('_') {
            if OTHER_UNITS.contains(&word) {
                fault("no base unit");
            }
            if TYPES.contains(&word) {
                fault("its type in its name");
            }
        }
        let is_in_seconds = name.ends_with("_seconds");
        if family.unit != if is_in_seconds { "seconds" } else { "" } {
            fault("another unit than its name's");
        }
        let sample_name = match family.kind.as_str() {
            "counter" => format!("{name}_total"),
            "gauge" => name.clone(),
            _ => {
                fault("no type");
                continue;
            }
        };
        for sample in &family.samples {
            let (own, labels) = sample.split_once('{').unwrap_or((sample, ""));
            if own != sample_name {
                fault("a sample of another name");
            }
            if labels.starts_with("le=") || labels.contains(",le=") || labels.contains("quantile=")
            {
                fault("a label of histograms");
            }
        }
    }
    faults
}

#[test]
fn metrics_keep_the_rules_of_prometheus() {
    let text = openmetrics::render(&example::report());
    assert_eq!(faults(&text), Vec::<String>::new());
}

/// Rules that find nothing prove nothing.
#[test]
fn the_rules_find_planted_faults() {
    let text = openmetrics::render(&example::report());
    for (good, bad) in [
        ("# HELP lockwright_lock_rejected Trylocks that found the lock held.\n", ""),
        ("# TYPE lockwright_lock_rejected counter\n", ""),
        ("# TYPE lockwright_elapsed_seconds gauge", "# TYPE lockwright_elapsed_seconds counter"),
        ("# UNIT lockwright_elapsed_seconds seconds\n", ""),
        ("lockwright_elapsed_seconds", "lockwright_elapsed_ms"),
        ("lockwright_lost_records", "lockwright_lostRecords"),
        ("lockwright_lost_records", "lockwright_lost_counter"),
        ("lockwright_lost_records_total 0", "lockwright_lost_records 0"),
        ("lockwright_lost_records_total 0", "lockwright_lost_records_total none"),
        ("# EOF\n", ""),
        ("# EOF\n", "# EOF\nmore 1\n"),
        ("{lock=", "{le="),
    ] {
        let wrong = text.replace(good, bad);
        assert!(wrong != text && !faults(&wrong).is_empty(), "{good} -> {bad}");
    }
}
