//! The order of things in a report: what was waited for longest first. Indices follow.

use std::cmp::Ordering;

use super::at::At;
use super::numbers::Numbers;
use super::report::{Lock, MeterReport, Waiter};

/// Longest waits first, then longest holds, then most acquisitions.
pub fn by_wait(a: &Numbers, b: &Numbers) -> Ordering {
    b.wait
        .total_ns
        .total_cmp(&a.wait.total_ns)
        .then(b.hold_ns.total_cmp(&a.hold_ns))
        .then(b.acquisitions.cmp(&a.acquisitions))
}

/// Puts all of a report in order.
pub(super) fn sort(report: &mut MeterReport) {
    let sites: Vec<Vec<usize>> = report.locks.iter_mut().map(sort_sites).collect();
    let locks = sort_by(&mut report.locks, |a, b| {
        by_wait(&a.total, &b.total).then_with(|| a.name.cmp(&b.name))
    });
    let waits = sort_by(&mut report.waits, |a, b| {
        b.wait.total_ns.total_cmp(&a.wait.total_ns).then(b.waits.cmp(&a.waits))
    });
    let moved = |at: At| match at {
        At::Lock { lock, site } => At::Lock { lock: locks[lock], site: sites[lock][site] },
        At::Wait(wait) => At::Wait(waits[wait]),
        At::Unknown => At::Unknown,
    };
    for wait in &mut report.waits {
        wait.lock = wait.lock.map(|lock| locks[lock]);
        wait.wakers.sort_by(|a, b| b.ns.total_cmp(&a.ns).then(a.place.cmp(&b.place)));
    }
    for waiter in &mut report.waiting {
        if let At::Lock { lock, .. } = waiter.at {
            let sites = &sites[lock];
            waiter.holders.iter_mut().for_each(|h| h.site = h.site.map(|site| sites[site]));
        }
        waiter.at = moved(waiter.at);
    }
    for held in report.live.iter_mut().flat_map(|thread| &mut thread.held) {
        held.at = moved(held.at);
    }
    let begun = |waiter: &Waiter| waiter.begun_ns.unwrap_or(0.0);
    report
        .waiting
        .sort_by(|a, b| a.process.cmp(&b.process).then_with(|| begun(a).total_cmp(&begun(b))));
    if let Some(timeline) = &mut report.timeline {
        timeline.places_mut().for_each(|at| *at = moved(*at));
        timeline.classes_mut().for_each(|class| *class = locks[*class]);
    }
    for site in report.locks.iter_mut().flat_map(|lock| &mut lock.sites) {
        site.nested.iter_mut().for_each(|nested| nested.at = moved(nested.at));
        site.nested.sort_by(|a, b| b.ns.total_cmp(&a.ns).then(a.at.cmp(&b.at)));
    }
}

/// Sorts what is within a lock; says where each site has gone.
fn sort_sites(lock: &mut Lock) -> Vec<usize> {
    let sites =
        sort_by(&mut lock.sites, |a, b| by_wait(&a.numbers, &b.numbers).then(a.mode.cmp(&b.mode)));
    for blame in &mut lock.blame {
        blame.waiter = sites[blame.waiter];
        blame.holder = blame.holder.map(|holder| sites[holder]);
    }
    lock.blame.sort_by(|a, b| {
        b.ns.total_cmp(&a.ns).then((a.waiter, a.holder).cmp(&(b.waiter, b.holder)))
    });
    for instance in &mut lock.instances {
        instance.sites.iter_mut().for_each(|(site, _)| *site = sites[*site]);
        instance.sites.sort_by_key(|(site, _)| *site);
    }
    for thread in &mut lock.threads {
        thread.sites.iter_mut().for_each(|of| of.site = sites[of.site]);
        thread.sites.sort_by_key(|of| (of.site, of.inst));
    }
    lock.instances.sort_by(|a, b| {
        by_wait(&a.total, &b.total).then((a.process, a.inst).cmp(&(b.process, b.inst)))
    });
    sites
}

/// Sorts, and says where what was at each place has gone. The items are large: they are moved within their list.
fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| compare(&items[a], &items[b]));
    let mut moved = vec![0; items.len()];
    order.iter().enumerate().for_each(|(new, &old)| moved[old] = new);
    // Where what lies at each place has to go.
    let mut to = moved.clone();
    for at in 0..items.len() {
        while to[at] != at {
            let goes_to = to[at];
            items.swap(at, goes_to);
            to.swap(at, goes_to);
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_says_where_things_went() {
        let mut items = vec!['c', 'a', 'b'];
        assert_eq!(sort_by(&mut items, char::cmp), [2, 0, 1]);
        assert_eq!(items, ['a', 'b', 'c']);
    }
}
