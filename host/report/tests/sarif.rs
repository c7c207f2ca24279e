//! The SARIF report follows the official schema, and the rules that no schema can express.

mod samples;

use jsonschema::Validator;
use lockwright_analysis::finding::*;
use lockwright_report::sarif::render;
use lockwright_report::verdict::Policy;
use samples::{report, two_threads};
use serde_json::{Value, json};

fn validator() -> Validator {
    let schema = include_str!("schema/sarif-schema-2.1.0.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    // Draft 4 has all keywords in it, but no format `uri-reference`, which the schema names.
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    jsonschema::draft7::options().should_validate_formats(true).build(&schema).unwrap()
}

fn errors(validator: &Validator, value: &Value) -> Vec<String> {
    let text = |e: jsonschema::ValidationError<'_>| format!("{}: {e}", e.instance_path());
    validator.iter_errors(value).map(text).collect()
}

fn rendered(policy: &Policy, report: &Report, all: bool) -> Value {
    serde_json::from_str(&render(&policy.judge(report), all)).unwrap()
}

fn results(log: &Value) -> &Vec<Value> {
    log["runs"][0]["results"].as_array().unwrap()
}

/// Rules that match one kind, and a baseline that knows some of the findings.
fn policy(report: &Report) -> Policy {
    // Tests run at the same time.
    let thread = std::thread::current().id();
    let name = format!("lockwright-sarif-{}-{thread:?}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let (rules, known) = (dir.join("known.supp"), dir.join("known.json"));
    std::fs::write(&rules, "# why\n[pinned on purpose]\nkind: unpinned\n").unwrap();
    let half = Report { findings: report.findings[..9].to_vec(), ..report.clone() };
    let baseline = Policy::default().judge(&half).next_baseline(true, Grade::Likely);
    std::fs::write(&known, baseline).unwrap();
    let policy = Policy::read([rules.as_path()], Some(&known)).unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    policy
}

#[test]
fn reports_fit_the_schema() {
    let validator = validator();
    let report = report();
    let empty = Report { findings: vec![], ..report.clone() };
    for policy in [Policy::default(), policy(&report)] {
        for report in [&report, &two_threads(), &empty] {
            for all in [false, true] {
                let log = rendered(&policy, report, all);
                assert_eq!(errors(&validator, &log), Vec::<String>::new());
            }
        }
    }
}

/// A validator that finds nothing proves nothing.
#[test]
fn the_validator_finds_planted_faults() {
    let validator = validator();
    let good = rendered(&Policy::default(), &two_threads(), true);
    let result = "/runs/0/results/0";
    let place = format!("{result}/locations/0/physicalLocation");
    for (pointer, bad) in [
        ("/version".to_owned(), json!("2.2.0")),
        ("/runs/0/tool/driver".to_owned(), json!({})),
        (format!("{result}/level"), json!("fatal")),
        (format!("{result}/message"), json!("text")),
        (format!("{result}/codeFlows/0/threadFlows"), json!([])),
        (format!("{place}/region/startLine"), json!(0)),
        (format!("{place}/artifactLocation/uri"), json!("a b")),
        (format!("{result}/ruleIndex"), json!("0")),
    ] {
        let mut log = good.clone();
        *log.pointer_mut(&pointer).unwrap_or_else(|| panic!("no {pointer}")) = bad;
        assert!(!errors(&validator, &log).is_empty(), "{pointer}");
    }
}

#[test]
fn each_result_names_its_rule() {
    let log = rendered(&Policy::default(), &report(), true);
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), Kind::ALL.len());
    assert_eq!(results(&log).len(), report().findings.len());
    for result in results(&log) {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let level = match result["properties"]["grade"].as_str().unwrap() {
            "deadlocked" | "likely" => "error",
            "possible" => "warning",
            _ => "note",
        };
        assert_eq!(result["level"], level);
    }
    // As in the text, where not all are asked for.
    let log = rendered(&Policy::default(), &report(), false);
    assert!(results(&log).iter().all(|result| result["level"] != "note"));
    assert!(!results(&log).is_empty());
}

