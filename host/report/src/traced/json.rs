//! The same for machines.

use serde_json::{Value, json};

use crate::attached::words::kind_name;
use crate::lockmeter::json::Document;
use crate::prose::lost_waits::lines;
use crate::prose::waited;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::traced::futexes::{FutexLock, StillWaiting};
use lockwright_analysis::traced::{EveryWait, FutexReport, KernelReport, Lost, Waits};
use lockwright_console::plain;

/// Raised when a field changes its meaning or goes.
const VERSION: u32 = 1;

/// The document on the kernel's locks.
pub fn render_kernel(report: &KernelReport) -> String {
    let mut document = kernel(report);
    document["schema"] = json!("lockwright-kernel");
    document["version"] = json!(VERSION);
    plain::json_text(&document)
}

fn kernel(report: &KernelReport) -> Value {
    let mut document = json!(report);
    document["lost"] = lost(&report.lost);
    document
}

/// The document on what was measured in a program, with the kernel's locks.
pub fn render_every_wait(
    measured: &MeterReport,
    waits: &[EveryWait<'_>],
    report: &KernelReport,
) -> String {
    let mut document = json!(Document::new(measured, None));
    let wait = |wait: &EveryWait<'_>| json!({ "of": waited::of(&wait.lock), "what": waited::what(&wait.lock), "waits": wait.waits });
    document["every_wait"] = waits.iter().map(wait).collect();
    document["kernel"] = kernel(report);
    plain::json_text(&document)
}

/// The document on futexes.
pub fn render_futexes(report: &FutexReport) -> String {
    let locks: Vec<Value> = report.locks.iter().map(lock).collect();
    let others: Vec<Value> = report.others.iter().map(lock).collect();
    let waiting: Vec<Value> = report.waiting.iter().map(still).collect();
    let processes: Vec<Value> = report
        .processes
        .iter()
        .map(|(pid, command)| json!({ "pid": pid, "command": command }))
        .collect();
    let document = json!({
        "schema": "lockwright-futexes",
        "version": VERSION,
        "elapsed_ns": report.elapsed_ns,
        "processes": processes,
        "locks": locks,
        "others": others,
        "waking_calls": report.wakes.0,
        "woken_threads": report.wakes.1,
        "waiting": waiting,
        "lost": lost(&report.lost),
    });
    plain::json_text(&document)
}

fn lost(lost: &Lost) -> Value {
    json!({
        "rows": lost.rows,
        "rows_ns": lost.rows_ns,
        "begins": lost.begins,
        "stacks": lost.stacks,
        "began_before": lost.unmatched,
        "missed": lost.missed,
        "waitv": lost.waitv,
        "notes": lines(lost),
    })
}

fn lock(lock: &FutexLock) -> Value {
    let sites = |all: &[(std::rc::Rc<[Frame]>, Waits)]| {
        let site = |(stack, waits): &(std::rc::Rc<[Frame]>, Waits)| json!({ "stack": stack[..], "waits": waits });
        all.iter().map(site).collect::<Vec<Value>>()
    };
    json!({
        "pid": lock.pid,
        "kind": kind_name(lock.kind),
        "lock": lock.name.as_ref().map(|name| &name.text),
        "addresses": lock.addresses,
        "is_by_function": lock.is_by_function,
        "waits": lock.waits,
        "timed_out": lock.timed_out,
        "refused": lock.refused,
        "began_before": lock.before,
        "ended_with_thread": lock.ended,
        "sites": sites(&lock.sites),
        "wakers": sites(&lock.wakers),
        "wakers_are_owners": lock.is_woken_by_owner,
    })
}

fn still(wait: &StillWaiting) -> Value {
    json!({
        "pid": wait.pid,
        "tid": wait.tid,
        "kind": kind_name(wait.kind),
        "lock": wait.name.as_ref().map(|name| &name.text),
        "address": wait.address,
        "for_ns": wait.for_ns,
        "began_before": wait.is_older,
        "stack": wait.stack[..],
    })
}
