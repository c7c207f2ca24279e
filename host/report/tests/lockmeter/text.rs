//! Golden texts of the report for people.
//!
//! `LOCKWRIGHT_BLESS=1 cargo test -p lockwright-report --test lockmeter` rewrites them.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_ledger::rows::meter::{Site, wait_kind};
use lockwright_report::lockmeter::text::{TextOptions, render};
use lockwright_report::lockmeter::view::{Sort, View};

use super::example;
use super::golden::golden;
use super::ledger::{Counts, MS, Process, US, measure};

fn plain(report: &MeterReport, view: View) -> String {
    let text = render(report, &TextOptions { colour: false, view });
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 115, "{longest} columns:\n{text}");
    text
}

#[test]
fn everything() {
    golden("meter", &plain(&example::report(), View::default()));
}

#[test]
fn what_is_asked_for() {
    let view = View { top: 1, sort: Sort::Acquisitions, min_contended: 5.0, ..View::default() };
    golden("meter-view", &plain(&example::report(), view));
}

#[test]
fn colours_are_for_terminals() {
    let text = |colour| render(&example::report(), &TextOptions { colour, view: View::default() });
    assert!(text(true).contains("\x1b[1m`pool`\x1b[0m"));
    assert!(!text(false).contains('\x1b'));
}

#[test]
fn nothing_seen() {
    golden("meter-empty", &plain(&measure(&[&Process::new(42, 1)]), View::default()));
}

#[test]
fn instances_sampled_losses_and_a_kill() {
    let mut p = Process::new(42, 1);
    p.writer().header().by_instance.store(1, Relaxed);
    p.writer().header().hold_sample.store(64, Relaxed);
    p.writer().header().lost.store(5, Relaxed);
    let class = p.mutex("account");
    for (inst, ns) in [(7, US), (8, 300 * US), (9, 0)] {
        let addr = 0x7f00_0000_0000 + u64::from(inst) * 64;
        let site = p.site_with(Site { class, inst, addr, ..Site::default() }, &["deposit:3"]);
        let waits = if ns == 0 { vec![] } else { vec![ns; 5] };
        p.cell(site, &Counts { holds: vec![20 * US], untimed: 99, waits, ..Counts::default() });
    }
    p.killed(700 * MS);
    let view = View { instances: true, ..View::default() };
    golden("meter-instances", &plain(&measure(&[&p]), view));
}

#[test]
fn names_do_not_command_terminals() {
    let mut p = Process::new(42, 1);
    let class = p.mutex("evil\x1b[31m\nlock");
    let site = p.site(class, &["evil\x1b]0;title\x07fn:3"]);
    p.cell(site, &Counts { holds: vec![US], waits: vec![MS], ..Counts::default() });
    let text = plain(&measure(&[&p]), View::default());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
}

#[test]
fn a_join_that_took_half_a_microsecond_did_not_block() {
    let shown = |waits: Vec<u64>| {
        let mut p = Process::new(1, 1);
        let join = p.site_with(Site { wait: wait_kind::JOIN, ..Site::default() }, &["main:9"]);
        p.cell(join, &Counts { untimed: waits.len() as u64, waits, ..Counts::default() });
        let report = measure(&[&p]);
        assert_eq!(report.waits.len(), 1);
        let text = plain(&report, View::default());
        let at = text.lines().position(|line| line.starts_with("end of a thread")).unwrap();
        let words = text.lines().nth(at + 1).unwrap().split_whitespace().nth(1).unwrap().to_owned();
        (report.waits[0].slept(), words)
    };
    assert_eq!(shown(vec![500; 4]), (0, "none".to_owned()));
    assert_eq!(shown(vec![500, 500, 500, 50 * US]), (1, "25.0".to_owned()));
    assert_eq!(shown(vec![50 * US; 4]), (4, "100".to_owned()));
}
