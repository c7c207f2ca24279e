//! The comparison for programs. docs/diff.md says what is in it.

use serde_json::{Value, json};

use lockwright_analysis::lockmeter::diff::{
    COVERAGE, Change, Compared, Comparison, RESAMPLES, Runs,
};

use super::gate::Judged;
use lockwright_analysis::lockmeter::model::Mode;
use lockwright_analysis::model::{place_of, short_place};

/// Changes with the schema.
const VERSION: u32 = 1;

/// Renders it; ends with a newline.
pub fn render(comparison: &Comparison, judged: &[Judged]) -> String {
    let value = json!({
        "schema": "lockwright-diff",
        "version": VERSION,
        "tool": { "name": "lockwright", "version": env!("CARGO_PKG_VERSION") },
        "resamples": RESAMPLES,
        "coverage": COVERAGE,
        "before": runs(&comparison.before),
        "after": runs(&comparison.after),
        "total": changes(&comparison.total),
        "locks": comparison.locks.iter().map(compared).collect::<Vec<_>>(),
        "fail_if": judged.iter().map(one_judged).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn runs(runs: &Runs) -> Value {
    json!({
        "runs": runs.count,
        "programs": runs.programs,
        "mean_ns": runs.mean_ns,
        "lost": runs.lost,
    })
}

fn compared(one: &Compared) -> Value {
    let mut value = json!({
        "runs_before": one.in_before,
        "runs_after": one.in_after,
        "changes": changes(&one.changes),
    });
    match one.mode {
        None => {
            value["name"] = json!(one.name);
            value["sites"] = one.sites.iter().map(compared).collect();
        }
        Some(mode) => {
            value["place"] = json!(place_of(&one.stack).map(short_place));
            value["mode"] = json!(match mode {
                Mode::Exclusive => "exclusive",
                Mode::Write => "write",
                Mode::Read => "read",
            });
        }
    }
    value
}

fn changes(changes: &[Change]) -> Value {
    changes.iter().map(|one| (one.metric.to_string(), change(one))).collect()
}

/// JSON has no infinity: where there was nothing before, `ratio` and what of the interval is
/// infinite are null, and `appeared` is true.
fn change(change: &Change) -> Value {
    let interval = change.interval.map(|(low, high)| [low, high]);
    json!({
        "before": change.before,
        "after": change.after,
        "ratio": change.ratio,
        "interval": interval,
        "appeared": change.ratio.is_some_and(f64::is_infinite),
        "sure": change.is_sure(),
    })
}

fn one_judged(judged: &Judged) -> Value {
    json!({
        "condition": judged.condition,
        "lock": judged.lock,
        "verdict": judged.verdict,
        "change": change(&judged.change),
    })
}
