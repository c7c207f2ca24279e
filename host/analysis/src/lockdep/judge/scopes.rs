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
//!
//! The call does not wait for destructors of the threads' own variables, in which locks may be taken after it. Nothing is concluded of
//! an acquisition in one.
//!
//! A thread that the same creator creates later, outside that call, comes after the scoped one: a thread of the next call, for
//! example. Two calls are known to be two if their stacks differ where they are called, and neither is within another. Each turn
//! of a loop has the same stack, so nothing is concluded of two turns.

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

/// The C library's functions that call destructors. In Rust's names it says so.
const AT_END: [&str; 2] = ["__call_tls_dtors", "__nptl_deallocate_tsd"];

/// Creators looked up, from a thread to the one that created its creator, and so on.
const MOST_CREATORS: usize = 64;

/// A thread's creation.
#[derive(Clone, Copy)]
struct Creation {
    creator: u32,
    stack: u32,
    /// The creator's last before it.
    segment: u32,
}

/// A caller in a stack: its function, file, line and column, and its place in the module's code.
type Caller<'f> = (Option<&'f str>, Option<&'f str>, Option<u32>, Option<u32>, Option<u64>);

/// The scoped threads of a process.
pub struct Scopes {
    /// Creations of scoped threads, by thread.
    creations: HashMap<u32, Creation>,
    /// Creations of all other threads, if there are scoped ones.
    others: HashMap<u32, Creation>,
    /// By context: the segment that its stack is of.
    recorded: HashMap<u32, u32>,
    /// By the stack of a creation and that of an acquisition: whether the latter is outside.
    outside: RefCell<HashMap<(u32, u32), bool>>,
    /// By the stacks of two creations: whether the second is outside the call that the first is in.
    other_calls: RefCell<HashMap<(u32, u32), bool>>,
}

impl Scopes {
    /// Those of the process.
    pub fn new(model: &Model<'_>) -> Self {
        let mut scoped: HashMap<u32, bool> = HashMap::new();
        let (mut creations, mut others) = (HashMap::new(), HashMap::new());
        for (id, row) in model.ledger.rows::<Thread>().filter(|(_, row)| row.create_stack != 0) {
            let stack = row.create_stack;
            let is_scoped = scoped.entry(stack).or_insert_with(|| is_in_scope(model, stack));
            if let Some(creator) = model.order.thread(row.parent_segment) {
                let of_its_kind = if *is_scoped { &mut creations } else { &mut others };
                of_its_kind.insert(id, Creation { creator, stack, segment: row.parent_segment });
            }
        }
        let mut recorded = HashMap::new();
        if !creations.is_empty() {
            // Rows are in the order of time, and the first of a context stay.
            for (_, row) in model.ledger.rows::<Evidence>() {
                recorded.entry(row.node).or_insert(row.segment);
            }
        }
        Self {
            creations,
            others,
            recorded,
            outside: RefCell::default(),
            other_calls: RefCell::default(),
        }
    }

    /// Whether one of the two is outside the call within which the other's thread lives, or its thread is created later.
    pub fn keep_apart(&self, model: &Model<'_>, a: &Acquisition, b: &Acquisition) -> bool {
        !self.creations.is_empty()
            && (self.is_outside(model, a, b)
                || self.is_outside(model, b, a)
                || self.is_over(model, a, b.thread)
                || self.is_over(model, b, a.thread))
    }

    /// The scoped thread of `first` has done that before the thread `second`, or one that this descends from, is created.
    pub fn is_over(&self, model: &Model<'_>, first: &Acquisition, second: u32) -> bool {
        let Some(first) = self.outermost(first.thread).filter(|_| !is_at_end(model, first)) else {
            return false;
        };
        let mut thread = second;
        for _ in 0..MOST_CREATORS {
            let creation = self.creations.get(&thread).or_else(|| self.others.get(&thread));
            let Some(second) = creation else { return false };
            if second.creator == first.creator {
                return first.segment < second.segment
                    && self.is_other_call(model, first.stack, second.stack);
            }
            thread = second.creator;
        }
        false
    }

    /// The creation of `thread`, or of the thread in whose scope it was created, and so on, by one that is not scoped.
    fn outermost(&self, thread: u32) -> Option<Creation> {
        let mut creation = *self.creations.get(&thread)?;
        for _ in 0..MOST_CREATORS {
            match self.creations.get(&creation.creator) {
                Some(&outer) => creation = outer,
                None => return Some(creation),
            }
        }
        None
    }

    /// The second creation is outside the call that the first is in.
    fn is_other_call(&self, model: &Model<'_>, first: u32, second: u32) -> bool {
        let known = self.other_calls.borrow().get(&(first, second)).copied();
        known.unwrap_or_else(|| {
            let (a, b) = (model.symbols.stack(first), model.symbols.stack(second));
            let is_it = have_one_end(&a, &b)
                && (!has_scope(&b)
                    || matches!((callers(&a), callers(&b)), (Some(a), Some(b)) if a != b));
            self.other_calls.borrow_mut().insert((first, second), is_it);
            is_it
        })
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

    /// `acquisition` is outside the call that the thread of `scoped`, or a thread in whose scope that was created, was created in.
    pub fn is_outside(
        &self,
        model: &Model<'_>,
        acquisition: &Acquisition,
        scoped: &Acquisition,
    ) -> bool {
        let mut thread = scoped.thread;
        // In this order: names cost more, and most programs have no scoped threads.
        if !self.creations.contains_key(&thread) || is_at_end(model, scoped) {
            return false;
        }
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

/// It is in a destructor of a variable that its thread has for itself.
fn is_at_end(model: &Model<'_>, acquisition: &Acquisition) -> bool {
    let is_destructor = |name: &str| {
        let of_rust = name.contains("thread_local") || name.contains("thread::local");
        of_rust && name.contains("destr") || AT_END.contains(&name)
    };
    let node = model.trie.node(acquisition.context.acquired);
    let frames = model.symbols.stack(node.map_or(0, |node| node.stack));
    frames.iter().any(|frame| frame.function.as_deref().is_some_and(is_destructor))
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

/// Where the only call in a stack was made: its callers, from the innermost.
fn callers(frames: &[Frame]) -> Option<Vec<Caller<'_>>> {
    // Its closures are called within it.
    let is_call = |frame: &&Frame| {
        is_scope(frame) && !frame.function.as_ref().is_some_and(|name| name.ends_with('}'))
    };
    let call = frames.iter().position(|frame| is_call(&frame))?;
    if frames[call + 1..].iter().any(is_scope) {
        return None;
    }
    // Within the function that it is inlined in, the address is the creation's: which call it is, the line says.
    let mut is_inlined = frames[call].inlined;
    let mut callers = Vec::new();
    for frame in &frames[call + 1..] {
        let offset = if is_inlined { None } else { Some(frame.offset) };
        is_inlined &= frame.inlined;
        let (function, file) = (frame.function.as_deref(), frame.file.as_deref());
        callers.push((function, file, frame.line, frame.column, offset));
    }
    Some(callers)
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
