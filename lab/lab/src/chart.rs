//! Curves over numbers of threads or CPUs, as SVG.

use std::error::Error;

use plotters::prelude::*;

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Drawn with a thicker line.
    pub is_thick: bool,
    /// Indices of the chart's labels, and values.
    pub points: Vec<(usize, f64)>,
}

/// Curves over the same labels, which are at the same distances.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below it: what the labels are numbers of.
    pub under: &'static str,
    /// From left to right: at least two.
    pub labels: Vec<String>,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
}

/// In pixels.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 480;
/// Where the legend begins.
const LEGEND: i32 = 720;
/// Height of a line of the legend.
const LINE: u32 = 18;
/// Above the legend.
const ABOVE: u32 = 40;
/// The most labels that are legible side by side.
const MOST_LABELS: usize = 20;

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        self.draw(&mut svg).expect("it is drawn into memory");
        svg
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn Error + '_>> {
        let values = self.curves.iter().flat_map(|curve| &curve.points);
        let most = values.map(|point| point.1).fold(0.0, f64::max);
        // All names can be read.
        let height = HEIGHT.max(ABOVE + LINE * (self.curves.len() as u32 + 1));
        let root = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(LEGEND);
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 18))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(52)
            .build_cartesian_2d(
                0..self.labels.len() - 1,
                0.0..most.max(f64::MIN_POSITIVE) * 1.05,
            )?;
        chart
            .configure_mesh()
            .x_desc(self.under)
            .x_labels(self.labels.len().min(MOST_LABELS))
            .x_label_formatter(&|index| self.labels.get(*index).cloned().unwrap_or_default())
            .draw()?;
        for (number, curve) in self.curves.iter().enumerate() {
            let style = style(number, curve);
            chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
            let height = (ABOVE + LINE * number as u32) as i32;
            legend.draw(&PathElement::new([(0, height), (24, height)], style))?;
            let text = ("sans-serif", 13).into_font();
            legend.draw(&Text::new(curve.name.as_str(), (30, height - 7), text))?;
        }
        root.present()?;
        Ok(())
    }
}

fn style(number: usize, curve: &Curve) -> ShapeStyle {
    let color = Palette99::pick(number).to_rgba();
    ShapeStyle { color, filled: false, stroke_width: if curve.is_thick { 3 } else { 1 } }
}
