//! Where the nodes of a graph go: in layers, from what is taken first to what is taken last.
//!
//! The layout itself is rust-sugiyama's. Its cost grows fast with the graph, so callers keep to
//! [`MOST_NODES`] and [`MOST_EDGES`].

use std::collections::BTreeMap;

use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};
use rust_sugiyama::from_vertices_and_edges;

/// Nodes that are drawn.
pub const MOST_NODES: usize = 48;
/// Edges that are drawn.
pub const MOST_EDGES: usize = 96;

/// Height of a node.
pub const HEIGHT: f64 = 30.0;
/// Least space between two.
const SPACE: f64 = 36.0;
/// Least space between two rows of one layer.
const ROW_SPACE: f64 = 14.0;
/// Width of a page: parts that no edge joins stand side by side up to there, then below each other.
pub const PAGE: f64 = 1100.0;
/// The widest part: the page makes a drawing smaller by so much.
const WIDEST: f64 = PAGE / 0.75;

/// Centres of nodes, and the size of the whole.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// By node; `None` for nodes without edges.
    pub centres: Vec<Option<(f64, f64)>>,
    /// By node: it stands below another of its layer, so that arrows come to it from the left.
    pub is_below: Vec<bool>,
    /// Width and height.
    pub size: (f64, f64),
}

/// Lays out nodes of these widths.
pub fn layers(widths: &[f64], edges: &[(usize, usize)]) -> Layout {
    // An edge of a node to itself has no place in layers.
    let edges: Vec<(u32, u32)> = edges
        .iter()
        .filter(|(from, to)| from != to)
        .map(|&(from, to)| (from as u32, to as u32))
        .collect();
    let is_used = |node: u32| edges.iter().any(|&(from, to)| from == node || to == node);
    let vertices: Vec<(u32, (f64, f64))> = (0..)
        .zip(widths)
        .filter(|&(node, _)| is_used(node))
        .map(|(node, &width)| (node, (width, HEIGHT)))
        .collect();
    let nodes = widths.len();
    let mut layout =
        Layout { centres: vec![None; nodes], is_below: vec![false; nodes], size: (0.0, 0.0) };
    if vertices.is_empty() {
        return layout;
    }
    let config = Config {
        minimum_length: 1,
        vertex_spacing: SPACE,
        dummy_vertices: true,
        dummy_size: 1.0,
        // The fastest of those that were tried, and as good to look at for sparse graphs.
        ranking_type: RankingType::Down,
        // The other heuristic fails on some graphs.
        c_minimization: CrossingMinimization::Barycenter,
        transpose: false,
    };
    // The upper left corner of the next part, and how far down this row reaches.
    let (mut x0, mut y0, mut row) = (0.0, 0.0, 0.0_f64);
    for (part, _, _) in from_vertices_and_edges(&vertices, &edges, &config) {
        // The results are numbered by their place in `vertices`.
        let mut part: Vec<(usize, (f64, f64))> =
            part.into_iter().map(|(place, at)| (vertices[place].0 as usize, at)).collect();
        for node in wrap(&mut part, widths) {
            layout.is_below[node] = true;
        }
        let edge = |of: &dyn Fn(usize, (f64, f64)) -> f64, pick: fn(f64, f64) -> f64| {
            part.iter().map(|&(node, at)| of(node, at)).reduce(pick).unwrap_or(0.0)
        };
        let left = edge(&|node, (x, _)| x - widths[node] / 2.0, f64::min);
        let right = edge(&|node, (x, _)| x + widths[node] / 2.0, f64::max);
        let top = edge(&|_, (_, y)| y - HEIGHT / 2.0, f64::min);
        let bottom = edge(&|_, (_, y)| y + HEIGHT / 2.0, f64::max);
        if x0 > 0.0 && x0 + right - left > PAGE {
            (x0, y0, row) = (0.0, y0 + row + SPACE, 0.0);
        }
        for &(node, (x, y)) in &part {
            layout.centres[node] = Some((x0 + x - left, y0 + y - top));
        }
        x0 += right - left;
        row = row.max(bottom - top);
        layout.size = (layout.size.0.max(x0), y0 + row);
        x0 += SPACE;
    }
    layout
}

