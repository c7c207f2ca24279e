//! Plots: throughput over threads, one plot for each combination of the other dimensions.

use std::error::Error;

use plotters::prelude::*;

use super::super::report::Plot;
use super::compare::Compared;
use super::measure::Measured;
use super::outcome::Outcome;
use super::sweep::Cell;

/// The curve of one lock.
struct Curve {
    lock: &'static str,
    is_ours: bool,
    /// Indices of numbers of threads, and millions of sections a second.
    points: Vec<(usize, f64)>,
}

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
            svg: draw(&cells).expect("it is drawn into memory"),
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
            match curves.iter_mut().find(|curve| curve.lock == row.lock) {
                Some(curve) => curve.points.push(point),
                None => {
                    curves.push(Curve { lock: row.lock, is_ours: row.ours, points: vec![point] })
                }
            }
        }
    }
    curves
}

const SIZE: (u32, u32) = (900, 480);
/// Where the legend begins.
const LEGEND: i32 = 720;

fn draw(cells: &[&Compared]) -> Result<String, Box<dyn Error>> {
    let curves = curves(cells);
    let most =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(0.0, f64::max);
    let what = cells[0].cell.to_string();
    let what = what.split_once(", ").map_or("", |(_threads, rest)| rest);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(LEGEND);
        let mut chart = ChartBuilder::on(&plot)
            .caption(format!("Millions of critical sections a second: {what}"), ("sans-serif", 18))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(52)
            .build_cartesian_2d(0..cells.len() - 1, 0.0..most * 1.05)?;
        chart
            .configure_mesh()
            .x_desc("threads")
            .x_labels(cells.len())
            .x_label_formatter(&|index| cells[*index].cell.threads.to_string())
            .draw()?;
        for (number, curve) in curves.iter().enumerate() {
            let style = style(number, curve);
            chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
            let height = 40 + 18 * number as i32;
            legend.draw(&PathElement::new([(0, height), (24, height)], style))?;
            let text = ("sans-serif", 13).into_font();
            legend.draw(&Text::new(curve.lock, (30, height - 7), text))?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Ours are thick.
fn style(number: usize, curve: &Curve) -> ShapeStyle {
    let color = Palette99::pick(number).to_rgba();
    ShapeStyle { color, filled: false, stroke_width: if curve.is_ours { 3 } else { 1 } }
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
        let svg = draw(&cells).unwrap();
        for text in ["one lock", "another lock", "100ns held, gap 1x, hog", "threads", "\n7\n"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let [first, second] = &curves(&cells)[..] else { panic!("two locks") };
        assert_eq!(first.points, [(0, 3e-6), (1, 5e-6)]);
        assert_eq!((second.lock, second.points.len()), ("another lock", 2));
    }
}
