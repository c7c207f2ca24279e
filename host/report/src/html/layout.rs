//! Where the nodes of a graph go: in layers, from what is taken first to what is taken last.
//!
//! The layout itself is rust-sugiyama's. Its cost grows fast with the graph, so callers keep to
//! [`MOST_NODES`] and [`MOST_EDGES`].

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
/// Width of a page: parts that no edge joins stand side by side up to there, then below each other.
const PAGE: f64 = 1100.0;

/// Centres of nodes, and the size of the whole.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// By node; `None` for nodes without edges.
    pub centres: Vec<Option<(f64, f64)>>,
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
    let mut layout = Layout { centres: vec![None; widths.len()], size: (0.0, 0.0) };
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
        let part: Vec<(usize, (f64, f64))> =
            part.into_iter().map(|(place, at)| (vertices[place].0 as usize, at)).collect();
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
