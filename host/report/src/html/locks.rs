//! Tables of locks.

use maud::html;

use super::section::{Column, Section, left_out, number_cell, table};
use super::words::name_of;
use super::{Context, limits, runs, stack};
use crate::listing::LockGraph;
use crate::prose::words::number;
use lockwright_analysis::merge::Run as MergedRun;

const OF_GRAPHS: &[Column] = &[
    Column::text("lock"),
    Column::text("kind"),
    Column::number("locks", "of this class; each life of a piece of memory is its own"),
    Column::number("held before", "classes of which a lock was held when one of this was taken"),
    Column::number("taken after", "classes of which a lock was taken while one of this was held"),
    Column::number("cycles", "dependencies of this class that lie on a cycle"),
    Column::text("created"),
];

/// The lock classes that were watched; `None` if there are none.
pub fn of_graphs(
    context: &Context<'_>,
    graphs: &[LockGraph],
    merged: &[MergedRun],
) -> Option<Section> {
    let count: usize = graphs.iter().map(|graph| graph.classes.len()).sum();
    if count == 0 {
        return None;
    }
    struct Row<'g> {
        run: Option<usize>,
        class: &'g crate::listing::LockClass,
        before: usize,
        after: usize,
        cycles: usize,
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for graph in graphs {
        let first = rows.len();
        let run = runs::number_of(merged, graph.process);
        rows.extend(graph.classes.iter().map(|class| Row {
            run,
            class,
            before: 0,
            after: 0,
            cycles: 0,
        }));
        for edge in &graph.edges {
            let on_cycle = usize::from(edge.cycle.is_some());
            rows[first + edge.acquired].before += 1;
            rows[first + edge.held].after += 1;
            rows[first + edge.acquired].cycles += on_cycle;
            rows[first + edge.held].cycles += on_cycle;
        }
    }
    rows.sort_by_key(|row| {
        std::cmp::Reverse((row.cycles, row.before + row.after, row.class.locks))
    });
    let (body, left) = limits::LOCKS.fill(&rows, |row| html! {
        tr.item {
            @if let Some(run) = row.run { (number_cell(&run.to_string(), run as f64)) }
            th scope="row" { (name_of(&row.class.name.text, row.class.name.is_symbol)) }
            td { (row.class.kind) }
            @for value in [row.class.locks, row.before as u64, row.after as u64, row.cycles as u64] {
                (number_cell(&number(value), value as f64))
            }
            td.place { @if row.class.created.is_empty() { span.quiet { "static" } } @else { (stack::place(context, &row.class.created)) } }
        }
    });
    let mut columns = OF_GRAPHS.to_vec();
    if !merged.is_empty() {
        columns.insert(0, Column::number("run", "that took a lock of this class"));
    }
    let body = html! {
        (table("Lock classes, those on cycles first", &columns, &body))
        (left_out(left, "lock class", "report --classes"))
    };
    Some(Section::new("locks", "Locks", body).counting(count))
}
