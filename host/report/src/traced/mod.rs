//! Reports on what the kernel saw: `meter --kernel`, `--pid` and `--system`.

mod compat;
mod every_wait;
mod futexes;
mod json;
mod kernel;
mod top;

pub use compat::render as render_kernel_compat;
pub use every_wait::render as render_every_wait;
pub use futexes::render as render_futexes;
pub use json::{
    render_every_wait as render_every_wait_json, render_futexes as render_futexes_json,
    render_kernel as render_kernel_json,
};
pub use kernel::render as render_kernel;
pub use top::render as render_kernel_top;

use crate::lockmeter::text::format::{count, percent, time};
use lockwright_analysis::traced::Waits;

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct TracedView {
    /// With ANSI colours.
    pub colour: bool,
    /// So many locks; 0: all.
    pub top: usize,
}

impl TracedView {
    fn shown(&self, of: usize) -> usize {
        if self.top == 0 { of } else { self.top.min(of) }
    }
}

/// Above the numbers of [`row`].
const HEADINGS: &str = "        waits     total  share%      mean       max";

/// The numbers of a line: waits, time, its part of `all_ns`, mean and longest.
fn row(waits: &Waits, all_ns: u64) -> String {
    let share = if all_ns == 0 { 0.0 } else { waits.total_ns as f64 / all_ns as f64 };
    let (total, mean) = (time(waits.total_ns as f64), time(waits.mean_ns()));
    let max = time(waits.max_ns as f64);
    format!("{:>13} {total:>9} {:>7} {mean:>9} {max:>9}", count(waits.count), percent(share))
}
