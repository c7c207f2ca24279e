//! How times are distributed: a bar for each octave. Drawn by plotters; its colours are the style
//! sheet's.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;

use crate::lockmeter::text::format::time;
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::{Histogram, Times};

/// Size of a plot, in the units of its view box.
const SIZE: (u32, u32) = (520, 190);

/// Octaves that have labels of their own; of more, every second or third.
const LABELS: usize = 9;

/// The plot; `None` if nothing was timed.
pub fn show(what: &str, times: &Times) -> Option<Markup> {
    let bars = octaves(&times.histogram);
    let (&first, &last) = (bars.keys().next()?, bars.keys().next_back()?);
    let most = bars.values().copied().max()?;
    let svg = draw(&bars, first, last, most)?;
    let [p50, p99] =
        [50.0, 99.0].map(|p| times.percentile_ns(p).map_or_else(|| "-".to_owned(), time));
    let said = format!(
        "{what}: {}, half of them up to {p50}, 99 % up to {p99}, the longest {}",
        number(times.count),
        time(times.max_ns)
    );
    Some(html! {
        figure.plot {
            figcaption { (said) }
            div role="img" aria-label=(said) { (PreEscaped(svg)) }
        }
    })
}

/// Counts by the power of two that a time in nanoseconds is at least.
fn octaves(histogram: &Histogram) -> BTreeMap<i32, u64> {
    let mut bars: BTreeMap<i32, u64> = BTreeMap::new();
    for (ns, count) in histogram.buckets() {
        let octave = ns.max(1.0).log2().floor() as i32;
        let bar = bars.entry(octave).or_default();
        *bar = bar.saturating_add(count);
    }
    bars
}

/// `None` if plotters refuses, which it has no reason to.
fn draw(bars: &BTreeMap<i32, u64>, first: i32, last: i32, most: u64) -> Option<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(4)
            .margin_right(34)
            .x_label_area_size(22)
            .y_label_area_size(64)
            .build_cartesian_2d(f64::from(first)..f64::from(last + 1), 0.0..most as f64 * 1.05)
            .ok()?;
        let octaves = (last - first + 2) as usize;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(octaves.min(LABELS))
            .y_labels(4)
            .x_label_formatter(&|octave| time(octave.exp2()))
            .y_label_formatter(&|count| {
                if count.fract() == 0.0 { number(*count as u64) } else { String::new() }
            })
            .label_style(("sans-serif", 12))
            .draw()
            .ok()?;
        chart
            .draw_series(bars.iter().map(|(&octave, &count)| {
                let left = f64::from(octave);
                Rectangle::new([(left + 0.06, 0.0), (left + 0.94, count as f64)], BLUE.filled())
            }))
            .ok()?;
        root.present().ok()?;
    }
    let start = svg.find("<svg")?;
    Some(svg[start..].replace(" xmlns=\"http://www.w3.org/2000/svg\"", "").replace("\n", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_octaves() {
        let mut histogram = Histogram::default();
        for (ns, count) in [(0.2, 1), (1.5, 2), (8.0, 3), (15.9, 4), (16.0, 5)] {
            histogram.record(ns, count);
        }
        let bars: Vec<(i32, u64)> = octaves(&histogram).into_iter().collect();
        assert_eq!(bars, [(0, 3), (3, 7), (4, 5)]);
    }
}
