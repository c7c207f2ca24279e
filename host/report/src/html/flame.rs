//! Flame graphs of waits and holds, drawn by inferno from the folded stacks.

use inferno::flamegraph::{Options, from_lines};
use maud::{Markup, PreEscaped, html};

use super::limits::FLAME_BYTES;
use crate::lockmeter::folded::{self, Folded};
use lockwright_analysis::lockmeter::model::MeterReport;

/// Width of a drawing.
const WIDTH: usize = 1160;

/// Parts of the whole, in percent, that are too small to draw: the first with which a drawing has
/// room on the page is taken.
const LEAST: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// The figure; `None` where there is nothing to draw.
pub fn show(report: &MeterReport, what: Folded) -> Option<Markup> {
    let lines = folded::render(report, what);
    if lines.is_empty() {
        return None;
    }
    let drawings = LEAST.iter().filter_map(|&least| Some((least, draw(&lines, least)?)));
    let (least, svg) = drawings.into_iter().find(|(_, svg)| svg.len() <= FLAME_BYTES)?;
    let caption = match what {
        Folded::Wait => "Waits for locks, by the stacks that waited",
        Folded::Hold => "Holds of locks, by the stacks that acquired them",
    };
    let option = match what {
        Folded::Wait => "--folded wait=FILE",
        Folded::Hold => "--folded hold=FILE",
    };
    Some(html! {
        figure.flame {
            figcaption {
                b { (caption) } ". The wider, the longer in all; the lock is on top. "
                span.quiet { "Less than " (least) " % is not drawn: " code { (option) } " has all." }
                " " button.whole type="button" hidden { "Whole graph" }
            }
            div.scroll tabindex="0" role="region" aria-label=(caption) { (PreEscaped(svg)) }
        }
    })
}

fn draw(lines: &str, least: f64) -> Option<String> {
    let mut options = Options::default();
    options.title = String::new();
    options.count_name = "ns".to_owned();
    options.min_width = least;
    options.image_width = Some(WIDTH);
    options.no_javascript = true;
    options.deterministic = true;
    options.hash = true;
    options.frame_height = 18;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.lines(), &mut svg).ok()?;
    bare(&String::from_utf8(svg).ok()?)
}

/// Only the frames, in an SVG element of ours: inferno's own page has style, script and buttons.
fn bare(svg: &str) -> Option<String> {
    let view = attribute(svg, "viewBox")?;
    let (_, height) = view.rsplit_once(' ')?;
    let start = svg.find("<svg id=\"frames\"")?;
    let end = svg.rfind("</svg>")?;
    let mut frames = svg[start..end].replacen("<svg id=\"frames\"", "<svg", 1).replace('\n', "");
    // Numbers for inferno's own script.
    for name in ["fg:x", "fg:w", "total_samples"] {
        frames = without(&frames, name);
    }
    // The frames' places are percentages of what is about them.
    Some(format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">{frames}</svg>"
    ))
}

fn attribute<'s>(svg: &'s str, name: &str) -> Option<&'s str> {
    let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Without an attribute, wherever it is.
fn without(svg: &str, name: &str) -> String {
    let begin = format!(" {name}=\"");
    let mut parts = svg.split(&begin);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_are_left() {
        let svg = draw("main;work;[a<b] 70\nmain;[c\"d] 30\n", 0.1).unwrap();
        for gone in ["<style", "<script", "onload", "xmlns", "fg:x", "id=", "http"] {
            assert!(!svg.contains(gone), "{gone} in {svg}");
        }
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        assert_eq!(svg.matches("<rect").count(), 5, "all, main, work and two locks: {svg}");
    }
}
