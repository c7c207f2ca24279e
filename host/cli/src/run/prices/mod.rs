//! What single things take, or are longer for being watched.

pub mod calibrate;
pub mod cost_file;
pub mod counts;
pub mod file;
pub mod loops;

use serde::{Deserialize, Serialize};

use self::counts::Counts;

/// A table of prices: each a field, and an element of [`Prices::all`].
macro_rules! prices {
    ($($(#[$doc:meta])* $price:ident,)*) => {
        /// Nanoseconds.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Prices {
            $($(#[$doc])* pub $price: f64,)*
        }

        impl Prices {
            /// One of each, in the order of the table.
            pub fn all(&self) -> [f64; [$(stringify!($price)),*].len()] {
                [$(self.$price),*]
            }

            /// Each as `price` makes it of a function that reads it.
            pub fn each(price: impl Fn(fn(&Self) -> f64) -> f64) -> Self {
                Self { $($price: price(|prices| prices.$price)),* }
            }
        }
    };
}

prices! {
    /// A process that does nothing: to load and end it, without what the library measures itself.
    load_ns,
    /// A lock and unlock, uncontended, by a program that does nothing else.
    tight_ns,
    /// A lock and unlock, uncontended, by a program that takes many locks at many places and works
    /// a little between.
    pair_ns,
    /// The same by one that works much between, so that the processor's nearest cache has other
    /// things in it.
    sparse_ns,
    /// A reader-writer lock taken for reading, and its unlock.
    read_ns,
    /// A wait for a lock. Reported, but no part of the sum: the library measures those of the program.
    wait_ns,
    /// A call that may sleep, made with a lock held.
    call_ns,
}

impl Prices {
    /// By how much these are more than `less`: nothing where that was disturbed more.
    pub fn more_than(&self, less: &Self) -> Self {
        Self::each(|price| (price(self) - price(less)).max(0.0))
    }

    /// The lower quartile of each: what others do on the machine makes a round longer, and none shorter.
    pub fn lower_quartile(samples: &[Self]) -> Self {
        Self::each(|price| {
            let mut all: Vec<f64> = samples.iter().map(price).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 4).copied().unwrap_or_default()
        })
    }

    /// Each of the counts but that of pairs, and its price.
    fn of_others(&self, counts: &Counts) -> impl Iterator<Item = (u64, f64)> {
        [(counts.reads, self.read_ns), (counts.calls, self.call_ns), (counts.loads, self.load_ns)]
            .into_iter()
    }

    /// They can be what they say they are.
    pub fn are_plausible(&self) -> bool {
        self.all().iter().all(|ns| ns.is_finite())
    }
}

/// What watching adds to the things that were calibrated, and what they take with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How much longer they are.
    pub added: Prices,
    /// How long they are.
    pub watched: Prices,
}

impl Calibration {
    /// What a lock and unlock takes longer in a program that uses `each_ns` of CPU time for each of
    /// them, all that it does between included.
    ///
    /// A processor does much of what the tool adds while it waits for the locked instruction. A
    /// program that does nothing but lock therefore pays least; one that does much else pays most,
    /// as what the tool works on has left the nearest cache. `None`: it is not known.
    pub fn pair_ns(&self, each_ns: Option<f64>) -> f64 {
        let Self { added, watched } = self;
        let Some(each) = each_ns else { return added.pair_ns };
        let loops = [
            (watched.tight_ns, added.tight_ns),
            (watched.pair_ns, added.pair_ns),
            (watched.sparse_ns, added.sparse_ns),
        ];
        for [(from, less), (to, more)] in [[loops[0], loops[1]], [loops[1], loops[2]]] {
            if each < to && from < to {
                return less + ((each - from) / (to - from)).max(0.0) * (more - less);
            }
        }
        added.sparse_ns
    }

    /// CPU time that the tool took in a program that used `program_ns` in all, if that is known.
    pub fn cost(&self, counts: &Counts, program_ns: Option<f64>) -> Estimate {
        let recording_ns = counts.recording_ns as f64;
        let taken = counts.pairs + counts.reads + counts.semaphores;
        let each_ns = program_ns.map(|ns| (ns - recording_ns) / taken.max(1) as f64);
        let pair_ns = self.pair_ns(each_ns);
        let others_ns: f64 =
            self.added.of_others(counts).map(|(count, ns)| count as f64 * ns).sum();
        Estimate { pair_ns, cpu_ns: pair_ns * counts.pairs as f64 + others_ns + recording_ns }
    }

    /// They can be what they say they are.
    pub fn is_plausible(&self) -> bool {
        self.added.are_plausible() && self.watched.are_plausible()
    }
}

/// What it cost.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Each lock and unlock, ns.
    pub pair_ns: f64,
    /// All of it, ns of CPU time.
    pub cpu_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pair_ns: f64) -> Prices {
        let (tight_ns, sparse_ns) = (pair_ns / 2.0, 2.0 * pair_ns);
        let wait_ns = 2.0 * pair_ns;
        Prices { tight_ns, pair_ns, sparse_ns, wait_ns, call_ns: 5.0, ..Prices::default() }
    }

    const CALIBRATION: Calibration = Calibration {
        added: Prices {
            load_ns: 1000.0,
            tight_ns: 4.0,
            pair_ns: 24.0,
            sparse_ns: 64.0,
            read_ns: 30.0,
            wait_ns: 100.0,
            call_ns: 10.0,
        },
        watched: Prices { tight_ns: 25.0, pair_ns: 65.0, sparse_ns: 265.0, ..ZERO },
    };

    const ZERO: Prices = Prices {
        load_ns: 0.0,
        tight_ns: 0.0,
        pair_ns: 0.0,
        sparse_ns: 0.0,
        read_ns: 0.0,
        wait_ns: 0.0,
        call_ns: 0.0,
    };

    #[test]
    fn rounds_that_were_disturbed_do_not_show() {
        // Other programs had the processor's other half in three of five rounds.
        assert_eq!(Prices::lower_quartile(&[60.0, 12.0, 33.0, 11.0, 40.0].map(of)), of(12.0));
        assert_eq!(Prices::lower_quartile(&[of(8.0)]), of(8.0));
        assert_eq!(Prices::lower_quartile(&[]).pair_ns, 0.0);
    }

    #[test]
    fn what_is_no_number_is_not_believed() {
        assert!(of(-3.0).are_plausible() && !of(f64::NAN).are_plausible());
        assert_eq!(of(8.0).more_than(&of(4.0)), Prices { call_ns: 0.0, ..of(4.0) });
        assert_eq!(of(4.0).more_than(&of(8.0)), Prices::default());
    }

    #[test]
    fn the_busier_a_program_is_with_locks_the_less_each_costs() {
        let each = |ns| CALIBRATION.pair_ns(Some(ns));
        assert_eq!((each(10.0), each(25.0), each(45.0), each(65.0)), (4.0, 4.0, 14.0, 24.0));
        assert_eq!((each(165.0), each(265.0), each(1e6)), (44.0, 64.0, 64.0));
        assert_eq!(CALIBRATION.pair_ns(None), 24.0);
        // Two loops took the same: a disturbed calibration.
        let watched = Prices { tight_ns: 65.0, ..CALIBRATION.watched };
        let odd = Calibration { watched, ..CALIBRATION };
        assert_eq!((odd.pair_ns(Some(10.0)), odd.pair_ns(Some(1e6))), (24.0, 64.0));
    }

    #[test]
    fn the_parts_of_a_cost_add_up() {
        let counts =
            Counts { pairs: 1000, calls: 2, loads: 1, recording_ns: 5000, ..Counts::default() };
        let cost = CALIBRATION.cost(&counts, Some(70_000.0));
        assert_eq!((cost.pair_ns, cost.cpu_ns), (24.0, 24_000.0 + 20.0 + 1000.0 + 5000.0));
        // What was measured is no time between locks: 25 ns for each of them is left.
        assert_eq!(CALIBRATION.cost(&counts, Some(30_000.0)).pair_ns, 4.0);
        // A model that leaves the slow path out: one lock, and what recording it took.
        let new = Counts { pairs: 1, recording_ns: 5000, ..Counts::default() };
        assert!(CALIBRATION.cost(&new, None).cpu_ns > 5000.0);
        assert_eq!(CALIBRATION.cost(&Counts::default(), Some(1e6)).cpu_ns, 0.0);
    }

    #[test]
    fn each_kind_has_a_price_that_is_used() {
        let none = Counts::default();
        let costs = [
            Counts { pairs: 10, ..none },
            Counts { reads: 10, ..none },
            Counts { calls: 10, ..none },
            Counts { loads: 10, ..none },
        ]
        .map(|counts| CALIBRATION.cost(&counts, None).cpu_ns / 10.0);
        assert_eq!(costs, [24.0, 30.0, 10.0, 1000.0]);
        // One price for each count, two more for pairs, and that of a wait.
        assert_eq!(costs.len() + 3, CALIBRATION.added.all().len());
    }
}
