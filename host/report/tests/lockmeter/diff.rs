//! Comparisons of measurements with known differences.

use lockwright_analysis::lockmeter::diff::{Comparison, Metric, compare};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_ledger::rows::{Class, class_origin, lock_kind};
use lockwright_report::lockmeter::diff::{FailIf, Judged, Verdict, json, text};

use super::ledger::{Counts, MS, Process, US, measure};
use super::schema::{errors, load};

/// Runs of a program with a lock `pool` that is waited for so long in all, at a line of `push`, and
/// a lock `log` that is always the same.
pub fn runs(waits_ms: &[u64], line: u32) -> Vec<MeterReport> {
    let run = |&ms: &u64| {
        let mut p = Process::new(1, 1);
        let (pool, log) = (p.mutex("pool"), p.mutex("log"));
        let push = p.site(pool, &[&format!("push:{line}"), "main"]);
        let write = p.site(log, &["write:5"]);
        let waits = if ms == 0 { Vec::new() } else { vec![ms * MS / 10; 10] };
        p.cell(push, &Counts { holds: vec![20 * US; 100], waits, ..Counts::default() });
        p.cell(write, &Counts { holds: vec![MS; 50], waits: vec![MS; 5], ..Counts::default() });
        measure(&[&p])
    };
    waits_ms.iter().map(run).collect()
}

fn judge(condition: &str, comparison: &Comparison) -> Vec<Judged> {
    condition.parse::<FailIf>().unwrap().judge(comparison).unwrap()
}

