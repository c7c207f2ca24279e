//! What each thread did with one lock: often one thread of many has it most, or waits for it most.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::section::{Column, left_out, number_cell, part_cell, table, times};
use super::{Context, stack};
use crate::lockmeter::text::format::count;
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::{Lock, LockThread};

const COLUMNS: &[Column] = &[
    Column::text("thread"),
    Column::text("mostly at"),
    Column::number("acquired", "acquisitions"),
    Column::number("contended %", "of its acquisitions had to wait"),
    Column::number("held", "how long it held the lock in all"),
    Column::number("held %", "of its time"),
    Column::number("waited", "how long it waited for the lock in all"),
    Column::number("waited %", "of its time"),
];

/// Threads shown of one lock.
const MOST: usize = 12;

/// The table of the threads that take `lock`; `None` unless there are several that are known.
pub fn show(context: &Context<'_>, lock: &Lock) -> Option<Markup> {
    if lock.threads.len() < 2 {
        return None;
    }
    let mut threads: Vec<&LockThread> = lock.threads.iter().collect();
    threads.sort_by_key(|thread| Reverse(thread.wait_ns() as u64));
    let shown = threads.len().min(MOST);
    let rows = html! { @for thread in &threads[..shown] { (row(context, lock, thread)) } };
    Some(html! {
        h3 { "Threads that take it" }
        (table("Threads, the longest waits first", COLUMNS, &rows))
        (left_out(threads.len() - shown, "thread", "--json"))
    })
}

fn row(context: &Context<'_>, lock: &Lock, thread: &LockThread) -> Markup {
    let (acquisitions, contended) = (thread.acquisitions(), thread.contended());
    let (held, waited) = (thread.hold_ns(lock), thread.wait_ns());
    let of_its_time = |ns: f64| if thread.lived_ns > 0.0 { ns / thread.lived_ns } else { 0.0 };
    let mostly = thread.sites.iter().max_by_key(|site| site.acquisitions);
    let mostly = mostly.and_then(|site| lock.sites.get(site.site));
    html! { tr {
        td { (name(thread)) }
        td.place { @if let Some(site) = mostly { (stack::place(context, &site.stack)) } }
        (number_cell(&count(acquisitions), acquisitions as f64))
        (part_cell(contended as f64 / acquisitions.max(1) as f64))
        (times((held > 0.0).then_some(held)))
        (part_cell(of_its_time(held)))
        (times((waited > 0.0).then_some(waited)))
        (part_cell(of_its_time(waited)))
    } }
}

/// By its kernel id while it lives; threads that have ended are those that followed each other.
fn name(thread: &LockThread) -> String {
    match (thread.tid, thread.threads) {
        (0, 0 | 1) => "one that has ended".to_owned(),
        (0, many) => format!("{}, one after the other", number(many.into())),
        (tid, 0 | 1) => format!("thread {tid}"),
        (tid, many) => format!("thread {tid}, and {} before it", number(u64::from(many) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_followed_each_other_are_counted() {
        let name = |tid, threads| name(&LockThread { tid, threads, ..LockThread::default() });
        assert_eq!(name(0, 1), "one that has ended");
        assert_eq!(name(0, 3), "3, one after the other");
        assert_eq!(name(7, 1), "thread 7");
        assert_eq!(name(7, 3), "thread 7, and 2 before it");
    }
}
