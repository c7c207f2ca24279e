//! Rust's scoped threads. A call of `std::thread::scope` returns when all threads that were spawned in it have ended, and waits for
//! them by an atomic counter that nothing records. So such a thread lives only while its creator is in that call:
//!
//! ```text
//! main: scope { spawn T ... } L(A) L(B)      main's step is outside: T has ended, or does not exist yet
//! T:            L(B) L(A)
//! ```
//!
//! Whether the creator is in the call is what its stack says. The function is generic, so in optimised programs it is inlined, and
//! only debug information shows it. Where the stack of the creation does not have its name, nothing is concluded.

use std::cell::RefCell;
use std::collections::HashMap;

use lockwright_ledger::rows::Thread;

use crate::finding::Frame;
use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// The function that waits for the threads.
const SCOPE: &str = "std::thread::scoped::scope";

/// Creators looked up, from a thread to the one that created its creator, and so on.
const MOST_CREATORS: usize = 64;

/// A scoped thread's creation.
#[derive(Clone, Copy)]
struct Creation {
    creator: u32,
    stack: u32,
}

/// The scoped threads of a process.
pub struct Scopes {
    /// By thread.
    creations: HashMap<u32, Creation>,
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
                creations.insert(id, Creation { creator, stack });
            }
        }
        Self { creations, outside: RefCell::default() }
    }

    /// Whether one of the two is outside the call within which the other's thread lives.
    pub fn keep_apart(&self, model: &Model<'_>, a: &Acquisition, b: &Acquisition) -> bool {
        !self.creations.is_empty()
            && (self.is_outside(model, a, b.thread) || self.is_outside(model, b, a.thread))
    }

    /// `acquisition` is outside the call that `thread`, or a thread in whose scope that was created, was created in.
    pub fn is_outside(&self, model: &Model<'_>, acquisition: &Acquisition, thread: u32) -> bool {
        let mut thread = thread;
        for _ in 0..MOST_CREATORS {
            let Some(&Creation { creator, stack }) = self.creations.get(&thread) else {
                return false;
            };
            if creator == acquisition.thread {
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
    has_scope(&model.symbols.stack(stack))
}

fn has_scope(frames: &[Frame]) -> bool {
    frames.iter().filter_map(|frame| frame.function.as_deref()).any(|name| {
        // With or without the types that it is made for.
        name.strip_prefix(SCOPE).is_some_and(|rest| rest.is_empty() || rest.starts_with(['<', ':']))
    })
}

/// Both reach the function in which their thread begins: none is cut off before the call could be seen.
fn have_one_end(a: &[Frame], b: &[Frame]) -> bool {
    let end = |frames: &[Frame]| {
        frames.last().map(|frame| (frame.module.clone(), frame.function.clone()))
    };
    end(a).is_some() && end(a) == end(b)
}
