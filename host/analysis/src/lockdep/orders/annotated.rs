//! The effect of annotations on the verdict on recorded orders: nest locks, and parts of a cycle
//! that are no locks.

use lockwright_ledger::rows::{Node, lock_kind};

use crate::finding::Grade;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, declared};
use crate::model::{LockRef, Model};

/// Whether the lock of `node` may be taken inside another of its class, that of node `held`: the
/// program says so, and the lock that makes it safe was held outside.
pub fn may_nest(model: &Model<'_>, held: u32, node: &Node) -> bool {
    let nest = model.classes.nest_of(node.class);
    nest != 0 && model.trie.held(held).any(|(_, by)| model.classes.group_of(by.class) == nest)
}

/// What is no lock among the parts of a cycle, by place in it.
pub struct Contexts {
    parts: usize,
    resource: Option<usize>,
    completion: Option<usize>,
}

impl Contexts {
    /// Those of a cycle of `locks`.
    pub fn of(model: &Model<'_>, locks: &[LockRef]) -> Self {
        let find = |kind| locks.iter().position(|lock| model.classes.kind(lock.class) == kind);
        Self {
            parts: locks.len(),
            resource: find(lock_kind::RESOURCE),
            completion: find(lock_kind::COMPLETION),
        }
    }

    /// The grade of a cycle that would be `grade` if all its parts were locks.
    pub fn grade(&self, grade: Grade) -> Grade {
        match grade {
            // Somebody else may end the wait: nothing says that it has to be the one who did.
            Grade::Likely if self.completion.is_some() => Grade::Possible,
            // One thread is enough: it enters the context with the lock held, and takes it again in
            // there. What keeps two threads apart does not help.
            _ if self.resource.is_some() && self.parts == 2 => grade.min(Grade::Possible),
            _ => grade,
        }
    }

    /// Says in a finding of this grade what its parts are.
    pub fn tell(&self, grade: Grade, what: &mut OrderFault) {
        if let Some(completion) = self.completion {
            what.evidence
                .push(Evidence::Declared(declared::Evidence::CompleterHolds { completion }));
            if grade == Grade::Possible {
                what.evidence.push(Evidence::Declared(declared::Evidence::CompletedOtherwise {
                    completion,
                }));
            }
            if self.parts == 2 {
                what.fault = Fault::Declared(declared::Fault::CompletedWithLockHeld { completion });
                what.remedies =
                    vec![Remedy::Declared(declared::Remedy::WaitWithoutLock { completion })];
            }
        } else if let Some(context) = self.resource.filter(|_| self.parts == 2) {
            what.fault = Fault::Declared(declared::Fault::TakenInsideContext { context });
            what.evidence.push(Evidence::Declared(declared::Evidence::ContextEntered { context }));
            what.remedies = vec![Remedy::Declared(declared::Remedy::EnterWithoutLock { context })];
        }
    }
}
