//! What happened from one moment to the next.

use std::collections::HashMap;

use super::moment::{Moment, Rates, Site, Totals};

impl Moment {
    /// Has the rates since `before`. Where that is of another program, or later, there are none.
    pub fn compare(&mut self, before: &Moment) {
        let ns = self.at_ns.saturating_sub(before.at_ns);
        self.interval_ns = ns;
        if ns == 0 {
            return;
        }
        let old: HashMap<&str, _> = before.locks.iter().map(|it| (it.id.as_str(), it)).collect();
        for lock in &mut self.locks {
            let old = old.get(lock.id.as_str());
            let totals = old.map(|old| old.totals).unwrap_or_default();
            lock.rates = Some(lock.totals.since(&totals, ns));
            compare_sites(&mut lock.sites, old.map_or(&[][..], |old| &old.sites), ns);
            compare_sites(&mut lock.wakers, old.map_or(&[][..], |old| &old.wakers), ns);
        }
        let old: HashMap<(u32, u32), u64> =
            before.threads.iter().map(|it| ((it.pid, it.tid), it.acquisitions)).collect();
        for thread in &mut self.threads {
            // What a new one begins with may be what others have left.
            let old = old.get(&(thread.pid, thread.tid));
            thread.acquisition_rate =
                old.map(|&old| per_second(thread.acquisitions.saturating_sub(old) as f64, ns));
        }
    }
}

fn compare_sites(sites: &mut [Site], before: &[Site], ns: u64) {
    for site in sites {
        let is_same = |old: &&Site| old.how == site.how && old.place.text == site.place.text;
        let totals = before.iter().find(is_same).map(|old| old.totals).unwrap_or_default();
        site.rates = Some(site.totals.since(&totals, ns));
    }
}

impl Totals {
    /// What came to `before` in `ns`.
    fn since(&self, before: &Self, ns: u64) -> Rates {
        let count = |now: u64, then: u64| per_second(now.saturating_sub(then) as f64, ns);
        let part = |now: f64, then: f64| ((now - then) / ns as f64).max(0.0);
        Rates {
            acquisitions: count(self.acquisitions, before.acquisitions),
            contended: count(self.contended, before.contended),
            waiting: part(self.wait_ns, before.wait_ns),
            held: part(self.hold_ns, before.hold_ns),
        }
    }
}

fn per_second(n: f64, ns: u64) -> f64 {
    n * 1e9 / ns as f64
}

#[cfg(test)]
mod tests {
    use super::super::moment::{Lock, Thread};
    use super::*;

    fn moment(at_ns: u64, acquisitions: u64, wait_ns: f64) -> Moment {
        let totals = Totals { acquisitions, wait_ns, ..Totals::default() };
        let site = Site { totals, ..Site::default() };
        let lock = Lock { id: "1".into(), totals, sites: vec![site], ..Lock::default() };
        let thread = Thread { tid: 7, acquisitions, ..Thread::default() };
        Moment { at_ns, locks: vec![lock], threads: vec![thread], ..Moment::default() }
    }

    #[test]
    fn rates_are_what_came_in_the_interval() {
        let (before, mut now) = (moment(1_000_000_000, 10, 5e8), moment(3_000_000_000, 30, 15e8));
        now.compare(&before);
        let rates = now.locks[0].rates.unwrap();
        assert_eq!((rates.acquisitions, rates.waiting), (10.0, 0.5));
        assert_eq!(now.locks[0].sites[0].rates.unwrap().acquisitions, 10.0);
        assert_eq!(now.threads[0].acquisition_rate, Some(10.0));
        assert_eq!(now.interval_ns, 2_000_000_000);
    }

    #[test]
    fn what_went_back_has_no_negative_rate() {
        let (before, mut now) = (moment(1, 30, 5e8), moment(1_000_000_001, 10, 1e8));
        now.compare(&before);
        let rates = now.locks[0].rates.unwrap();
        assert_eq!((rates.acquisitions, rates.waiting), (0.0, 0.0));
        let mut same = moment(1, 1, 0.0);
        same.compare(&before);
        assert_eq!(same.locks[0].rates, None, "there is no time between them");
    }

    #[test]
    fn a_new_lock_did_all_in_the_interval_and_a_new_thread_is_not_known() {
        let before = Moment { at_ns: 0, ..Moment::default() };
        let mut now = moment(1_000_000_000, 5, 0.0);
        now.compare(&before);
        assert_eq!(now.locks[0].rates.unwrap().acquisitions, 5.0);
        assert_eq!(now.threads[0].acquisition_rate, None);
    }
}
