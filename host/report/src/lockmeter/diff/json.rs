//! The comparison for programs. docs/diff.md says what is in it.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use lockwright_analysis::lockmeter::diff::{COVERAGE, Change, Compared, Comparison, Runs};

use super::gate::Judged;
use lockwright_analysis::lockmeter::model::Mode;
use lockwright_analysis::model::{place_of, short_place};
use lockwright_console::plain;

/// Changes with the schema.
const VERSION: u32 = 2;

/// The fields in the order of their names, as those below are.
#[derive(Serialize)]
struct Document<'c> {
    after: Value,
    before: Value,
    coverage: f64,
    fail_if: Vec<Value>,
    locks: Locks<'c>,
    schema: &'static str,
    tool: Value,
    total: Value,
    version: u32,
}

/// Each is made when it is written: there may be a million.
struct Locks<'c>(&'c [Compared]);

impl Serialize for Locks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(compared))
    }
}

/// Renders it; ends with a newline.
pub fn render(comparison: &Comparison, judged: &[Judged]) -> String {
    plain::json_text(&document(comparison, judged))
}

/// As [`render`], written out as it is made.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(
    comparison: &Comparison,
    judged: &[Judged],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    plain::write_json(&document(comparison, judged), out)
}

fn document<'c>(comparison: &'c Comparison, judged: &[Judged]) -> Document<'c> {
    Document {
        after: runs(&comparison.after),
        before: runs(&comparison.before),
        coverage: COVERAGE,
        fail_if: judged.iter().map(one_judged).collect(),
        locks: Locks(&comparison.locks),
        schema: "lockwright-diff",
        tool: json!({ "name": "lockwright", "version": env!("CARGO_PKG_VERSION") }),
        total: changes(&comparison.total),
        version: VERSION,
    }
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
        "p": change.p,
        "sure": change.is_sure,
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
