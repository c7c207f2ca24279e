//! Monitors: which candidates ([`lock_kind::MONITOR`]) are locks, and which of their acquisitions can block. Contexts are made as
//! if the others had never been taken.
//!
//! Threads used a candidate as a lock, but an event or a turn that is passed on may look the same for a while. So there has to be
//! proof of a flag: the code that takes the mutex waits for one and sets it; or it is a function of a library that is known; or a
//! thread has waited, and a thread has taken it twice in a row, which no turn that others pass on lets it.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Node, lock_kind, mode, monitor};

use super::Symbolise;
use super::hand_overs::take_out;
use crate::finding::Frame;

/// Functions that take a monitor and wait for it.
const KNOWN: &[&str] = &["boost::timed_mutex::lock", "boost::recursive_timed_mutex::lock"];

/// Frames among which such a function is: what it calls itself is inlined or not.
const MOST_FRAMES: usize = 6;

/// Leaves out of the contexts what is no monitor, and has acquisitions that cannot block count as tries. The classes of those
/// left out.
pub(super) fn decide(ledger: &Ledger, symbols: &dyn Symbolise, nodes: &mut [Node]) -> HashSet<u32> {
    let classes: HashMap<u32, Class> =
        ledger.rows::<Class>().filter(|(_, row)| row.kind == lock_kind::MONITOR).collect();
    if classes.is_empty() {
        return HashSet::new();
    }
    let waiting = Waiting::new(symbols, nodes);
    let mut proofs: HashMap<u32, bool> = HashMap::new();
    let mut blocks = |node: &Node| {
        let by_code =
            || has_known(&symbols.stack(node.stack)) || symbols.waits_for_flag(node.stack);
        *proofs.entry(node.stack).or_insert_with(by_code)
    };
    let mut accepted = HashSet::new();
    let mut waited = HashSet::new();
    for (&id, row) in &classes {
        const SEEN: u32 = monitor::WAITED | monitor::RETAKEN;
        let is_used_otherwise = row.handed_over != 0 || row.seats & monitor::RELEASED == 0;
        if is_used_otherwise || waiting.only_for_a_time(row.parent) {
            continue;
        }
        if row.seats & SEEN == SEEN {
            waited.insert(id);
        }
        let is_proven = nodes.iter().any(|node| node.class == id && blocks(node));
        if is_proven || waited.contains(&id) {
            accepted.insert(id);
        }
    }
    for node in nodes.iter_mut().filter(|node| accepted.contains(&node.class)) {
        let has_waited = waited.contains(&node.class)
            && waiting.waits(symbols, classes[&node.class].parent, node.stack);
        if !has_waited && !blocks(node) {
            node.mode |= mode::TRY;
        }
    }
    let none = classes.into_keys().filter(|class| !accepted.contains(class)).collect();
    take_out(nodes, |node| HashSet::contains(&none, &node.class));
    none
}

fn has_known(stack: &[Frame]) -> bool {
    let names = stack.iter().take(MOST_FRAMES).filter_map(|frame| frame.function.as_deref());
    names.map(|name| name.split('(').next().unwrap_or(name)).any(|name| KNOWN.contains(&name))
}

/// Waits on condition variables, by the class of the mutex.
struct Waiting {
    /// Functions that wait without a time limit.
    functions: HashSet<(u32, Code)>,
    /// Classes with waits of each kind: without a time limit, and with one.
    classes: [HashSet<u32>; 2],
}

/// Module and first address of a function.
type Code = (Option<String>, u64);

impl Waiting {
    fn new(symbols: &dyn Symbolise, nodes: &[Node]) -> Self {
        let mut this = Self { functions: HashSet::new(), classes: Default::default() };
        let is_wait =
            |node: &&Node| node.state != 0 && node.class == 0 && node.mode & mode::COND_WAIT != 0;
        for wait in nodes.iter().filter(is_wait) {
            let Some(mutex) = nodes.get(wait.parent as usize) else { continue };
            let is_timed = wait.mode & mode::TIMED != 0;
            this.classes[usize::from(is_timed)].insert(mutex.class);
            if !is_timed && let Some(code) = code(symbols, mutex.stack) {
                this.functions.insert((mutex.class, code));
            }
        }
        this
    }

    /// Whether threads have waited with mutexes of the class, and each might have given up.
    fn only_for_a_time(&self, mutexes: u32) -> bool {
        let [untimed, timed] = self.classes.each_ref().map(|all| all.contains(&mutexes));
        timed && !untimed
    }

    /// Whether the function that a stack leads to waits without a time limit.
    fn waits(&self, symbols: &dyn Symbolise, mutexes: u32, stack: u32) -> bool {
        code(symbols, stack).is_some_and(|code| self.functions.contains(&(mutexes, code)))
    }
}

fn code(symbols: &dyn Symbolise, stack: u32) -> Option<Code> {
    let frames = symbols.stack(stack);
    let frame = frames.iter().find(|frame| !frame.inlined)?;
    Some((frame.module.clone(), frame.offset.wrapping_sub(frame.function_offset?)))
}
