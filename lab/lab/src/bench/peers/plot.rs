//! Plots: throughput over threads, one plot for each combination of the other dimensions.

use super::super::report::Plot;
use super::compare::Compared;
use super::measure::Measured;
use super::outcome::Outcome;
use super::sweep::Cell;
use crate::chart::{Chart, Curve};

/// All plots of a kind; none of what ran with one number of threads.
pub fn plots(measured: &Measured) -> Vec<Plot> {
    let rest = |cell: &Cell| Cell { threads: 0, ..cell.clone() };
    let mut rests: Vec<Cell> = Vec::new();
    for compared in &measured.compared {
        let rest = rest(&compared.cell);
        if !rests.contains(&rest) {
            rests.push(rest);
        }
    }
    let plot = |of: &Cell| {
        let fits = |compared: &&Compared| rest(&compared.cell) == *of;
        let mut cells: Vec<_> = measured.compared.iter().filter(fits).collect();
        cells.sort_by_key(|compared| compared.cell.threads);
        let Cell { section_ns, gap, locks, reads, hog, .. } = of;
        let hog = if *hog { "-hog" } else { "" };
        (cells.len() > 1).then(|| Plot {
            name: format!(
                "{}-{section_ns}ns-gap{gap}-locks{locks}-reads{reads}{hog}.svg",
                measured.kind.name
            ),
            svg: chart(&cells).svg(),
        })
    };
    rests.iter().filter_map(plot).collect()
}

/// Curves of all locks that ran in any of the cells, which differ in their threads alone.
fn curves(cells: &[&Compared]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (index, compared) in cells.iter().enumerate() {
        for row in &compared.rows {
            let point = (index, row.median(Outcome::rate) / 1e6);
            match curves.iter_mut().find(|curve| curve.name == row.lock) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    name: row.lock.to_owned(),
                    // Ours are thick.
                    is_thick: row.ours,
                    points: vec![point],
                }),
            }
        }
    }
    curves
}

fn chart(cells: &[&Compared]) -> Chart {
    let what = cells[0].cell.to_string();
    let what = what.split_once(", ").map_or("", |(_threads, rest)| rest);
    Chart {
        title: format!("Millions of critical sections a second: {what}"),
        under: "threads",
        labels: cells.iter().map(|compared| compared.cell.threads.to_string()).collect(),
        curves: curves(cells),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::{Runs, tests::rounds};
    use super::super::table::{NOTHING, Peer};
    use super::*;

    #[test]
    fn a_plot_has_every_lock_and_number_of_threads() {
        let compared = |threads, sections: [u64; 2]| {
            let cell = Cell { threads, section_ns: 100, gap: 1, locks: 1, reads: 0, hog: true };
            let [base, ours] = [("one lock", false), ("another lock", true)]
                .map(|(name, is_ours)| Peer { name, is_ours, ..NOTHING });
            let runs: Vec<(&Peer, Runs)> =
                vec![(&base, rounds(&[sections[0]])), (&ours, rounds(&[sections[1]]))];
            Compared::new(&cell, runs, ["one lock", "again"], 1)
        };
        let all = [compared(1, [3, 4]), compared(7, [5, 6])];
        let cells: Vec<_> = all.iter().collect();
        let svg = chart(&cells).svg();
        for text in ["one lock", "another lock", "100ns held, gap 1x, hog", "threads", "\n7\n"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let [first, second] = &curves(&cells)[..] else { panic!("two locks") };
        assert_eq!(first.points, [(0, 3e-6), (1, 5e-6)]);
        assert_eq!((&second.name[..], second.points.len()), ("another lock", 2));
    }
}
