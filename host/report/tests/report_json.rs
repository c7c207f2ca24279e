//! The JSON report follows its published schema.

mod samples;
mod schema;

use lockwright_analysis::finding::Origin;
use lockwright_analysis::finding::*;
use lockwright_analysis::merge::Run;
use lockwright_report::json::{render, render_judged};
use lockwright_report::reports::{Findings, Report as _};
use lockwright_report::verdict::Policy;
use samples::report;
use schema::{errors, load};
use serde_json::{Value, json};

#[test]
fn reports_fit_the_schema() {
    let schema = load("report.schema.json");
    let empty = Report::default();
    for report in [report(), empty] {
        let text = render(&report);
        assert!(text.ends_with("}\n"));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
    }
}

/// With rules that match and that do not, and a baseline that knows some of the findings.
#[test]
fn judged_reports_fit_the_schema() {
    let schema = load("report.schema.json");
    let dir = std::env::temp_dir().join(format!("lockwright-judged-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (rules, known) = (dir.join("known.supp"), dir.join("known.json"));
    std::fs::write(&rules, "[one]\nkind: unpinned\n[none]\nmodule: nowhere\n").unwrap();
    let report = report();
    let half = Report { findings: report.findings[..7].to_vec(), ..report.clone() };
    let baseline = Policy::default().judge(&half).next_baseline(true, Grade::Likely);
    std::fs::write(&known, baseline).unwrap();
    let policy = Policy::read([rules.as_path()], Some(&known)).unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    for report in [&report, &Report { findings: vec![], ..half }] {
        let value: Value =
            serde_json::from_str(&render_judged(&policy.judge(report), None)).unwrap();
        assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
        assert_eq!(value["suppressions"][0]["matched"], report.findings.len() / Kind::ALL.len());
        assert_eq!(value["suppressions"][1]["matched"], 0);
    }
    let value: Value = serde_json::from_str(&render_judged(&policy.judge(&report), None)).unwrap();
    let said =
        |what: &str| value["findings"].as_array().unwrap().iter().any(|f| f["baseline"] == what);
    assert!(said("known") && said("new"));
}

/// The schema says no more than the tool writes: every kind and grade it lists is one.
#[test]
fn kinds_and_grades_are_those_of_the_schema() {
    let schema = load("report.schema.json");
    let listed = |field: &str| {
        let pointer = format!("/$defs/finding/properties/{field}/enum");
        schema.pointer(&pointer).unwrap().as_array().unwrap().clone()
    };
    let kinds: Vec<_> = Kind::ALL.iter().map(|kind| serde_json::to_value(kind).unwrap()).collect();
    assert_eq!(listed("kind"), kinds);
    let written: Value = serde_json::from_str(&render(&report())).unwrap();
    for grade in listed("grade") {
        assert!(written["findings"].as_array().unwrap().iter().any(|f| f["grade"] == grade));
    }
}

#[test]
fn merged_reports_fit_the_schema() {
    let schema = load("report.schema.json");
    let mut report = report();
    let origin = Origin { run: 2, pid: 4001 };
    for finding in &mut report.findings {
        finding.origins = vec![origin; finding.steps.len()];
    }
    let runs = vec![Run { name: "kept".into(), pids: vec![4001, 4002] }];
    let policy = Policy::default();
    let mut text = Vec::new();
    Findings::new(&policy.judge(&report), false).of_runs(&runs).json(&mut text).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
    assert_eq!(value["findings"][0]["origins"][0]["run"], 2);
}

/// A validator that finds nothing proves nothing.
#[test]
fn the_validator_finds_planted_faults() {
    let schema = load("report.schema.json");
    let good: Value = serde_json::from_str(&render(&report())).unwrap();
    for (pointer, bad) in [
        ("/version", json!(2)),
        ("/schema", json!("other")),
        ("/summary/locks", json!(-1)),
        ("/summary/cost_ns", json!("much")),
        ("/findings/0/kind", json!("no-such-kind")),
        ("/findings/0/grade", json!("certain")),
        ("/findings/0/steps/0/stack/0/line", json!(0)),
        ("/findings/0/steps/0/thread", json!({ "name": "x", "tid": 1 })),
        ("/findings/0/locks/0", json!([])),
        (
            "/processes/0",
            json!({ "pid": 1, "exe": "", "command": [], "exited": true, "notes": [], "new": 1 }),
        ),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(pointer).unwrap() = bad;
        let found = errors(&schema, &schema, &value, "");
        assert!(found.iter().any(|error| error.starts_with(pointer)), "{pointer}: {found:?}");
    }
}
