//! Rust's scoped threads. A call of `std::thread::scope` returns when all threads that were spawned in it have ended, and waits for
//! them by an atomic counter that nothing records. So such a thread lives only while its creator is in that call:
//!
//! ```text
//! main: scope { spawn T ... } L(A) L(B)      main's step is outside: T has ended, or does not exist yet
//! T:            L(B) L(A)
//! ```
//!
//! Whether the creator is in the call is what its stack says. The function is generic, so in optimised programs it is inlined, and
//! only debug information shows it. Where the stack of the creation does not have its name, nothing is concluded. Nor is it:
//!
//! - of a thread that was created in the call, but not as one of the scope: by `std::thread::spawn`, or by a library;
//! - of a creator that is scoped itself: what it creates in a scope of its own may be a thread of one around it;
//! - of a context whose stack is from another thread, or from before the creation. A context has the stack of its first
//!   acquisition, and later ones may come from within the scope.

use std::cell::RefCell;
use std::collections::HashMap;

use lockwright_ledger::rows::{Evidence, Thread};

use crate::finding::Frame;
use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// The function that waits for the threads.
const SCOPE: &str = "std::thread::scoped::scope";
/// The functions that create them. The first calls the second.
const SPAWN: [&str; 2] = ["std::thread::scoped::Scope", "spawn_scoped"];

/// Creators looked up, from a thread to the one that created its creator, and so on.
const MOST_CREATORS: usize = 64;

/// A scoped thread's creation.
#[derive(Clone, Copy)]
struct Creation {
    creator: u32,
    stack: u32,
    /// The creator's last before it.
    segment: u32,
}

/// The scoped threads of a process.
pub struct Scopes {
    /// By thread.
    creations: HashMap<u32, Creation>,
    /// By context: the segment that its stack is of.
    recorded: HashMap<u32, u32>,
    /// By the stack of a creation and that of an acquisition: whether the latter is outside.
    outside: RefCell<HashMap<(u32, u32), bool>>,
}

impl Scopes {
    /// Those of the process.
    pub fn new(model: &Model<'_>) -> Self {
        let mut scoped: HashMap<u32, bool> = HashMap::new();
        let mut creations = HashMap::new();
        for (id, row) in model.ledger.rows::<Thread>().filter(|(_, row)| row.create_stack != 0) {
            let stack = row.create_stack;
            let is_scoped = scoped.entry(stack).or_insert_with(|| is_in_scope(model, stack));
            if let Some(creator) = model.order.thread(row.parent_segment).filter(|_| *is_scoped) {
                creations.insert(id, Creation { creator, stack, segment: row.parent_segment });
            }
        }
        let mut recorded = HashMap::new();
        if !creations.is_empty() {
            // Rows are in the order of time, and the first of a context stay.
            for (_, row) in model.ledger.rows::<Evidence>() {
                recorded.entry(row.node).or_insert(row.segment);
            }
        }
        Self { creations, recorded, outside: RefCell::default() }
    }

    /// Whether one of the two is outside the call within which the other's thread lives.
    pub fn keep_apart(&self, model: &Model<'_>, a: &Acquisition, b: &Acquisition) -> bool {
        !self.creations.is_empty()
            && (self.is_outside(model, a, b.thread) || self.is_outside(model, b, a.thread))
    }

    /// The stack of `acquisition` is that of its thread, and says where it was after `creation`. What comes before that is ordered by
    /// the creation itself.
    fn has_own_stack(
        &self,
        model: &Model<'_>,
        acquisition: &Acquisition,
        creation: &Creation,
    ) -> bool {
        let recorded = self.recorded.get(&acquisition.context.acquired);
        recorded.filter(|&&segment| segment != 0).is_some_and(|&segment| {
            segment == acquisition.segment
                || segment > creation.segment
                    && model.order.thread(segment) == Some(acquisition.thread)
        })
    }

    /// `acquisition` is outside the call that `thread`, or a thread in whose scope that was created, was created in.
    pub fn is_outside(&self, model: &Model<'_>, acquisition: &Acquisition, thread: u32) -> bool {
        let mut thread = thread;
        for _ in 0..MOST_CREATORS {
            let Some(&creation) = self.creations.get(&thread) else {
                return false;
            };
            let Creation { creator, stack, .. } = creation;
            if creator == acquisition.thread {
                if self.creations.contains_key(&creator)
                    || !self.has_own_stack(model, acquisition, &creation)
                {
                    return false;
                }
                let node = model.trie.node(acquisition.context.acquired);
                let taken = node.map_or(0, |node| node.stack);
                let known = self.outside.borrow().get(&(stack, taken)).copied();
                return known.unwrap_or_else(|| {
                    let (creation, taken_at) =
                        (model.symbols.stack(stack), model.symbols.stack(taken));
                    let is_it = !has_scope(&taken_at) && have_one_end(&creation, &taken_at);
                    self.outside.borrow_mut().insert((stack, taken), is_it);
                    is_it
                });
            }
            thread = creator;
        }
        false
    }
}

fn is_in_scope(model: &Model<'_>, stack: u32) -> bool {
    let frames = model.symbols.stack(stack);
    // The creation is below the call, and not of a thread that the scope does not know.
    let scope = frames.iter().position(is_scope);
    scope.is_some_and(|scope| frames[..scope].iter().any(is_spawn))
}

fn has_scope(frames: &[Frame]) -> bool {
    frames.iter().any(is_scope)
}

fn is_scope(frame: &Frame) -> bool {
    // With or without the types that it is made for.
    let rest = frame.function.as_deref().and_then(|name| name.strip_prefix(SCOPE));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['<', ':']))
}

fn is_spawn(frame: &Frame) -> bool {
    let [scope, spawn] = SPAWN;
    let is_it = |name: &str| {
        name.contains("std::thread")
            && (name.contains(spawn) || name.contains(scope) && name.contains("::spawn"))
    };
    frame.function.as_deref().is_some_and(is_it)
}

/// Both reach the function in which their thread begins: none is cut off before the call could be seen.
fn have_one_end(a: &[Frame], b: &[Frame]) -> bool {
    let end = |frames: &[Frame]| {
        frames.last().map(|frame| (frame.module.clone(), frame.function.clone()))
    };
    end(a).is_some() && end(a) == end(b)
}
