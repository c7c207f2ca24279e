//! All locks that threads waited for, those of the kernel included.

use maud::html;

use super::section::{Column, Section, left_out, number_cell, table};
use super::{Context, limits, stack};
use crate::attached::words::trimmed;
use crate::lockmeter::text::format::{count, percent, time};
use crate::prose::{kernel_locks, waited};
use crate::text::stack::shorten;
use lockwright_analysis::traced::{EveryWait, Waited};

const COLUMNS: &[Column] = &[
    Column::text("lock"),
    Column::text("of"),
    Column::text("place"),
    Column::number("waits", ""),
    Column::number("total", "all waits together"),
    Column::number("share %", "of all waits for locks"),
    Column::number("mean", ""),
    Column::number("max", "the longest wait"),
];

/// Functions of the kernel that are shown of one lock.
const FUNCTIONS: usize = 3;

/// `None` if the kernel was not asked.
pub fn section(context: &Context<'_>, waits: &[EveryWait<'_>]) -> Option<Section> {
    if waits.is_empty() {
        return None;
    }
    let all_ns: u64 = waits.iter().map(|wait| wait.waits.total_ns).sum();
    let (rows, left) = limits::WAITS.fill(waits, |wait| {
        let sums = &wait.waits;
        let share = sums.total_ns as f64 / all_ns.max(1) as f64;
        html! { tr.item {
            th scope="row" { (shorten(&waited::what(&wait.lock))) }
            td { (waited::of(&wait.lock)) }
            td.place { @match wait.lock {
                Waited::Lock(lock) => {
                    @if let Some(site) = lock.sites.first() { (stack::place(context, &site.stack)) }
                }
                Waited::Futex(wait) => (stack::place(context, &wait.stack)),
                Waited::Inner(lock) => {
                    @if let Some((stack, _)) = lock.sites.first() { (stack::place(context, trimmed(stack))) }
                }
                Waited::Kernel(lock) => {
                    @if let Some(site) = lock.sites.first() {
                        (shorten(&kernel_locks::stack(&site.stack[..site.stack.len().min(FUNCTIONS)])))
                    }
                }
            } }
            (number_cell(&count(sums.count), sums.count as f64))
            (number_cell(&time(sums.total_ns as f64), sums.total_ns as f64))
            (number_cell(&percent(share), share * 100.0))
            (number_cell(&time(sums.mean_ns()), sums.mean_ns()))
            (number_cell(&time(sums.max_ns as f64), sums.max_ns as f64))
        } }
    });
    let body = html! {
        (table("Every wait for a lock, the program's and the kernel's", COLUMNS, &rows))
        (left_out(left, "lock", "--json"))
    };
    Some(Section::new("every-wait", "Every wait", body).counting(waits.len()))
}