/// Where many locks are taken with one held, a layer is many pages wide. Then each layer has as many rows as it needs, one below the other,
/// and stands in the middle. The nodes that are not in the first row of their layer.
fn wrap(part: &mut [(usize, (f64, f64))], widths: &[f64]) -> Vec<usize> {
    let mut layers: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (index, &(_, (_, y))) in part.iter().enumerate() {
        layers.entry(y.round() as i64).or_default().push(index);
    }
    let x = |index: usize| part[index].1.0;
    layers.values_mut().for_each(|layer| layer.sort_by(|&a, &b| x(a).total_cmp(&x(b))));
    let width = |&index: &usize| widths[part[index].0];
    let right = part.iter().map(|&(node, (x, _))| x + widths[node] / 2.0).fold(f64::MIN, f64::max);
    let left = part.iter().map(|&(node, (x, _))| x - widths[node] / 2.0).fold(f64::MAX, f64::min);
    if right - left <= WIDEST {
        return Vec::new();
    }
    let mut placed = vec![(0.0, 0.0); part.len()];
    let mut below = Vec::new();
    let mut down = 0.0;
    for layer in layers.values() {
        // Columns of so many nodes each, from left to right, each as wide as its widest.
        let columns = |rows: usize| -> Vec<f64> {
            let widest = |column: &[usize]| column.iter().map(width).fold(0.0, f64::max);
            layer.chunks(rows).map(widest).collect()
        };
        let sum = |columns: &[f64]| columns.iter().map(|it| it + SPACE).sum::<f64>() - SPACE;
        let rows = (1..layer.len()).find(|&rows| sum(&columns(rows)) <= PAGE);
        let rows = rows.unwrap_or(layer.len());
        let columns = columns(rows);
        let mut left = (PAGE - sum(&columns)) / 2.0;
        for (column, wide) in layer.chunks(rows).zip(&columns) {
            for (row, &index) in column.iter().enumerate() {
                let y = part[index].1.1 + down + row as f64 * (HEIGHT + ROW_SPACE);
                // One below the other at their left ends, where arrows come to them.
                placed[index] = (left + widths[part[index].0] / 2.0, y);
                below.extend((row > 0).then_some(part[index].0));
            }
            left += wide + SPACE;
        }
        down += (rows - 1) as f64 * (HEIGHT + ROW_SPACE);
    }
    part.iter_mut().zip(placed).for_each(|((_, at), to)| *at = to);
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_drawn_below_those_that_lead_to_them() {
        let layout = layers(&[60.0, 60.0, 60.0], &[(0, 1), (1, 2), (0, 2), (2, 2)]);
        let y = |node: usize| layout.centres[node].unwrap().1;
        assert!(y(0) < y(1) && y(1) < y(2), "{layout:?}");
        assert!(layers(&[60.0], &[(0, 0)]).centres[0].is_none());
    }

    /// Nodes that stand on each other.
    fn overlaps(layout: &Layout, widths: &[f64]) -> usize {
        let places: Vec<_> =
            layout.centres.iter().zip(widths).filter_map(|(at, w)| Some(((*at)?, *w))).collect();
        let is_on = |&((ax, ay), aw): &((f64, f64), f64), &((bx, by), bw): &((f64, f64), f64)| {
            (ax - bx).abs() < (aw + bw) / 2.0 && (ay - by).abs() < HEIGHT
        };
        let pairs =
            places.iter().enumerate().flat_map(|(i, a)| places[..i].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| is_on(a, b)).count()
    }

    /// A lock with which many others are taken, as in redis: the drawing is as wide as a page.
    #[test]
    fn a_wide_layer_has_several_rows() {
        let widths: Vec<f64> = (0..45).map(|i| 100.0 + f64::from(i % 7) * 20.0).collect();
        let mut edges: Vec<(usize, usize)> = (1..40).map(|node| (0, node)).collect();
        edges.extend([(1, 40), (2, 41), (40, 42), (41, 43), (43, 44)]);
        let layout = layers(&widths, &edges);
        assert!(layout.size.0 <= PAGE, "{:?}", layout.size);
        assert_eq!(overlaps(&layout, &widths), 0);
        let y = |node: usize| layout.centres[node].unwrap().1;
        assert!((1..45).all(|node| y(0) < y(node)), "{layout:?}");
        let hub = layout.centres[0].unwrap().0;
        assert!((hub - layout.size.0 / 2.0).abs() < PAGE / 4.0, "in the middle: {hub}");
    }

    /// No graph that is small enough to be drawn may stop a report.
    #[test]
    fn any_graph_can_be_laid_out() {
        let mut seed = 88_172_645_463_325_252_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        for _ in 0..60 {
            let nodes = 1 + random(MOST_NODES);
            let widths: Vec<f64> = (0..nodes).map(|_| 40.0 + random(200) as f64).collect();
            let mut edges: Vec<(usize, usize)> =
                (0..random(MOST_EDGES)).map(|_| (random(nodes), random(nodes))).collect();
            edges.sort_unstable();
            edges.dedup();
            let layout = layers(&widths, &edges);
            assert!(layout.size.0 <= WIDEST + 1.0, "{:?}", layout.size);
            for (node, centre) in layout.centres.iter().enumerate() {
                let has_edge = edges.iter().any(|&(a, b)| a != b && (a == node || b == node));
                assert_eq!(centre.is_some(), has_edge);
                if let Some((x, y)) = centre {
                    assert!((0.0..=layout.size.0).contains(x) && (0.0..=layout.size.1).contains(y));
                }
            }
        }
    }
}
