//! The chains of lock classes, as /proc/lockdep_chains has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lockwright_ledger::rows::{Node, Usage};

use super::process::Process;
use crate::prose::words::{count, plain};
use lockwright_analysis::dependencies::IN;
use lockwright_analysis::model::LockRef;
use lockwright_analysis::model::class_chains::{ClassChain, class_chains};

/// All chains, each outermost first with the place of each acquisition in its first context, and how
/// many segments of threads took it. As in the kernel, a lock that is held alone is one.
pub fn render(processes: &[Process<'_>]) -> String {
    let mut out = String::new();
    for process in processes {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "all lock chains of {}:\n", plain(&process.title()));
        one(&mut out, process);
    }
    out
}

fn one(out: &mut String, process: &Process<'_>) {
    let model = &process.model;
    let usages = model.ledger.rows::<Usage>();
    let in_handler: BTreeMap<u32, u32> = usages
        .filter(|(_, row)| row.bits & IN != 0)
        .map(|(_, row)| (row.node, row.signal))
        .collect();
    for chain in class_chains(model) {
        let signals = chain.contexts.iter().filter_map(|id| in_handler.get(id));
        let signals: BTreeSet<String> = signals.map(u32::to_string).collect();
        let context = match chain.is_in_handler {
            _ if !signals.is_empty() => {
                let signals: Vec<String> = signals.into_iter().collect();
                format!("in handler of signal {}", signals.join(", "))
            }
            true => "in a signal's handler".into(),
            false => "in process".into(),
        };
        let _ = writeln!(out, "{context}{}", taken(process, &chain));
        let Some(&id) = chain.contexts.first() else { continue };
        let Some(node) = model.trie.node(id) else { continue };
        let mut path: Vec<Node> = model.trie.held(id).map(|(_, held)| *held).collect();
        path.reverse();
        path.push(*node);
        // What a handler interrupted is further out, and waits for no lock are no part.
        let locks: Vec<Node> = path.into_iter().filter(|held| held.class != 0).collect();
        for lock in &locks[locks.len().saturating_sub(chain.depth as usize)..] {
            let name = model.name(LockRef { class: lock.class, inst: lock.inst, row: lock.lock });
            let addr = model.address(lock.lock, lock.inst);
            let addr = addr.map_or(String::from("[any]"), |addr| format!("[{addr:#x}]"));
            let place = model.short_place(lock.stack);
            let place = place.map_or_else(String::new, |place| format!(" at {}", plain(&place)));
            let _ = writeln!(out, "{addr} {}{place}", plain(&name.text));
        }
        let _ = writeln!(out);
    }
}

/// Who took it: segments of threads are recorded of locks within others only.
fn taken(process: &Process<'_>, chain: &ClassChain) -> String {
    let trie = &process.model.trie;
    let segments: u64 = chain
        .contexts
        .iter()
        .map(|&id| {
            let folded = trie.node(id).map_or(0, |node| node.folded);
            trie.segments(id).len() as u64 + u64::from(folded)
        })
        .sum();
    let mut text = String::new();
    if chain.depth > 1 {
        text += &format!(", segments: {segments}");
    }
    if chain.contexts.len() > 1 {
        text += &format!(", {}", count(chain.contexts.len() as u64, "context"));
    }
    text
}
