//! Sentences about lost counts.

use crate::prose::words::{duration, number};
use lockwright_analysis::traced::Lost;

/// A line for each thing that is missing; none if nothing is.
pub fn lines(lost: &Lost) -> Vec<String> {
    let rows = || {
        format!(
            "{} waits ({}) are in no line: there was no room for more in the kernel's table",
            number(lost.rows),
            duration(lost.rows_ns as f64)
        )
    };
    let n = number;
    [
        (lost.rows, rows()),
        (lost.begins, format!("{} waits were lost: begin or end was not seen", n(lost.begins))),
        (lost.stacks, format!("of {} waits the place is not known", n(lost.stacks))),
        (
            lost.missed,
            format!("{} events came while another was counted, and are lost", n(lost.missed)),
        ),
        (lost.waitv, format!("{} calls of futex_waitv are not counted", n(lost.waitv))),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(_, line)| line)
    .collect()
}

/// The number of records that are lost, and the lines on them.
pub fn section(lost: &Lost) -> String {
    let total = lost.rows + lost.begins + lost.missed;
    let mut out = format!("  {} records lost\n", number(total));
    for line in lines(lost) {
        out += &format!("    {line}\n");
    }
    if lost.unmatched > 0 {
        out +=
            &format!("  {} waits that had begun before are not counted\n", number(lost.unmatched));
    }
    out
}
