//! Whatever a ledger says, there is a report.

use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_report::lockmeter::folded::{self, Folded};
use lockwright_report::lockmeter::text::{self, TextOptions};
use lockwright_report::lockmeter::view::View;
use lockwright_report::lockmeter::{json, openmetrics, pprof};

use super::example;

/// Makes every format; returns how long they are together.
fn render_all(report: &MeterReport) -> usize {
    let view = View { instances: true, top: 0, ..View::default() };
    let text = text::render(report, &TextOptions { colour: true, view });
    let strings = [
        text,
        json::render(report),
        folded::render(report, Folded::Wait),
        folded::render(report, Folded::Hold),
        openmetrics::render(report),
    ];
    strings.iter().map(String::len).sum::<usize>() + pprof::render(report).len()
}

#[test]
fn damaged_ledgers_are_reported_as_far_as_they_go() {
    let process = example::server();
    let whole = process.bytes();
    // xorshift64, so that a failure comes again.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    // Most of a ledger is empty.
    let used: Vec<usize> = (0..whole.len() - 8).filter(|&at| whole[at] != 0).collect();
    let mut reports = 0;
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..20 {
            let (at, len) = (used[next(used.len())], next(8));
            let value = if next(2) == 0 { 0xff } else { next(256) as u8 };
            bytes[at..at + len].fill(value);
        }
        bytes.truncate(whole.len() - next(2) * next(whole.len() / 2));
        if let Some(report) = process.measure_as(bytes) {
            assert!(render_all(&report) > 0);
            reports += 1;
        }
    }
    assert!(reports > 100, "most can be read: {reports}");
}
