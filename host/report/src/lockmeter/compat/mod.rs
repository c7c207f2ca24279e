//! The tables of the kernel's tools. `lock_stat.rs` is that of /proc/lock_stat; the rest the one
//! that lockmeter printed: its sections, columns and number formats, without its faults.
//!
//! An entry is a place that takes locks in one way. A lock's line is the sum of the entries below
//! it; a place that took several locks belongs to none and stands alone.

mod entries;
pub(crate) mod format;
mod head;
mod lock_stat;
mod table;
mod writers;

use super::view::View;
pub use entries::Thresholds;
pub use head::NOT_COPIED;
use lockwright_analysis::lockmeter::model::{MeterReport, Mode};
use table::Machine;

/// The options of the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompatOptions {
    /// Locks that do not reach them are left out; totals are of all.
    pub thresholds: Thresholds,
}

impl From<View> for CompatOptions {
    fn from(view: View) -> Self {
        let contention = view.min_contended / 100.0;
        let utilisation = view.min_utilisation / 100.0;
        Self { thresholds: Thresholds { contention, utilisation } }
    }
}

/// Renders the table of the kernel's /proc/lock_stat.
pub fn render_lock_stat(report: &MeterReport, options: &CompatOptions) -> String {
    lock_stat::render(report, &options.thresholds)
}

/// Renders head and sections; ends with a newline.
pub fn render(report: &MeterReport, options: &CompatOptions) -> String {
    let machine = Machine { cpus: report.processors as usize, elapsed_ns: report.elapsed_ns };
    let mut parts = vec![head::render(report, &options.thresholds, &machine)];
    for (table, mode) in [
        (table::SPINLOCKS, Mode::Exclusive),
        (table::READS, Mode::Read),
        (table::WRITES, Mode::Write),
    ] {
        parts.push(table.render(&entries::section(report, mode, &options.thresholds), &machine));
    }
    parts.push(format!("{}\n", "_".repeat(121)));
    parts.join("\n")
}