fn verdict(condition: &str, comparison: &Comparison) -> Verdict {
    match judge(condition, comparison).as_slice() {
        [one] => one.verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clear_change_is_sure_and_comes_first() {
    let comparison =
        compare(runs(&[100, 101, 99, 100, 102], 3), runs(&[200, 199, 203, 198, 201], 3));
    let [pool, log] = comparison.locks.as_slice() else { panic!("{:?}", comparison.locks) };
    assert_eq!((pool.name.text.as_str(), log.name.text.as_str()), ("pool", "log"));
    let wait = pool.change(Metric::Wait).unwrap();
    assert!(
        (wait.before.unwrap() - 100.395e6).abs() < 1e3
            && (wait.after.unwrap() - 200.193e6).abs() < 1e3
    );
    let (low, high) = wait.interval.unwrap();
    let ratio = 200.193 / 100.395;
    assert!(
        (wait.ratio.unwrap() - ratio).abs() < 1e-4 && low < ratio && ratio < high && wait.is_sure
    );
    assert!(low > 1.95 && high < 2.04, "{low} {high}");
    let unchanged = log.change(Metric::Wait).unwrap();
    assert_eq!((unchanged.ratio, unchanged.interval), (Some(1.0), Some((1.0, 1.0))));
    assert!(!unchanged.is_sure);
    assert_eq!(pool.change(Metric::Hold).unwrap().after, Some(20_000.0));
    assert_eq!(pool.change(Metric::Acquisitions).unwrap().after, Some(100.0));
    assert_eq!(pool.change(Metric::Contended).unwrap().after, Some(0.1));
    assert_eq!(pool.change(Metric::Utilisation).unwrap().after, Some(0.002));
    assert_eq!(pool.sites.len(), 1);
    assert_eq!(pool.sites[0].change(Metric::Wait).unwrap().ratio, wait.ratio);
}

#[test]
fn what_may_be_chance_does_not_fail() {
    let noisy = compare(runs(&[50, 150, 100, 60, 140], 3), runs(&[170, 60, 150, 70, 160], 3));
    let wait = noisy.locks[0].change(Metric::Wait).unwrap();
    assert!(wait.ratio.unwrap() > 1.2 && !wait.is_sure, "{wait:?}");
    assert_eq!(verdict("wait > +10% @pool", &noisy), Verdict::Unsure);
    assert_eq!(verdict("wait > +40% @pool", &noisy), Verdict::Kept);
}

#[test]
fn limits_are_held_to_the_whole_interval() {
    let twice = compare(runs(&[100, 101, 99], 3), runs(&[200, 199, 203], 3));
    assert_eq!(verdict("wait > +10% @pool", &twice), Verdict::Exceeded);
    assert_eq!(verdict("wait > +99% @pool", &twice), Verdict::Unsure);
    assert_eq!(verdict("wait > +110% @pool", &twice), Verdict::Kept);
    assert_eq!(verdict("wait < -10% @pool", &twice), Verdict::Kept);
    assert_eq!(verdict("wait > +10% @log", &twice), Verdict::Kept);
    assert_eq!(verdict("wait > +10%", &twice), Verdict::Exceeded, "all locks together");
    let half = compare(runs(&[200, 199, 203], 3), runs(&[100, 101, 99], 3));
    assert_eq!(verdict("wait < -10% @p*", &half), Verdict::Exceeded);
    let each: Vec<_> = judge("wait < -10% @*", &half).into_iter().map(|one| one.verdict).collect();
    assert_eq!(each, [Verdict::Exceeded, Verdict::Kept]);
}

#[test]
fn what_was_nothing_is_new() {
    let comparison = compare(runs(&[0; 4], 3), runs(&[10, 11, 12, 11], 3));
    let pool = &comparison.locks[0];
    assert_eq!(pool.change(Metric::Wait).unwrap().ratio, Some(f64::INFINITY));
    assert_eq!(verdict("wait > +10% @pool", &comparison), Verdict::Exceeded);
    // It may be one of three runs that has any, by chance.
    let three = compare(runs(&[0; 3], 3), runs(&[10, 11, 12], 3));
    assert_eq!(verdict("wait > +10% @pool", &three), Verdict::Unsure);
    let once = compare(runs(&[0; 5], 3), runs(&[0, 0, 10, 0, 0], 3));
    assert_eq!(verdict("wait > +10% @pool", &once), Verdict::Unsure);
}

#[test]
fn the_order_in_which_runs_are_given_changes_nothing() {
    let numbered = |waits: &[u64], line| {
        let mut runs = runs(waits, line);
        runs.iter_mut().zip([5, 2, 9]).for_each(|(run, token)| run.processes[0].token = token);
        runs
    };
    let shown = |turn: usize| {
        let (mut before, mut after) = (numbered(&[50, 150, 97], 3), numbered(&[170, 60, 203], 3));
        before.rotate_left(turn);
        after.rotate_right(turn);
        let comparison = compare(before, after);
        let mut written = Vec::new();
        json::write(&comparison, &[], &mut written).unwrap();
        (text::render(&comparison, &[], 0), written)
    };
    assert!(shown(0) == shown(1) && shown(0) == shown(2));
}

#[test]
fn one_run_or_two_cannot_tell() {
    for (before, after, few) in [
        (&[100][..], &[200, 201][..], "one run"),
        (&[100, 101, 102], &[200], "one run"),
        (&[100, 101], &[200, 201, 202], "two runs"),
    ] {
        let comparison = compare(runs(before, 3), runs(after, 3));
        let wait = comparison.locks[0].change(Metric::Wait).unwrap();
        assert!(wait.interval.is_none() && !wait.is_sure && wait.ratio.unwrap() > 1.9);
        let text = text::render(&comparison, &[], 0);
        assert!(text.contains("nobody can know"), "{text}");
        let error = "wait > +10%".parse::<FailIf>().unwrap().judge(&comparison).unwrap_err();
        assert!(
            error.to_string().contains(&format!("cannot judge `wait > +10%` by {few}")),
            "{error}"
        );
        assert!(error.to_string().contains("--keep"), "{error}");
    }
}

#[test]
fn a_pattern_that_fits_no_lock_is_no_success() {
    let comparison = compare(runs(&[1; 3], 3), runs(&[1; 3], 3));
    let error = "wait > +10% @pol*".parse::<FailIf>().unwrap().judge(&comparison).unwrap_err();
    assert!(
        error.to_string().contains("no lock is called `pol*`")
            && error.to_string().contains("`pool`")
    );
}

#[test]
fn locks_and_places_are_matched_by_name() {
    // Moved lines, other addresses, another order of classes.
    let after = |shift: u32| {
        let mut p = Process::new(9, 3);
        let other = p.mutex("other");
        let pool = p.mutex("pool");
        let created = p.stack(&[&format!("make:{}", 70 + shift)]);
        let made = Class {
            kind: lock_kind::MUTEX,
            origin: class_origin::INIT,
            stack: created,
            locks: 1,
            ..Class::default()
        };
        let made = p.push(made);
        for (class, place, ns) in [
            (other, format!("idle:{}", 1 + shift), US),
            (pool, format!("push:{}", 10 + shift), MS),
            (pool, format!("push:{}", 20 + shift), 2 * MS),
            (made, format!("use:{}", 5 + shift), 3 * MS),
        ] {
            let site = p.site(class, &[&place]);
            p.cell(site, &Counts { holds: vec![ns], ..Counts::default() });
        }
        measure(&[&p])
    };
    let comparison = compare(vec![after(0), after(0)], vec![after(3), after(3)]);
    assert_eq!(comparison.locks.len(), 3);
    for lock in &comparison.locks {
        assert_eq!((lock.in_before, lock.in_after), (2, 2), "{}", lock.name);
        for one in std::iter::once(lock).chain(&lock.sites) {
            assert_eq!((one.in_before, one.in_after), (2, 2));
            assert_eq!(one.change(Metric::Hold).unwrap().ratio, Some(1.0), "{}", lock.name);
        }
    }
    let pool = comparison.locks.iter().find(|lock| lock.name == "pool").unwrap();
    assert_eq!(pool.sites.len(), 2);
}

#[test]
fn what_is_on_one_side_only_is_told() {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("queue");
    let site = p.site(lock, &["push:3"]);
    p.cell(site, &Counts { holds: vec![MS], waits: vec![MS], ..Counts::default() });
    let other = vec![measure(&[&p]), measure(&[&p])];
    let comparison = compare(runs(&[10, 11], 3), other);
    let text = text::render(&comparison, &[], 0);
    assert!(text.contains("`queue`, only after") && text.contains("`pool`, only before"), "{text}");
}

#[test]
fn the_json_fits_its_schema() {
    let schema = load("diff.schema.json");
    let json_of = |comparison: &Comparison, condition: &str| -> serde_json::Value {
        let judged = if condition.is_empty() { Vec::new() } else { judge(condition, comparison) };
        serde_json::from_str(&json::render(comparison, &judged)).unwrap()
    };
    let same = &[100, 101, 99][..];
    let five = &[170, 60, 150, 70, 160][..];
    for (before, after, condition) in [
        (&[0, 0, 0][..], &[10, 11, 12][..], "wait > +10% @pool"),
        (&[0; 5][..], &[0, 0, 10, 0, 0][..], "wait > +10%"),
        (same, five, "hold < -5% @*"),
        (&[100][..], &[200][..], ""),
    ] {
        let value = json_of(&compare(runs(before, 3), runs(after, 3)), condition);
        assert_eq!(errors(&schema, &schema, &value, ""), Vec::<String>::new());
    }
    let value = json_of(&compare(runs(same, 3), runs(five, 3)), "wait > +10% @pool");
    for (place, wrong) in [
        ("/total/wait/before", serde_json::json!("much")),
        ("/locks/0/name", serde_json::Value::Null),
        ("/locks/0/sites/0/mode", serde_json::json!("both")),
        ("/fail_if/0/verdict", serde_json::json!("perhaps")),
    ] {
        let mut value = value.clone();
        *value.pointer_mut(place).unwrap() = wrong;
        assert!(!errors(&schema, &schema, &value, "").is_empty(), "{place}");
    }
}

/// Also what the text looks like.
#[test]
fn the_text_is_readable() {
    let comparison =
        compare(runs(&[100, 101, 99, 100, 102], 3), runs(&[200, 199, 203, 198, 201], 4));
    let judged = judge("wait > +10% @p*", &comparison);
    let text = text::render(&comparison, &judged, 1);
    super::golden::golden("meter-diff", &text);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn the_json_has_what_the_page_says() {
    let comparison = compare(runs(&[0; 4], 3), runs(&[10, 11, 12, 11], 3));
    let judged = judge("wait > +10% @pool", &comparison);
    let value: serde_json::Value =
        serde_json::from_str(&json::render(&comparison, &judged)).unwrap();
    let page = include_str!("../../../../docs/diff.md");
    fn names(value: &serde_json::Value, all: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(object) => object.iter().for_each(|(name, value)| {
                all.push(name.clone());
                names(value, all);
            }),
            serde_json::Value::Array(array) => array.iter().for_each(|value| names(value, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    names(&value, &mut all);
    for name in all.iter().filter(|name| !["tool", "coverage"].contains(&name.as_str())) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    let wait = &value["locks"][0]["changes"]["wait"];
    assert_eq!(
        (&wait["ratio"], &wait["appeared"], &wait["sure"]),
        (&serde_json::Value::Null, &true.into(), &true.into())
    );
    assert_eq!(value["fail_if"][0]["verdict"], "exceeded");
    assert_eq!(value["locks"][0]["sites"][0]["place"], "push.c:3 (push)");
}
