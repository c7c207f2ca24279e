//! The order in which locks are taken: drawn, and listed with the stacks.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::layout::{HEIGHT, Layout, MOST_EDGES, MOST_NODES, PAGE, layers};
use super::limits::{self, Limit};
use super::section::{Section, left_out};
use super::words::name_of;
use super::{Context, Run, runs, stack};
use crate::listing::{Dependency, LockGraph};
use crate::prose::words::{count, plain};
use crate::text::stack::shorten;
use lockwright_analysis::finding::{Finding, Name};

/// Letters of a name in the drawing, at the most: as many of these as there is room for on a page.
const LETTERS: [usize; 4] = [60, 44, 34, 26];
/// Width of a letter, and the margin around the name.
const LETTER: f64 = 7.3;
const MARGIN: f64 = 10.0;

/// `None` if no lock was taken while another was held.
pub fn section(context: &Context<'_>, run: &Run<'_>) -> Option<Section> {
    let graphs: Vec<&LockGraph> =
        run.graphs.iter().filter(|graph| !graph.edges.is_empty()).collect();
    if graphs.is_empty() {
        return None;
    }
    let all: usize = graphs.iter().map(|graph| graph.edges.len()).sum();
    let several = graphs.len() > 1;
    // The drawings of many processes would take each other's place.
    let limit = Limit { bytes: limits::DEPENDENCIES.bytes / graphs.len(), ..limits::DEPENDENCIES };
    let show = |(number, graph): (usize, &&LockGraph)| {
        let part = Part { context, graph, number };
        let run = runs::number_of(run.runs, graph.process);
        let (list, listed) = part.list(limit);
        html! {
            @if several { h3 { @if let Some(run) = run { "run " (run) ", " } (plain(&graph.title)) } }
            (part.drawing(listed))
            (list)
        }
    };
    let (parts, left) = match graphs.as_slice() {
        [one] => (show((0, one)), 0),
        several => limits::ORDERS.fill(several.iter().enumerate(), show),
    };
    let body = html! {
        p { "An arrow leads from a lock that was held to one that was taken then. "
            "Where arrows form a cycle, threads can wait for each other." }
        p.legend {
            span.key.k-bad { "cycle that can deadlock" } " "
            span.key.k-kept { "cycle that something keeps from it" } " "
            span.key.k-plain { "order without a cycle" }
        }
        (parts)
        (left_out(left, "process", "report --graph"))
    };
    Some(Section::new("order", "Lock order", body).counting(all))
}

/// One process.
struct Part<'a, 'r> {
    context: &'a Context<'r>,
    graph: &'a LockGraph,
    number: usize,
}

impl Part<'_, '_> {
    /// The vertices to draw: all, or in a large graph first the cycles, then their neighbours.
    fn drawn(&self) -> Vec<usize> {
        let mut nodes: BTreeSet<usize> = BTreeSet::new();
        let mut edges = Vec::new();
        // Vertices on cycles come first.
        for (index, edge) in self.graph.edges.iter().enumerate() {
            if edges.len() == MOST_EDGES {
                break;
            }
            let more =
                [edge.held, edge.acquired].iter().filter(|node| !nodes.contains(node)).count();
            if nodes.len() + more <= MOST_NODES {
                nodes.extend([edge.held, edge.acquired]);
                edges.push(index);
            }
        }
        edges
    }

