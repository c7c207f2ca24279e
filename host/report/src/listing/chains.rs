//! The chains of locks held at once, as /proc/lockdep_chains has them.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockwright_ledger::rows::{Node, Usage, node_flag};

use super::process::Process;
use crate::prose::words::plain;
use lockwright_analysis::dependencies::IN;
use lockwright_analysis::model::LockRef;

/// All chains of two locks and more, each outermost first with the place of each acquisition, and
/// how many segments of threads took it.
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
    for (id, node) in model.trie.contexts() {
        let context = match in_handler.get(&id) {
            Some(signal) => format!("in handler of signal {signal}"),
            None if node.flags & node_flag::IN_HANDLER != 0 => "in a signal's handler".into(),
            None => "in process".into(),
        };
        let times = model.trie.segments(id).len() as u64 + u64::from(node.folded);
        let _ = writeln!(out, "{context}, segments: {times}");
        let mut path: Vec<Node> = model.trie.held(id).map(|(_, held)| *held).collect();
        path.reverse();
        path.push(*node);
        for lock in path {
            let name = model.name(LockRef { class: lock.class, inst: lock.inst, row: lock.lock });
            let addr = model.address(lock.lock, lock.inst);
            let addr = addr.map_or(String::from("[any]"), |addr| format!("[{addr:#x}]"));
            let place = model.short_place(lock.stack).unwrap_or_default();
            let _ = writeln!(out, "{addr} {} at {}", plain(&name.text), plain(&place));
        }
        let _ = writeln!(out);
    }
}
