//! Cycles that joins close: a thread waits for another to end, and holds what that needs.

use std::collections::HashSet;

use lockwright_ledger::rows::{Thread, mode};

use crate::finding::order::{Evidence, Fault, OrderFault, Remedy};
use crate::finding::{Grade, Kind};
use crate::model::{LockRef, Model};
use crate::view::occurrence::Acquisition;

/// The ends of threads among the parts of a cycle, by place in it.
pub struct Ends {
    parts: usize,
    ends: Vec<usize>,
}

impl Ends {
    /// Those of a cycle of `locks`.
    pub fn of(model: &Model<'_>, locks: &[LockRef]) -> Self {
        let is_end = |&i: &usize| model.classes.is_thread_end(locks[i].class);
        Self { parts: locks.len(), ends: (0..locks.len()).filter(is_end).collect() }
    }

    /// What the cycle is called.
    pub fn kind(&self) -> Kind {
        match self.ends.is_empty() {
            false if self.parts == 2 => Kind::JoinWithLockHeld,
            _ => Kind::CircularDependency,
        }
    }

    /// The grade of a cycle that would be `grade` if all its parts were locks, and the join of a
    /// thread that may be past what it needs whenever it is joined.
    ///
    /// A thread that waits on a condition with a mutex that the joined one takes, too, may have
    /// waited to hear from it: that it has begun, or is about to end.
    pub fn grade(
        &self,
        model: &Model<'_>,
        acquisitions: &[Acquisition],
        grade: Grade,
    ) -> (Grade, Option<usize>) {
        let before = |end: usize| acquisitions[(end + self.parts - 1) % self.parts];
        let told = |&&end: &&usize| has_heard(model, before(end), acquisitions[end].thread);
        match self.ends.iter().filter(|_| grade == Grade::Likely).find(told) {
            Some(&end) => (Grade::Possible, Some(end)),
            None => (grade, None),
        }
    }

    /// Says in a finding what the ends have to do with it.
    pub fn tell(&self, what: &mut OrderFault) {
        let Some(&end) = self.ends.first() else { return };
        let is_pair = self.parts == 2;
        // Somebody who joins holds a lock: a cycle of joins alone has no beginning.
        let before = |end: usize| (end + self.parts - 1) % self.parts;
        let release = self.ends.iter().find(|&&end| !self.ends.contains(&before(end)));
        for evidence in &mut what.evidence {
            if is_pair && *evidence == Evidence::SameLocks {
                *evidence = Evidence::TakenByJoined { end };
            }
        }
        let is_order = |remedy: &Remedy| {
            matches!(remedy, Remedy::TakeBefore { .. } | Remedy::OrderOfTheirOwn { .. })
        };
        if what.remedies.first().is_some_and(is_order) {
            what.remedies = Vec::from_iter(release.map(|&end| Remedy::JoinWithoutLock { end }));
        }
        if what.fault == Fault::Cycle {
            what.fault = match is_pair {
                true => Fault::JoinedWithLockHeld { end },
                false => Fault::CycleWithJoins { ends: self.ends.clone() },
            };
        }
    }
}

/// Whether the joiner has waited on a condition, since `joined` was created, with a mutex that this
/// takes.
fn has_heard(model: &Model<'_>, joiner: Acquisition, joined: u32) -> bool {
    let trie = &model.trie;
    let created = model.ledger.get::<Thread>(joined).map_or(0, |row| row.parent_segment);
    let is_thread = |segment: u32, thread| model.order.thread(segment) == Some(thread);
    let nodes = (1..trie.len()).filter_map(|id| Some((id, trie.node(id)?)));
    let waits = nodes.clone().filter(|&(id, node)| {
        let since = |&segment: &u32| {
            is_thread(segment, joiner.thread)
                && segment <= joiner.segment
                && segment != created
                && !model.order.before(segment, created)
        };
        node.class == 0 && node.mode & mode::COND_WAIT != 0 && trie.segments(id).iter().any(since)
    });
    let held = waits.flat_map(|(id, _)| trie.held(id));
    let mutexes: HashSet<u32> = held.map(|(_, node)| model.classes.group_of(node.class)).collect();
    !mutexes.is_empty()
        && nodes.filter(|(_, node)| node.class != 0).any(|(id, node)| {
            mutexes.contains(&model.classes.group_of(node.class))
                && trie.segments(id).iter().any(|&segment| is_thread(segment, joined))
        })
}