    /// Arrows lead to the first `listed` orders of the list.
    fn drawing(&self, listed: usize) -> Markup {
        let drawn = self.drawn();
        let mut nodes: Vec<usize> = drawn
            .iter()
            .flat_map(|&edge| [self.graph.edges[edge].held, self.graph.edges[edge].acquired])
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |class: usize| nodes.binary_search(&class).unwrap_or(0);
        let pairs: Vec<(usize, usize)> = drawn
            .iter()
            .map(|&edge| &self.graph.edges[edge])
            .map(|edge| (place(edge.held), place(edge.acquired)))
            .collect();
        let labelled = |letters: usize| -> Vec<String> {
            nodes.iter().map(|&class| label(&self.graph.classes[class].name, letters)).collect()
        };
        let wide = |label: &String| label.chars().count() as f64 * LETTER + 2.0 * MARGIN;
        let laid_out = |letters: usize| {
            let labels = labelled(letters);
            let widths: Vec<f64> = labels.iter().map(wide).collect();
            let layout = layers(&widths, &pairs);
            (labels, widths, layout)
        };
        // Longer names are not to take more rows than the shortest.
        let [.., least] = LETTERS;
        let shortest = laid_out(least);
        let is_as_high = |(_, _, layout): &(Vec<String>, Vec<f64>, Layout)| {
            layout.size.0 <= PAGE && layout.size.1 <= shortest.2.size.1
        };
        let longer =
            LETTERS.into_iter().filter(|&letters| letters > least).map(laid_out).find(is_as_high);
        let (labels, widths, mut layout) = longer.unwrap_or(shortest);
        // A lock that is only taken while held itself stands below the others.
        for (centre, &wide) in layout.centres.iter_mut().zip(&widths) {
            if centre.is_none() {
                let above = if layout.size.1 > 0.0 { layout.size.1 + HEIGHT } else { 0.0 };
                *centre = Some((wide / 2.0, above + HEIGHT / 2.0));
                layout.size = (layout.size.0.max(wide + 40.0), above + HEIGHT);
            }
        }
        let (width, height) = (layout.size.0 + 40.0, layout.size.1 + 40.0);
        let left = self.graph.edges.len() - drawn.len();
        // The page opens a drawing that is too wide there.
        let touched = |node: usize| pairs.iter().filter(|&&(a, b)| a == node || b == node).count();
        let hub = (0..nodes.len()).rev().max_by_key(|&node| touched(node));
        let name = format!("Lock order: {}", count(nodes.len() as u64, "lock class"));
        html! {
            div.scroll.drawing tabindex="0" role="region" aria-label=(name) {
                svg.graph viewBox={ "-20 -20 " (f(width)) " " (f(height)) } width=(f(width)) height=(f(height))
                    role="group" aria-label=(name) {
                    defs { @for kind in ["bad", "kept", "plain"] {
                        marker id={ "m" (self.number) (kind) } .{ "k-" (kind) } viewBox="0 0 8 8" refX="7" refY="4"
                            markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto" {
                            path d="M0 0L8 4L0 8z" {}
                        }
                    } }
                    @for (&edge, &pair) in drawn.iter().zip(&pairs).rev() { (self.arrow(edge, pair, &layout, &widths, listed)) }
                    @for (node, &class) in nodes.iter().enumerate() {
                        @if let Some((x, y)) = layout.centres[node] {
                            g.node .on[self.is_on_cycle(class)] .hub[hub == Some(node)] {
                                title { (plain(&self.graph.classes[class].name.text)) }
                                rect x=(f(x - widths[node] / 2.0)) y=(f(y - HEIGHT / 2.0)) width=(f(widths[node])) height=(f(HEIGHT)) rx="5" {}
                                text x=(f(x)) y=(f(y + 4.5)) { (labels[node]) }
                            }
                        }
                    }
                }
            }
            @if left > 0 {
                p.cut { (count(left as u64, "more order")) " not drawn: cycles come first, " code { "report --graph" } " has all" }
            }
        }
    }

    fn is_on_cycle(&self, class: usize) -> bool {
        let touches = |edge: &Dependency| edge.held == class || edge.acquired == class;
        self.graph.edges.iter().any(|edge| edge.cycle.is_some() && touches(edge))
    }

    fn arrow(
        &self,
        index: usize,
        (from, to): (usize, usize),
        layout: &Layout,
        widths: &[f64],
        listed: usize,
    ) -> Markup {
        let edge = &self.graph.edges[index];
        let (Some(a), Some(b)) = (layout.centres[from], layout.centres[to]) else {
            return html! {};
        };
        let path = match layout.is_below[to] && b.1 > a.1 {
            true => side_curve(a, (b.0 - widths[to] / 2.0, b.1)),
            false => curve(a, b, widths[from]),
        };
        let kind = look(edge);
        let marker = format!("url(#m{}{kind})", self.number);
        let names =
            [edge.held, edge.acquired].map(|class| plain(&self.graph.classes[class].name.text));
        html! {
            a.edge .{ "k-" (kind) } href=[self.target(index, listed)] {
                title { (names[0]) " -> " (names[1]) }
                path.hit d=(path) {}
                path.line d=(path) marker-end=(marker) {}
            }
        }
    }

    /// Where an edge leads: to the finding that it is part of, else to its stacks in the list.
    fn target(&self, index: usize, listed: usize) -> Option<String> {
        match self.finding(&self.graph.edges[index]) {
            Some(number) => Some(format!("#f{number}")),
            None => (index < listed).then(|| format!("#{}", self.id(index))),
        }
    }

    fn id(&self, index: usize) -> String {
        format!("e{}-{}", self.number, index + 1)
    }

    /// Number of the first finding that has this step.
    fn finding(&self, edge: &Dependency) -> Option<usize> {
        let [held, acquired] =
            [edge.held, edge.acquired].map(|class| &self.graph.classes[class].name);
        let has = |finding: &&Finding| {
            finding.steps.iter().any(|step| {
                let is = |lock: usize, name: &Name| {
                    finding
                        .locks
                        .get(lock)
                        .is_some_and(|lock| lock.class == *name || lock.name == *name)
                };
                is(step.lock, acquired)
                    && step.held.iter().any(|had| had.lock.is_some_and(|lock| is(lock, held)))
            })
        };
        self.context.findings.iter().position(has).map(|index| index + 1)
    }

    /// The list, and how many orders are in it.
    fn list(&self, limit: Limit) -> (Markup, usize) {
        let (rows, left) = limit.fill(self.graph.edges.iter().enumerate(), |(index, edge)| {
            let [held, acquired] =
                [edge.held, edge.acquired].map(|class| &self.graph.classes[class].name);
            html! {
                li.item id=(self.id(index)) tabindex="-1" {
                    (name_of(&held.text, held.is_symbol)) " then " (name_of(&acquired.text, acquired.is_symbol))
                    @if edge.cycle.is_some() { " " span.tag .{ "k-" (look(edge)) } { "cycle" } }
                    @if let Some(number) = self.finding(edge) { " " a href={ "#f" (number) } { "finding " (number) } }
                    details { summary { "stacks" }
                        p.did { "held, taken at" } (stack::list(self.context, &edge.held_at))
                        p.did { "then acquired at" } (stack::list(self.context, &edge.acquired_at))
                    }
                }
            }
        });
        let list = html! {
            details.list { summary { "All orders as a list (" (self.graph.edges.len()) ")" }
                ol { (rows) }
                (left_out(left, "order", "report --graph"))
            }
        };
        (list, self.graph.edges.len() - left)
    }
}

