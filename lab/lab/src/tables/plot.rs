//! Plots of the comparisons: published and measured figures, a row each.

use std::error::Error;

use plotters::prelude::*;

use super::publication::{Comparison, Here, Publication, Row};
use super::unit::Unit;
use crate::bench::Plot;

/// A plot for each comparison, or for each unit of one that has several; none where nothing was measured.
pub fn plots(documents: &[Publication]) -> Vec<Plot> {
    let mut plots = Vec::new();
    for document in documents {
        for (number, comparison) in (1..).zip(&document.comparisons) {
            let mut units: Vec<Unit> = Vec::new();
            for row in comparison.rows.iter().filter(|row| row.here.figure().is_some()) {
                if !units.contains(&row.unit) {
                    units.push(row.unit);
                }
            }
            for unit in units {
                let name = format!(
                    "{}-{number}-{}.svg",
                    super::publications::subject(document.number),
                    unit.name().replace(' ', "-")
                );
                let svg = draw(comparison, unit).expect("it is drawn into memory");
                plots.push(Plot { name, svg });
            }
        }
    }
    plots
}

const WIDTH: u32 = 1000;
/// Height of a row.
const HEIGHT: u32 = 22;
/// What the rows' names have.
const NAMES: u32 = 470;
/// What the title, the axis and the legend have.
const AROUND: u32 = 104;
/// Characters of a row's name; more are cut.
const NAME: usize = 68;

/// How many times the least figure the greatest must be for a logarithmic axis.
const WIDE: f64 = 50.0;

/// The axis that figures are on.
struct Axis {
    is_log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(figures: &[f64]) -> Self {
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = least > 0.0 && most / least > WIDE;
        let (least, most) = match is_log {
            true => (least.log10(), most.log10()),
            // Lengths are compared from nothing on.
            false => (least.min(0.0), most.max(0.0)),
        };
        let margin = ((most - least) * 0.05).max(1e-9);
        let from = if !is_log && least == 0.0 { 0.0 } else { least - margin };
        Self { is_log, from, to: most + margin }
    }

    fn at(&self, figure: f64) -> f64 {
        if self.is_log { figure.log10() } else { figure }
    }

    fn figure(&self, at: f64) -> f64 {
        if self.is_log { 10f64.powf(at) } else { at }
    }
}

/// The figures of a row: the least, this machine's and the greatest; what is not known is not there.
fn interval(here: &Here) -> Option<[f64; 3]> {
    match here {
        Here::Measured(estimate) => Some([estimate.low, estimate.median, estimate.high]),
        Here::Counted(figure) => Some([*figure; 3]),
        Here::Missing(_) | Here::Nothing(_) => None,
    }
}

fn draw(comparison: &Comparison, unit: Unit) -> Result<String, Box<dyn Error>> {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.unit == unit).collect();
    let figures: Vec<f64> = rows
        .iter()
        .flat_map(|row| interval(&row.here).into_iter().flatten().chain(row.published))
        .filter(|figure| figure.is_finite())
        .collect();
    let axis = Axis::new(&figures);
    let size = (WIDTH, AROUND + HEIGHT * rows.len() as u32);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(&comparison.title, ("sans-serif", 17))
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(axis.from..axis.to, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .x_labels(6)
            .x_desc("grey cross: published; blue dot: here, with its interval")
            .x_label_formatter(&|at| unit.show(axis.figure(*at)))
            .draw()?;
        for (index, row) in rows.iter().enumerate() {
            let y = rows.len() as f64 - index as f64 - 0.5;
            let (_, height) = chart.backend_coord(&(axis.from, y));
            let name = Text::new(shortened(&row.what), (8, height - 7), ("sans-serif", 13));
            root.draw(&name)?;
            if let Some([low, median, high]) = interval(&row.here) {
                let ends = [(axis.at(low), y), (axis.at(high), y)];
                chart.draw_series([PathElement::new(ends, BLUE.stroke_width(2))])?;
                chart.draw_series([Circle::new((axis.at(median), y), 4, BLUE.filled())])?;
            }
            if let Some(published) = row.published {
                let grey = RGBColor(90, 90, 90).stroke_width(2);
                chart.draw_series([Cross::new((axis.at(published), y), 5, grey)])?;
            }
        }
        root.present()?;
    }
    Ok(svg)
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_measure::stats::Estimate;

    fn document(rows: Vec<Row>) -> Publication {
        Publication {
            number: 3,
            title: "",
            source: "",
            method: Vec::new(),
            comparisons: vec![Comparison { title: "Locks & builds".to_owned(), rows }],
            sections: Vec::new(),
            blocks: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    fn measured(median: f64) -> Here {
        Here::Measured(Estimate { median, low: median / 2.0, high: median * 2.0, confidence: 0.95 })
    }

    #[test]
    fn a_plot_has_both_figures_of_each_row() {
        let plots = plots(&[document(vec![
            Row::new("the first", Unit::Times, Some(2.0), measured(1.0)),
            Row::new("the second", Unit::Times, None, Here::Counted(3.0)),
            Row::new("a third", Unit::Seconds, Some(1.0), Here::Nothing("no such machine")),
        ])]);
        let [plot] = &plots[..] else { panic!("one of them has figures of this machine") };
        assert_eq!(plot.name, "rwsem-trylock-1-times.svg");
        for text in ["Locks &amp; builds", "the first", "the second"] {
            assert!(plot.svg.contains(text), "{text}: {}", plot.svg);
        }
        assert!(!plot.svg.contains("a third"), "{}", plot.svg);
        assert_eq!(plot.svg.matches("<circle").count(), 2, "{}", plot.svg);
    }

    #[test]
    fn figures_far_apart_are_on_a_logarithmic_axis() {
        assert!(!Axis::new(&[1.0, 40.0]).is_log && !Axis::new(&[-1.0, 400.0]).is_log);
        let axis = Axis::new(&[1.0, 1000.0]);
        assert!(axis.is_log && axis.from < 0.0 && axis.to > 3.0);
        assert!((axis.figure(axis.at(25.0)) - 25.0).abs() < 1e-9);
        assert_eq!(Axis::new(&[3.0, 5.0]).from, 0.0);
    }
}
