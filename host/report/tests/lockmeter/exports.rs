//! The formats for other tools.

#[path = "../../../../tests/skip.rs"]
mod skip;

use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::finding::Report;
use lockwright_ledger::rows::meter::Site;
use lockwright_report::lockmeter::advice::advise;
use lockwright_report::lockmeter::folded::{self, Folded};
use lockwright_report::lockmeter::{json, openmetrics, pprof};
use serde_json::{Value, json};

use super::advice::sleepers;
use super::example;
use super::golden::golden;
use super::ledger::{Counts, MS, Process, measure};
use super::schema::{errors, load};

fn document() -> Value {
    serde_json::from_str(&json::render(&example::report())).unwrap()
}

#[test]
fn json_fits_its_schema() {
    let schema = load("meter.schema.json");
    assert_eq!(errors(&schema, &schema, &document(), ""), Vec::<String>::new());
    let mut p = Process::new(1, 1);
    p.writer().header().by_instance.store(1, Relaxed);
    p.killed(0);
    let class = p.mutex("pool");
    let site = p.site_with(Site { class, inst: 3, ..Site::default() }, &["push"]);
    p.cell(site, &Counts { holds: vec![MS], ..Counts::default() });
    let text = json::render(&measure(&[&p]));
    let sparse = serde_json::from_str(&text).unwrap();
    assert_eq!(errors(&schema, &schema, &sparse, ""), Vec::<String>::new());
    assert_eq!(sparse["locks"][0]["instances"][0]["inst"], 3);
}

#[test]
fn json_has_the_advice() {
    let report = example::report();
    let (said, advised) = (document(), advise(&report));
    let said = said["advice"].as_array().unwrap();
    assert!(!advised.is_empty() && said.len() == advised.len(), "{said:?}");
    for (said, advised) in said.iter().zip(&advised) {
        assert_eq!(said["rule"], advised.rule);
        assert_eq!(said["lock"].as_u64(), advised.lock().map(|lock| lock as u64));
        assert_eq!(said["confidence"], advised.confidence.to_string());
        assert_eq!(said["evidence"].as_array().unwrap().len(), advised.evidence.len());
    }
}

#[test]
fn json_has_what_advice_would_bring() {
    let schema = load("meter.schema.json");
    for (times, is_known) in [(250, true), (20, false)] {
        let text = json::render(&measure(&[&sleepers(times)]));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
        let advice = value["advice"].as_array().unwrap();
        let sleeping = advice.iter().find(|of| of["rule"] == "lock held across a sleep").unwrap();
        let estimate = &sleeping["estimate"];
        assert!(estimate["supposed"].as_str().unwrap().contains("did not hold it"), "{estimate}");
        assert_eq!(estimate["why_none"].is_null(), is_known, "{estimate}");
        assert_eq!(estimate["waits"]["likely"].is_number(), is_known, "{estimate}");
        assert_eq!(estimate["throughput"]["high"].is_number(), is_known, "{estimate}");
    }
}

#[test]
fn the_schema_can_be_broken() {
    let schema = load("meter.schema.json");
    for (place, wrong) in [
        ("/schema", json!("other")),
        ("/cost/pair_ns", json!(-1.0)),
        ("/locks/0/total", Value::Null),
        ("/locks/0/sites/0/mode", json!("both")),
        ("/locks/0/total/hold/buckets/0/count", json!(0)),
        ("/waits/0/lock", json!("pool")),
        ("/advice/0/confidence", json!("some")),
        ("/advice/0/evidence/0/unit", Value::Null),
    ] {
        let mut value = document();
        *value.pointer_mut(place).unwrap() = wrong;
        assert!(!errors(&schema, &schema, &value, "").is_empty(), "{place}");
    }
}

#[test]
fn json_has_the_numbers() {
    let value = document();
    let lock = &value["locks"][0];
    assert_eq!((&lock["name"], &lock["total"]["acquisitions"]), (&json!("pool"), &json!(1540)));
    assert_eq!(lock["total"]["wait"]["total_ns"], json!(78e6));
    let blame = &lock["blame"][0];
    let holder = &lock["sites"][blame["holder"].as_u64().unwrap() as usize];
    assert_eq!(holder["stack"][1]["function"], "pool_pop");
    assert_eq!(value["waits"][0]["kind"], "join");
}

#[test]
fn what_was_found_and_measured_is_one_document() {
    let found = Report::default();
    let text = lockwright_report::json::render_with(&found, Some(&example::report()));
    let value: Value = serde_json::from_str(&text).unwrap();
    let schema = load("report.schema.json");
    assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
    let schema = load("meter.schema.json");
    assert_eq!(errors(&schema, &schema, &value["meter"], ""), Vec::<String>::new());
}

#[test]
fn stacks_are_folded() {
    let report = example::report();
    let text = format!(
        "{}\n{}",
        folded::render(&report, Folded::Wait),
        folded::render(&report, Folded::Hold)
    );
    golden("meter-folded", &text);
}

#[test]
fn metrics_are_open() {
    let text = openmetrics::render(&example::report());
    golden("meter-openmetrics", &text);
    let mut p = Process::new(1, 1);
    for _ in 0..2 {
        let class = p.mutex("a \"lock\"\n\\");
        let site = p.site(class, &["push"]);
        p.cell(site, &Counts { holds: vec![MS], ..Counts::default() });
    }
    let text = openmetrics::render(&measure(&[&p]));
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let series: HashSet<&str> = samples.iter().map(|s| s.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(samples.len(), series.len(), "no sample twice");
    assert!(samples[0].contains(r#"lock="a \"lock\"\n\\""#), "{}", samples[0]);
    assert!(text.ends_with("# EOF\n"));
}

/// Go reads its own format best; where there is no Go, the bytes are all there is to look at.
#[test]
fn go_opens_the_profile() {
    let bytes = pprof::render(&example::report());
    assert_eq!(bytes[..2], [0x1f, 0x8b], "gzip");
    if Command::new("go").arg("version").output().is_err() {
        skip::skip("no Go here");
        return;
    }
    let dir = std::env::temp_dir().join(format!("lockwright-test-pprof-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("locks.pb.gz");
    fs::write(&file, bytes).unwrap();
    let top = |sample: &str| {
        let mut go = Command::new("go");
        go.args(["tool", "pprof", "-top", "-cum", &format!("-sample_index={sample}")]).arg(&file);
        let output = go.env("PPROF_TMPDIR", &dir).output().unwrap();
        let (text, errors) = (output.stdout, output.stderr);
        format!("{}{}", String::from_utf8_lossy(&text), String::from_utf8_lossy(&errors))
    };
    let delay = top("delay");
    assert!(delay.contains("Type: delay"), "{delay}");
    assert!(delay.contains("109.40ms total") && delay.contains("pool_push"), "{delay}");
    let line = delay.lines().find(|line| line.ends_with("pool_push")).unwrap();
    assert!(line.trim_start().starts_with("68ms"), "{delay}");
    let contentions = top("contentions");
    assert!(contentions.contains("200 total"), "{contentions}");
    fs::remove_dir_all(&dir).unwrap();
}