/// As the DOT language's: `bad` may deadlock, `kept` is kept from it.
fn look(edge: &Dependency) -> &'static str {
    match edge.cycle {
        None => "plain",
        Some(cycle) if cycle.grade.is_some_and(|grade| grade.is_counted_only()) => "kept",
        Some(_) => "bad",
    }
}

/// From the lower edge of one node to the upper one of another below; upwards, from side to side.
fn curve(a: (f64, f64), b: (f64, f64), width: f64) -> String {
    let half = HEIGHT / 2.0;
    if a == b {
        let x = a.0 + width / 2.0;
        return format!("M{} {}c30 -22 30 22 1 14", f(x), f(a.1 - 7.0));
    }
    if b.1 > a.1 {
        let (y1, y2) = (a.1 + half, b.1 - half - 1.0);
        let bend = ((y2 - y1) / 2.0).max(12.0);
        return format!(
            "M{} {}C{} {} {} {} {} {}",
            f(a.0),
            f(y1),
            f(a.0),
            f(y1 + bend),
            f(b.0),
            f(y2 - bend),
            f(b.0),
            f(y2)
        );
    }
    // An order against the layers: it leaves next to the arrow that comes the other way.
    let (x1, x2) = (a.0 + 16.0, b.0 + 16.0);
    let (y1, y2) = (a.1 - half, b.1 + half + 1.0);
    let bend = ((y1 - y2) / 2.0).max(12.0);
    format!(
        "M{} {}C{} {} {} {} {} {}",
        f(x1),
        f(y1),
        f(x1 + 12.0),
        f(y1 - bend),
        f(x2 + 12.0),
        f(y2 + bend),
        f(x2),
        f(y2)
    )
}

/// From the lower edge of a node to the left end of another, which others stand above.
fn side_curve(a: (f64, f64), end: (f64, f64)) -> String {
    let (x, y) = (end.0 - 1.0, a.1 + HEIGHT / 2.0);
    let bend = ((end.1 - y) / 2.0).max(12.0);
    format!(
        "M{} {}C{} {} {} {} {} {}",
        f(a.0),
        f(y),
        f(a.0),
        f(y + bend),
        f(x - 34.0),
        f(end.1),
        f(x),
        f(end.1)
    )
}

/// A name of so many letters at the most.
fn label(name: &Name, most: usize) -> String {
    let name = shorten(&plain(&name.text));
    // If a lock is described by where it was made, the place says most.
    let name = match name.split_once(" at ") {
        Some((_, place)) => place.split(" (").next().unwrap_or(place).to_owned(),
        None => name,
    };
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name;
    }
    let head: String = letters[..most / 2 - 1].iter().collect();
    let tail: String = letters[letters.len() - (most / 2 - 2)..].iter().collect();
    format!("{head}...{tail}")
}

/// A coordinate: a tenth of a pixel is enough.
fn f(value: f64) -> String {
    format!("{:.1}", value).trim_end_matches(".0").to_owned()
}
