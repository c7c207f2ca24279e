//! How much of the run the timeline has.

use super::format::time;
use super::page::Page;
use crate::prose::words::{count, number};

/// Writes the section, if there is a timeline.
pub fn write(page: &mut Page<'_>) {
    let Some(timeline) = &page.report.timeline else { return };
    page.section("TIMELINE", ", as --timeline writes it");
    for ring in &timeline.rings {
        let whose = match (timeline.rings.len(), page.report.processes.get(ring.process)) {
            (2.., Some(process)) => format!("process {}: ", process.pid),
            _ => String::new(),
        };
        let from = if ring.from_ns > 0 {
            format!(" from {} on", time(ring.from_ns as f64))
        } else {
            String::new()
        };
        page.line(&format!("{whose}{} waits and holds{from}", number(ring.events)));
        if ring.overwritten > 0 {
            page.line(&format!(
                "  up to {} were overwritten: --timeline-size keeps more",
                count(ring.overwritten, "older one")
            ));
        }
        if ring.left_out > 0 {
            page.line(&format!(
                "  {} left out: a thread keeps a few in some 10 ms",
                count(ring.left_out, "short one")
            ));
        }
        if ring.torn > 0 {
            page.line(&format!("  {} not whole", count(ring.torn, "event")));
        }
    }
}
