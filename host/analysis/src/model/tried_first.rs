//! Trylocks that are but the first step of a lock that waits: contexts are made as if the caller had waited at once.
//!
//! What follows a try that fails is known by the code after the call ([`FailedTry`]), or because the caller is a function that
//! takes several locks together, as `std::lock` is: that waits for each of them in turn and tries the others. A thread in
//! such a call lets its other locks go before it waits. So it waits for each with what its caller holds alone.

use std::collections::HashMap;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Evidence, Node, lock_kind, mode};

use super::Symbolise;
use crate::finding::Frame;
use crate::symbolize::FailedTry;
use crate::symbolize::wrapper::takes_several;

/// The contexts that were added.
#[derive(Default)]
pub(super) struct TriedFirst {
    /// Node and segment, as in the ledger's evidence.
    pub evidence: Vec<(u32, u32)>,
}

/// Changes the modes of the contexts, and appends those of calls that take several locks.
pub(super) fn append(
    ledger: &Ledger,
    symbols: &dyn Symbolise,
    nodes: &mut Vec<Node>,
) -> TriedFirst {
    let mut added = TriedFirst::default();
    let mut known: HashMap<u32, FailedTry> = HashMap::new();
    // By the context of the try: that of the wait.
    let mut waits: HashMap<u32, u32> = HashMap::new();
    for id in 1..nodes.len() as u32 {
        let node = nodes[id as usize];
        // What is tried with nothing held makes no dependency.
        if node.state == 0 || node.class == 0 || node.parent == 0 || node.mode & mode::TRY == 0 {
            continue;
        }
        // Counts as tried wherever it is taken.
        let class = ledger.get::<Class>(node.class);
        if class.is_some_and(|class| class.kind == lock_kind::COUNTING) {
            continue;
        }
        let follows = *known.entry(node.stack).or_insert_with(|| {
            let frames = symbols.stack(node.stack);
            match frames.iter().any(takes_several) {
                true => FailedTry::BacksOff,
                false => symbols.failed_try(node.stack),
            }
        });
        let waited = node.mode & !mode::TRY;
        match follows {
            FailedTry::GivesUp => {}
            FailedTry::Waits => nodes[id as usize].mode = waited,
            FailedTry::WaitsForATime => nodes[id as usize].mode = waited | mode::TIMED,
            FailedTry::BacksOff => {
                let Some(parent) = outside(symbols, nodes, id) else { continue };
                waits.insert(id, nodes.len() as u32);
                nodes.push(Node { parent, mode: waited, folded: 0, ..node });
            }
        }
    }
    if !waits.is_empty() {
        let of_waits = |(_, Evidence { node, segment, .. })| Some((*waits.get(&node)?, segment));
        added.evidence = ledger.rows::<Evidence>().filter_map(of_waits).collect();
    }
    added
}

/// The innermost context on the path to `id` that is not of the same call; `None` if there is none.
fn outside(symbols: &dyn Symbolise, nodes: &[Node], id: u32) -> Option<u32> {
    let own = symbols.stack(nodes[id as usize].stack);
    let mut at = id;
    loop {
        let parent = nodes.get(at as usize)?.parent;
        // A sound ledger's parents have smaller ids; so this ends on any.
        if parent == 0 || parent >= at {
            return None;
        }
        let held = nodes.get(parent as usize).filter(|held| held.state != 0)?;
        if !is_same_call(&own, &symbols.stack(held.stack)) {
            return Some(parent);
        }
        at = parent;
    }
}

/// Whether two stacks lead to the same call: of a function that takes several locks, or else of the function that tries.
fn is_same_call(a: &[Frame], b: &[Frame]) -> bool {
    let call = |frames: &[Frame]| frames.iter().rposition(takes_several);
    match (call(a), call(b)) {
        (Some(a_call), Some(b_call)) => is_same_way(&a[a_call..], &b[b_call..]),
        (None, None) => is_same_way(a, b),
        _ => false,
    }
}

/// Whether two calls in one function have the same way there.
fn is_same_way(a: &[Frame], b: &[Frame]) -> bool {
    // What is inlined into one function has one return address, which differs for two calls in it.
    let code = |frames: &[Frame]| frames.iter().position(|frame| !frame.inlined);
    let (Some(a_code), Some(b_code)) = (code(a), code(b)) else { return false };
    let start = |frame: &Frame| Some(frame.offset.wrapping_sub(frame.function_offset?));
    let is_one = |a: &Frame, b: &Frame| (&a.module, start(a)) == (&b.module, start(b));
    let places = |frames: &[Frame]| -> Vec<(Option<String>, Option<u32>)> {
        frames.iter().skip(1).map(|frame| (frame.function.clone(), frame.line)).collect()
    };
    let way = |frames: &[Frame]| -> Vec<(Option<String>, u64)> {
        frames.iter().map(|frame| (frame.module.clone(), frame.offset)).collect()
    };
    let is_inlined = a_code > 0 || b_code > 0;
    is_one(&a[a_code], &b[b_code])
        && (!is_inlined || places(&a[..=a_code]) == places(&b[..=b_code]))
        && way(&a[a_code + 1..]) == way(&b[b_code + 1..])
}
