//! Who held a lock while others waited for it: a table whose cells are the darker the longer.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{Context, stack};
use crate::lockmeter::text::format::{percent, time};
use lockwright_analysis::lockmeter::model::Lock;

/// Waiters, and holders, that have a row or column; the rest are summed up.
const MOST_WAITERS: usize = 10;
const MOST_HOLDERS: usize = 6;

/// A row or column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Site(usize),
    Others,
    Nobody,
}

/// The table; `None` if nobody is known to have held it.
pub fn show(context: &Context<'_>, lock: &Lock) -> Option<Markup> {
    let all: f64 = lock.blame.iter().map(|blame| blame.ns).sum();
    if all <= 0.0 {
        return None;
    }
    let waiters = longest(lock.blame.iter().map(|blame| (blame.waiter, blame.ns)), MOST_WAITERS);
    let holders = longest(
        lock.blame.iter().filter_map(|blame| Some((blame.holder?, blame.ns))),
        MOST_HOLDERS,
    );
    let mut cells: BTreeMap<(Who, Who), f64> = BTreeMap::new();
    for blame in &lock.blame {
        let named =
            |site, of: &[usize]| if of.contains(&site) { Who::Site(site) } else { Who::Others };
        let holder = blame.holder.map_or(Who::Nobody, |site| named(site, &holders));
        *cells.entry((named(blame.waiter, &waiters), holder)).or_default() += blame.ns;
    }
    let rest = |shown: &[usize], is: &dyn Fn(Who) -> bool| -> Vec<Who> {
        let extra = [Who::Others, Who::Nobody].into_iter().filter(|&who| is(who));
        shown.iter().map(|&site| Who::Site(site)).chain(extra).collect()
    };
    let rows = rest(&waiters, &|who| cells.keys().any(|&(waiter, _)| waiter == who));
    let columns = rest(&holders, &|who| cells.keys().any(|&(_, holder)| holder == who));
    let most = cells.values().copied().fold(0.0, f64::max);
    let letter = |index: usize| char::from(b'A' + index as u8);
    Some(html! {
        div.scroll tabindex="0" role="region" aria-label="Blame" {
            table.heat {
                caption { "Who held it during the " (time(all)) " that others waited" }
                thead { tr {
                    th scope="col" { "waited at" }
                    @for (index, holder) in columns.iter().enumerate() {
                        th scope="col" { @match holder {
                            Who::Site(_) => { "held by " (letter(index)) }
                            Who::Others => { "by others" }
                            Who::Nobody => { "by nobody" }
                        } }
                    }
                } }
                tbody { @for &row in &rows { tr {
                    th scope="row" { @match row {
                        Who::Site(site) => { (stack::place(context, &lock.sites[site].stack)) }
                        _ => { "other places" }
                    } }
                    @for &column in &columns {
                        @let ns = cells.get(&(row, column)).copied().unwrap_or(0.0);
                        td.n .{ "h" (heat(ns, most)) } {
                            @if ns > 0.0 { (time(ns)) " " span.quiet { (percent(ns / all)) " %" } } @else { "-" }
                        }
                    }
                } } }
            }
        }
        ul.holders {
            @for (index, holder) in columns.iter().enumerate() { @match holder {
                Who::Site(site) => { li { b { (letter(index)) } " is " (stack::place(context, &lock.sites[*site].stack)) } }
                Who::Others => {}
                Who::Nobody => { li.quiet { "nobody: the lock was free and a waiter being woken, or the holder is not known" } }
            } }
        }
    })
}

/// The sites with the longest times, the longest first.
fn longest(times: impl Iterator<Item = (usize, f64)>, most: usize) -> Vec<usize> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    times.for_each(|(site, ns)| *sums.entry(site).or_default() += ns);
    let mut sites: Vec<(usize, f64)> = sums.into_iter().collect();
    sites.sort_by(|a, b| b.1.total_cmp(&a.1));
    sites.into_iter().take(most).map(|(site, _)| site).collect()
}

/// From 0, nothing, to 5.
fn heat(ns: f64, most: f64) -> u32 {
    if ns <= 0.0 { 0 } else { ((ns / most * 5.0).ceil() as u32).clamp(1, 5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_the_darkest() {
        let cells = [0.0, 0.1, 20.0, 21.0, 99.0, 100.0].map(|ns| heat(ns, 100.0));
        assert_eq!(cells, [0, 1, 1, 2, 5, 5]);
        let sites = [(0, 1.0), (1, 5.0), (0, 3.0), (2, 9.0)];
        assert_eq!(longest(sites.into_iter(), 2), [2, 1]);
    }
}
