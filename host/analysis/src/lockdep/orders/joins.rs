//! Cycles that joins close: a thread waits for another to end, and holds what that needs.

use std::collections::HashSet;

use lockwright_ledger::rows::{Finding as Row, Node, Thread, excludes, finding_kind, mode};

use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, cycle, join};
use crate::finding::{Frame, Grade, Kind};
use crate::model::{LockRef, Model, place_of};
use crate::view::occurrence::Acquisition;

/// Acquisitions of a thread between what it tells as its last and its end.
const MOST_AFTER_LAST: u64 = 8;

/// The ends of threads among the parts of a cycle, by place in it.
pub struct Ends {
    /// The groups of the parts' classes.
    parts: Vec<u32>,
    ends: Vec<usize>,
}

impl Ends {
    /// Those of a cycle of `locks`.
    pub fn of(model: &Model<'_>, locks: &[LockRef]) -> Self {
        let is_end = |&i: &usize| model.classes.is_thread_end(locks[i].class);
        Self {
            parts: locks.iter().map(|lock| model.classes.group_of(lock.class)).collect(),
            ends: (0..locks.len()).filter(is_end).collect(),
        }
    }

    /// What the cycle is called.
    pub fn kind(&self) -> Kind {
        match self.ends.is_empty() {
            false if self.parts.len() == 2 => Kind::JoinWithLockHeld,
            _ => Kind::CircularDependency,
        }
    }

    /// The place before `part`: of an end, that of the lock that is held while joining.
    fn before(&self, part: usize) -> usize {
        (part + self.parts.len() - 1) % self.parts.len()
    }

    /// The grade of a cycle that would be `grade` if all its parts were locks, and the join of a
    /// thread that may be past what it needs whenever it is joined; with the reason, if it is the
    /// join that makes it less serious.
    ///
    /// A thread that waits on a condition with a mutex that the joined one takes, too, may have
    /// waited to hear from it: that it has begun, or is about to end. If that mutex is what it
    /// holds while joining, the other has had it since, and this is how threads are joined that
    /// list themselves as done.
    ///
    /// If the other thread is done already, the joiner need not wait, but it learns that while it holds the lock. The
    /// other thread may have announced its end by signalling a condition once, shortly before, with the lock held. If
    /// the joining function has also passed the same place without a join, it may decide by data under the lock, such
    /// as a count of users.
    pub fn grade(
        &self,
        model: &Model<'_>,
        acquisitions: &[Acquisition],
        grade: Grade,
    ) -> (Grade, Option<Evidence>) {
        let mut result = (grade, None);
        for &end in &self.ends {
            // What is graded otherwise already does not depend on what was heard.
            if !matches!(result.0, Grade::Likely | Grade::Possible) {
                break;
            }
            let mut at_most = |most: Grade, why: Evidence| {
                if result.0 < most {
                    result = (most, Some(why));
                }
            };
            if is_cancelled(model, acquisitions[end].thread) {
                at_most(Grade::Possible, Evidence::Join(join::Evidence::Cancelled { end }));
            }
            let before = self.before(end);
            let mutexes = heard_with(model, acquisitions[before], acquisitions[end].thread);
            match mutexes.contains(&self.parts[before]) {
                true => {
                    at_most(Grade::Ordered, Evidence::Join(join::Evidence::MayHaveHeard { end }))
                }
                false if mutexes.is_empty() => {}
                false => {
                    at_most(Grade::Possible, Evidence::Join(join::Evidence::MayHaveHeard { end }))
                }
            }
            let joined = acquisitions[end].thread;
            if let Some(signal) = last_signal_holding(model, self.parts[before], joined) {
                let place = model.short_place(signal);
                at_most(
                    Grade::Possible,
                    Evidence::Join(join::Evidence::SignalsAtItsEnd { end, place }),
                );
            }
            if let Some(function) = deciding(model, acquisitions[before], joined) {
                at_most(
                    Grade::Possible,
                    Evidence::Join(join::Evidence::PassedWithoutJoin { end, function }),
                );
            }
        }
        result
    }

    /// Says in a finding that a function has returned with the lock which is held while joining: it may have forgotten to
    /// unlock it, which is the fault then.
    pub fn tell_of_takers(
        &self,
        model: &Model<'_>,
        acquisitions: &[Acquisition],
        what: &mut OrderFault,
    ) {
        // What is held may be the end of a thread, which nobody takes.
        for &end in self.ends.iter().filter(|&&end| !self.ends.contains(&self.before(end))) {
            let context = acquisitions[self.before(end)].context;
            let Some(function) = returned(model, context.held, context.acquired) else { continue };
            what.evidence.push(Evidence::Join(join::Evidence::TakerReturned {
                end,
                function: function.clone(),
            }));
            what.remedies.insert(0, Remedy::UnlockInTaker { end, function });
        }
    }

    /// Says in a finding what the ends have to do with it.
    pub fn tell(&self, what: &mut OrderFault) {
        let Some(&end) = self.ends.first() else { return };
        let is_pair = self.parts.len() == 2;
        // A joiner holds a lock: a cycle of joins alone has no beginning.
        let release = self.ends.iter().find(|&&end| !self.ends.contains(&self.before(end)));
        for evidence in &mut what.evidence {
            if is_pair && *evidence == Evidence::Cycle(cycle::Evidence::SameLocks) {
                *evidence = Evidence::Join(join::Evidence::TakenByJoined { end });
            }
        }
        let is_order = |remedy: &Remedy| {
            matches!(
                remedy,
                Remedy::Cycle(
                    cycle::Remedy::TakeBefore { .. } | cycle::Remedy::OrderOfTheirOwn { .. }
                )
            )
        };
        if what.remedies.first().is_some_and(is_order) {
            what.remedies = Vec::from_iter(release.map(|&end| Remedy::JoinWithoutLock { end }));
        }
        if what.fault == Fault::Cycle {
            what.fault = match is_pair {
                true => Fault::Join(join::Fault::JoinedWithLockHeld { end }),
                false => Fault::Join(join::Fault::CycleWithJoins { ends: self.ends.clone() }),
            };
        }
    }
}

