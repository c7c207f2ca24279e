//! The writer between two readers. Readers of a lock that prefers writers wait for each other only
//! while a writer waits: so their cycle needs one more thread, which writes this very lock, may be
//! there at the same time, and holds nothing that keeps it away.

use std::collections::HashMap;

use lockwright_ledger::rows::{Class, Node, excludes, mode};

use crate::model::{Model, is_read};
use crate::view::occurrence::{Acquisition, Context};

/// Writers kept of one lock. Beyond that, whether there is a better one is not known.
const MOST_WRITERS: usize = 256;

/// A recorded write.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// Who, when and where.
    pub acquisition: Acquisition,
    /// It waits for good, and it is this lock for certain and not just one of its class.
    pub is_sure: bool,
}

/// Everybody who waited to write a lock.
pub struct Writers {
    by_inst: HashMap<u32, Vec<Writer>>,
    by_class: HashMap<u32, Vec<Writer>>,
}

impl Writers {
    /// Those of one process.
    pub fn new(model: &Model<'_>) -> Self {
        let mut this = Self { by_inst: HashMap::new(), by_class: HashMap::new() };
        for id in 1..model.trie.len() {
            let Some(node) = model.trie.node(id).filter(|node| waits_to_write(model, node)) else {
                continue;
            };
            // What is taken with nothing held is only known by its class.
            let known = node.inst != 0
                || model.ledger.get::<Class>(node.class).is_some_and(|class| class.locks == 1);
            let list = match node.inst {
                0 => this.by_class.entry(node.class).or_default(),
                inst => this.by_inst.entry(inst).or_default(),
            };
            for &segment in model.trie.segments(id) {
                let Some(thread) = model.order.thread(segment) else { continue };
                if list.len() == MOST_WRITERS {
                    break;
                }
                let context = Context { acquired: id, held: node.parent };
                let is_sure = known && node.mode & mode::TIMED == 0;
                list.push(Writer {
                    acquisition: Acquisition { context, segment, thread },
                    is_sure,
                });
            }
        }
        this
    }

    /// Writers of a lock, those first that are sure.
    pub fn of(&self, lock: &Node) -> impl Iterator<Item = &Writer> {
        let (inst, class) = (lock.inst, lock.class);
        let all = move || {
            let exactly = self.by_inst.get(&inst);
            exactly.into_iter().chain(self.by_class.get(&class)).flatten()
        };
        let sure = all().filter(|writer| writer.is_sure);
        sure.chain(all().filter(|writer| !writer.is_sure))
    }
}

fn waits_to_write(model: &Model<'_>, node: &Node) -> bool {
    model.classes.has_readers(node.class) && !is_read(node.mode) && node.mode & mode::TRY == 0
}

/// The readers of a cycle that only a writer makes wait: nodes of their acquisitions.
pub fn readers(model: &Model<'_>, acquisitions: &[Acquisition]) -> Vec<(usize, Node)> {
    let node = |id| model.trie.node(id).copied().unwrap_or_default();
    (0..acquisitions.len())
        .filter_map(|i| {
            let read = node(acquisitions[i].context.acquired);
            let held = node(acquisitions[(i + 1) % acquisitions.len()].context.held);
            // A class does not say which lock it would be.
            let same = read.inst != 0 && read.inst == held.inst;
            (same && !excludes(read.mode, held.mode)).then_some((i, read))
        })
        .collect()
}
