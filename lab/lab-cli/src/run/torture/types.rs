//! The table of torture types, for people.

use std::fmt::Write;

use super::ww;
use lockwright_lab::torture::{Fault, TYPES, Type};

/// A line for each type.
pub fn list() -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name:<24} {text}");
    };
    for one in TYPES {
        line(one.name, &describe(one));
    }
    line(ww::NAME, "the kernel's tests of wound/wait mutexes");
    line(ww::BUSTED, "the same of one that is none: broken");
    out
}

fn describe(one: &Type) -> String {
    if let Some(fault) = one.fault {
        return format!("broken: {}", describe_fault(fault));
    }
    let properties = [
        (one.readers, "has readers"),
        (one.irq, "may be taken in signal handlers"),
        (one.irqsave, "taken with signals blocked, by handlers, too"),
        (one.sleeps, "waiters sleep"),
        (one.frees, "may be freed by its next holder"),
    ];
    let holding: Vec<_> =
        properties.iter().filter(|(holds, _)| *holds).map(|(_, text)| *text).collect();
    holding.join(", ")
}

fn describe_fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Exclusion => "it is no lock at all",
        Fault::Readers => "readers have it with a writer",
        Fault::Wake => "a wake-up may be lost",
        Fault::Deadline => "a deadline that comes is taken for the lock",
        Fault::Signal => "a handler that takes another one confuses it (found with --signals)",
        Fault::Irq => "it blocks no signals, and a handler takes it, too (found with --signals)",
        Fault::Touch => "it is touched after its release (found by --objects)",
    }
}