/// Somebody asked the thread to end. It does so at its next cancellation point, so it may come to the lock or not. To take a mutex
/// is none; to wait for a semaphore is one.
fn is_cancelled(model: &Model<'_>, thread: u32) -> bool {
    model.ledger.get::<Thread>(thread).is_some_and(|row| row.cancelled_by != 0)
}

/// The groups of mutexes with which the joiner has waited on a condition since `joined` was
/// created, and that this takes.
fn heard_with(model: &Model<'_>, joiner: Acquisition, joined: u32) -> HashSet<u32> {
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
    // The mutex of a wait is taken last; what else is held is kept.
    let held = waits.filter_map(|(id, _)| trie.held(id).next());
    let mut mutexes: HashSet<u32> =
        held.map(|(_, node)| model.classes.group_of(node.class)).collect();
    if !mutexes.is_empty() {
        let by_joined = nodes.filter(|&(id, node)| {
            node.class != 0 && trie.segments(id).iter().any(|&at| is_thread(at, joined))
        });
        let taken: HashSet<u32> =
            by_joined.map(|(_, node)| model.classes.group_of(node.class)).collect();
        mutexes.retain(|mutex| taken.contains(mutex));
    }
    mutexes
}

/// The stack of a signal that the thread made with a lock of the group held, once, and soon before its
/// end.
fn last_signal_holding(model: &Model<'_>, group: u32, thread: u32) -> Option<u32> {
    let acquisitions = model.ledger.get::<Thread>(thread)?.acquisitions;
    let is_last = |row: &Row| {
        row.kind == finding_kind::SIGNALLED_HOLDING
            && row.thread == thread
            && row.repeats == 0
            && acquisitions.saturating_sub(row.detail) <= MOST_AFTER_LAST
    };
    let is_held = |row: &Row| {
        let innermost = model.trie.node(row.node).into_iter();
        let mut held = innermost.chain(model.trie.held(row.node).map(|(_, node)| node));
        held.any(|node| model.classes.group_of(node.class) == group)
    };
    let mut rows = model.ledger.rows::<Row>().map(|(_, row)| row);
    rows.find(|row| is_last(row) && is_held(row)).map(|row| row.stack)
}

/// The function that took the lock of a context.
fn taker(model: &Model<'_>, held: &Node) -> Option<String> {
    place_of(&model.symbols.stack(held.stack))?.function.clone()
}

/// The function that took the lock of context `held`, if it is none of those that join in context `join`.
fn returned(model: &Model<'_>, held: u32, join: u32) -> Option<String> {
    let function = taker(model, model.trie.node(held)?)?;
    let join = model.symbols.stack(model.trie.node(join)?.stack);
    // Without names nothing is known of the callers.
    let is_other = |frame: &Frame| frame.function.as_ref().is_some_and(|it| *it != function);
    join.iter().all(is_other).then_some(function)
}

/// The function that took the lock which the joiner holds, and from which it joins, where that lock was
/// taken in the same place without a join: by another thread, or before. While `joined` did not exist yet there was nothing to
/// decide.
fn deciding(model: &Model<'_>, joiner: Acquisition, joined: u32) -> Option<String> {
    let node = |id| model.trie.node(id).copied();
    let (held, join) = (node(joiner.context.held)?, node(joiner.context.acquired)?);
    let function = taker(model, &held)?;
    let is_active = |frame: &Frame| frame.function.as_ref() == Some(&function);
    if !model.symbols.stack(join.stack).iter().any(is_active) {
        return None;
    }
    let place = model.place(held.stack);
    // In one segment: by other callers, and first so before this.
    let is_earlier = |id: u32, node: &Node| id < joiner.context.held && node.stack != held.stack;
    let created = model.ledger.get::<Thread>(joined).map_or(0, |row| row.parent_segment);
    let is_too_early =
        |segment: u32| created != 0 && (segment == created || model.order.before(segment, created));
    let is_there = |(_, node): &(u32, &Node)| {
        node.class != 0
            && model.is_of_lock(node, &held)
            && excludes(node.mode, held.mode)
            && model.place(node.stack) == place
    };
    let nodes = (1..model.trie.len()).filter_map(|id| Some((id, model.trie.node(id)?)));
    let taken: Vec<(u32, &Node)> = nodes.filter(is_there).collect();
    let is_own = |segment: u32| model.order.thread(segment) == Some(joiner.thread);
    let all = taken.iter().flat_map(|&(id, _)| model.trie.segments(id).iter().copied());
    // In which this hold began.
    let begin = all.filter(|&at| at <= joiner.segment && is_own(at)).max().unwrap_or(0);
    let is_other_pass = |id: u32, node: &Node, segment: u32| match model.order.thread(segment) {
        _ if is_too_early(segment) => false,
        Some(thread) if thread == joiner.thread => {
            segment < begin || segment == begin && is_earlier(id, node)
        }
        Some(_) => true,
        None => false,
    };
    let is_passed = |&(id, node): &(u32, &Node)| {
        model.trie.segments(id).iter().any(|&at| is_other_pass(id, node, at))
    };
    taken.iter().any(is_passed).then_some(function)
}