/// What the SARIF Multitool checks as SARIF1001, SARIF2005 and SARIF2012.
#[test]
fn rules_and_tool_are_named_as_validators_want() {
    let log = rendered(&Policy::default(), &two_threads(), true);
    let driver = &log["runs"][0]["tool"]["driver"];
    let about = driver["informationUri"].as_str().unwrap();
    assert!(about.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.bytes().all(|b| b.is_ascii_lowercase()) && !rest.is_empty()
    }));
    let mut names = std::collections::HashSet::new();
    for rule in driver["rules"].as_array().unwrap() {
        let (id, name) = (rule["id"].as_str().unwrap(), rule["name"].as_str().unwrap());
        assert!(!id.eq_ignore_ascii_case(name), "{id} and {name}");
        assert!(name.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()), "{name}");
        assert!(names.insert(name), "{name} twice");
    }
}

#[test]
fn each_thread_has_its_flow() {
    let log = rendered(&Policy::default(), &two_threads(), false);
    let [result] = &results(&log)[..] else { panic!("{log:#}") };
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    for (flow, (thread, first, second)) in flows.iter().zip([
        ("thread 2 (teller)", "took `vault`", "acquires `ledger`"),
        ("thread 3 (auditor)", "took `ledger`", "acquires `vault`"),
    ]) {
        assert_eq!(flow["message"]["text"], thread);
        let stops = flow["locations"].as_array().unwrap();
        let texts: Vec<&str> = stops
            .iter()
            .map(|stop| stop["location"]["message"]["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, [format!("{thread} {first}"), format!("{thread} {second}")]);
        assert_eq!(stops[0]["nestingLevel"], 0);
        assert_eq!(stops[1]["nestingLevel"], 1);
        assert!(stops.iter().all(|stop| stop["kinds"] == json!(["acquire", "lock"])));
        assert!(stops[1]["stack"]["frames"].as_array().unwrap().len() > 1);
    }
    let line = |location: &Value| location["physicalLocation"]["region"]["startLine"].as_u64();
    assert_eq!(line(&result["locations"][0]), Some(31));
    let related: Vec<_> = result["relatedLocations"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(related, [Some(29), Some(38), Some(40)]);
}

#[test]
fn braces_begin_no_placeholder() {
    let mut report = two_threads();
    report.findings[0].locks[0].name = Name::symbol("main::{closure#0}");
    let log = rendered(&Policy::default(), &report, false);
    let text = results(&log)[0]["message"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "`main::{{closure#0}}` and `ledger` are taken in both orders\nlikely: the same two locks, taken by thread 2 (teller) and thread 3 (auditor)"
    );
}

#[test]
fn without_source_there_is_an_address() {
    let mut report = two_threads();
    for frame in report.findings[0].steps.iter_mut().flat_map(|step| &mut step.stack) {
        (frame.file, frame.line) = (None, None);
    }
    let log = rendered(&Policy::default(), &report, false);
    let place = &results(&log)[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "file:///usr/bin/bank");
    assert_eq!(place["address"]["relativeAddress"], 0x1231 - 1);
    assert_eq!(errors(&validator(), &log), Vec::<String>::new());
}

#[test]
fn what_is_known_is_told() {
    let report = report();
    let policy = policy(&report);
    let log = rendered(&policy, &report, true);
    for result in results(&log) {
        let suppressions = result["suppressions"].as_array().expect("of every result");
        assert_eq!(suppressions.len(), usize::from(result["ruleId"] == "unpinned"));
        for suppression in suppressions {
            assert_eq!(suppression["justification"], "pinned on purpose");
            assert_eq!(suppression["location"]["physicalLocation"]["region"]["startLine"], 2);
        }
    }
    let states: Vec<&str> =
        results(&log).iter().map(|result| result["baselineState"].as_str().unwrap()).collect();
    assert!(states.contains(&"new") && states.contains(&"unchanged"), "{states:?}");
    let json: Value =
        serde_json::from_str(&lockwright_report::json::render_judged(&policy.judge(&report), None))
            .unwrap();
    for (result, finding) in results(&log).iter().zip(json["findings"].as_array().unwrap()) {
        assert_eq!(result["partialFingerprints"]["lockwright/v2"], finding["fingerprint"]);
    }
    let plain = rendered(&Policy::default(), &report, true);
    assert!(results(&plain).iter().all(|result| result.get("suppressions").is_none()));
    assert!(results(&plain).iter().all(|result| result.get("baselineState").is_none()));
}
