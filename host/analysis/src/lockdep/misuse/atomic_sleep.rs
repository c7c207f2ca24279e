//! Sleeping locks that are acquired inside spinning ones, where the program has declared neither:
//! the part of the kernel's CONFIG_DEBUG_ATOMIC_SLEEP that the recorded contexts show. Where the
//! program declared how its locks wait, the engine finds it (`finding_kind::WAIT_CONTEXT`).

use lockwright_ledger::rows::{Class, Node, mode, wait_type};

use crate::finding::misuse::SleepWithSpinlockHeld;
use crate::finding::{Details, Finding, Grade, Kind};
use crate::model::Model;
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::{ProcessView, reference};

/// Those of one process.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let model = view.model;
    let classes = Waits::of(model);
    if !classes.any_spins {
        return Vec::new();
    }
    let sleeping = model.trie.contexts().filter(|(_, node)| {
        // What is taken again after a wait is part of the wait, which is a call that sleeps.
        node.mode & mode::COND_REACQUIRE == 0 && classes.by_default(node) == wait_type::SLEEP
    });
    let inside = sleeping.filter_map(|(id, _)| {
        let spins = |&(_, held): &(u32, &Node)| classes.by_default(held) == wait_type::SPIN;
        // The outermost of them: the others come and go inside it.
        let (held, _) = model.trie.held(id).filter(spins).last()?;
        Some(Context { acquired: id, held })
    });
    inside.map(|context| candidate(view, context)).collect()
}

/// What the locks of each class do while they are waited for.
struct Waits {
    by_class: Vec<u32>,
    any_spins: bool,
}

impl Waits {
    fn of(model: &Model<'_>) -> Self {
        let mut by_class = Vec::new();
        for (id, class) in model.ledger.rows::<Class>() {
            by_class.resize(id as usize, wait_type::UNKNOWN);
            by_class.push(if class.wait_type == wait_type::UNKNOWN { class.waits() } else { 0 });
        }
        let any_spins = by_class.contains(&wait_type::SPIN);
        Self { by_class, any_spins }
    }

    /// [`wait_type::UNKNOWN`] of those that the program itself has said it of.
    fn by_default(&self, node: &Node) -> u32 {
        self.by_class.get(node.class as usize).copied().unwrap_or(wait_type::UNKNOWN)
    }
}

fn candidate(view: &ProcessView<'_, '_>, context: Context) -> Candidate {
    let model = view.model;
    let node = |id| model.trie.node(id).copied().unwrap_or_default();
    let refs = [context.acquired, context.held].map(|id| reference(&node(id)));
    let involved = view.involved(Level::Instance, refs.to_vec());
    let segment = model.trie.segments(context.acquired).first().copied().unwrap_or(0);
    let thread = model.order.thread(segment).unwrap_or(0);
    let acquisition = Acquisition { context, segment, thread };
    let finding = Finding {
        kind: Kind::SleepWithSpinlockHeld,
        grade: Grade::Possible,
        details: Details::Misuse(SleepWithSpinlockHeld::ForLock.into()),
        steps: vec![view.step(&involved, &acquisition, 0)],
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
        locks: involved.infos,
    };
    // No instances and no classes: it says nothing of orders, so it stands for no cycle.
    let key = format!("atomic sleep\n{}", view.signature(context));
    Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
}
