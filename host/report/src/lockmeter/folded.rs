//! Folded stacks: one line for each call stack, outermost frame first, and what it comes to. The
//! input of flamegraph.pl, inferno and speedscope.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::prose::futexes::{used_as, which};
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The folded quantity, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Folded {
    /// Waits for locks, at the stacks that waited.
    Wait,
    /// Holds of locks, at the stacks that acquired.
    Hold,
}

/// Renders the stacks of all sites; the lock is the innermost frame.
pub fn render(report: &MeterReport, what: Folded) -> String {
    let mut stacks: BTreeMap<String, f64> = BTreeMap::new();
    for lock in &report.locks {
        for site in &lock.sites {
            let ns = match what {
                Folded::Wait => site.numbers.wait.total_ns,
                Folded::Hold => site.numbers.hold_ns,
            };
            let mut frames: Vec<String> = own_frames(&site.stack).iter().rev().map(name).collect();
            frames.push(format!("[{}]", entry(&lock.name)));
            *stacks.entry(frames.join(";")).or_default() += ns;
        }
    }
    // Only the waits are known of locks that are made of futexes.
    let futexes = report.waits.iter().filter(|wait| wait.is_for_lock() && what == Folded::Wait);
    for wait in futexes {
        let Some(futex) = &wait.futex else { continue };
        let mut frames: Vec<String> = own_frames(&wait.stack).iter().rev().map(name).collect();
        let lock = format!("{}{}", used_as(futex.kind), which(futex.name.as_deref(), futex.addr));
        frames.push(format!("[{}]", entry(&lock)));
        *stacks.entry(frames.join(";")).or_default() += wait.wait.total_ns;
    }
    let mut text = String::new();
    for (stack, ns) in stacks.into_iter().filter(|(_, ns)| *ns >= 0.5) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{stack} {ns:.0}");
    }
    text
}

fn name(frame: &Frame) -> String {
    match &frame.function {
        Some(function) => entry(function),
        None => {
            let module = frame.module.as_deref().unwrap_or("?");
            let module = module.rsplit('/').next().unwrap_or(module);
            entry(&format!("{module}+{:#x}", frame.offset))
        }
    }
}

/// One frame's text: what separates frames cannot be part of it.
fn entry(text: &str) -> String {
    plain(text).replace(';', ":")
}
