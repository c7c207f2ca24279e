//! Hansen's 2002 patches: the big kernel lock under dbench on 8 CPUs, as lockmeter saw it.

use lockwright_lab::tables::bkl_published::{AFTER, BEFORE};

use super::{Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(2);

/// One run's length as a multiple of the others': the longest holds are rare.
const PART: f64 = 20.0;
/// CPUs of the machine.
const CPUS: u32 = 8;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    for (name, published) in [("before", &BEFORE), ("after", &AFTER)] {
        let figures = runner.run("pentium3-8", "bkl", name, CPUS, false, PART);
        let published =
            [published.utilisation, published.contention, published.wait_us, published.wait_cpu];
        for ((column, simulated), published) in figures.more.into_iter().zip(published) {
            let is_fitted = name == "before" && column.starts_with("UTIL");
            truth.amount(
                DOCUMENT,
                format!("kernel_flag, {name}: {column}"),
                published,
                simulated,
                is_fitted,
            );
        }
    }
}
