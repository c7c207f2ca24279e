//! Classes and dependencies as a graph in the DOT language, with the cycles of findings in it.
//!
//! | an edge is | if |
//! |---|---|
//! | red and bold | a cycle through it was found that is `possible` or worse |
//! | orange and dashed | all cycles found through it are kept from deadlock: `guarded`, `ordered`, `single-thread` |
//! | red | it lies on a cycle, of which shorter ones say all there is |
//! | dotted, being red | only a signal's handler may make it so |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::process::Process;
use crate::prose::words::plain;
use lockwright_analysis::lockdep::{CyclicPair, cyclic_pairs};

/// One digraph, with a cluster for each process if there are several.
pub fn render(processes: &[Process<'_>]) -> String {
    let mut out = String::from("digraph lockdep {\n    node [shape=box];\n");
    for (index, process) in processes.iter().enumerate() {
        let several = processes.len() > 1;
        if several {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "    subgraph cluster_{index} {{");
            let _ = writeln!(out, "    label={};", quoted(&process.title()));
        }
        one(&mut out, index, process);
        if several {
            out.push_str("    }\n");
        }
    }
    out.push_str("}\n");
    out
}

fn one(out: &mut String, index: usize, process: &Process<'_>) {
    let Process { model, dependencies, .. } = process;
    // The reduced dependencies lead everywhere, but a cycle's own edges are to be seen.
    let mut edges: BTreeMap<(u32, u32), String> = BTreeMap::new();
    edges.extend(dependencies.pairs().map(|pair| (pair, String::new())));
    edges.extend(cyclic_pairs(model).into_iter().map(|(pair, known)| (pair, look(known))));
    let nodes: BTreeSet<u32> = edges.keys().flat_map(|&(from, to)| [from, to]).collect();
    for class in nodes {
        let name = quoted(&model.classes.group(class).name);
        let _ = writeln!(out, "    c{index}_{class} [label={name}];");
    }
    for ((from, to), style) in edges {
        let _ = writeln!(out, "    c{index}_{from} -> c{index}_{to}{style};");
    }
}

/// How an edge on a cycle looks.
fn look(CyclicPair { is_recorded, grade }: CyclicPair) -> String {
    let (colour, style) = match (grade, is_recorded) {
        (Some(grade), _) if grade.is_counted_only() => ("orange", "dashed"),
        (Some(_), true) => ("red", "bold"),
        (Some(_), false) => ("red", "bold,dotted"),
        (None, true) => ("red", "solid"),
        (None, false) => ("red", "dotted"),
    };
    let tooltip = grade.map_or("on a cycle", lockwright_analysis::finding::Grade::name);
    format!(" [color={colour}, style={}, tooltip={}]", quoted(style), quoted(tooltip))
}

/// A string of the language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_stay_within_their_quotes() {
        assert_eq!(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c d\"");
    }
}
