//! The acquisitions of a cycle's threads on their way to it, and whether all of them can have
//! happened.
//!
//! In the cycle each thread holds locks. What another thread is known to have taken of these before
//! it came to the cycle, it took before that hold began, for the hold does not end. So one hold
//! begins before another wherever its thread then takes, within it, the lock of the other. If this
//! has two holds begin before each other, there is no such run:
//!
//! ```text
//! T1: L(A) T(B) U(B) L(B) U(B) U(A)    T1 takes B within its hold of A: before T2's hold of B
//! T2: L(B) T(A) U(A) L(A) U(A) U(B)    T2 takes A within its hold of B: before T1's hold of A
//! ```
//!
//! So does a hold that began while its thread held the lock of the other, and does no longer: the
//! other thread has had to wait for the end of that.
//!
//! ```text
//! T1: L(B) L(A) U(B) L(C) ...    T1's hold of A began within one of B: before T2's hold of B
//! ```
//!
//! What was taken within this very hold is known only if something separates the hold from earlier
//! ones. It must last from one segment to the next, and the lock is not taken again there. (A lock
//! that is taken and released once more in one segment leaves no trace.) Trylocks and timed locks
//! count only if they succeeded.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{
    self, Class, Evidence, Hold, Node, Segment, lock_kind, mode, node_flag, segment_kind,
};

use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// Segments gone back to find where a hold began.
const MOST_BACK: usize = 64;
/// Acquisitions of one lock looked at.
const MOST_TAKEN: usize = 256;
/// Acquisitions of one segment looked at.
const MOST_IN_SEGMENT: usize = 256;

/// Two holds each of which has to begin before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The steps whose threads hold them.
    pub steps: [usize; 2],
    /// The nodes of the locks held.
    pub held: [u32; 2],
}

/// A recorded acquisition.
#[derive(Clone, Copy)]
struct Taken {
    node: u32,
    segment: u32,
    /// Those of a segment are in the order in which each was first made.
    order: u32,
}

/// Everything taken, by lock and by segment.
pub struct Precedence {
    by_inst: HashMap<u32, Vec<Taken>>,
    /// For classes that have one lock: acquisitions with nothing held.
    by_class: HashMap<u32, Vec<Taken>>,
    by_segment: HashMap<u32, Vec<Taken>>,
    /// The thread's next segment.
    next: HashMap<u32, u32>,
    /// Locks, and classes, of which not all acquisitions are recorded.
    unsure: HashSet<(u32, u32)>,
    /// By thread.
    holds: HashMap<u32, Vec<Hold>>,
    /// Rows are missing: lost because there was no space, cut off or damaged.
    is_incomplete: bool,
}

/// A lock that a thread holds in the cycle.
struct Final {
    step: usize,
    id: u32,
    node: Node,
    /// The segment in which the hold began, if that is known.
    begin: Option<u32>,
}

impl Precedence {
    /// That of one process.
    pub fn new(model: &Model<'_>) -> Self {
        let mut this = Self {
            by_inst: HashMap::new(),
            by_class: HashMap::new(),
            by_segment: HashMap::new(),
            next: HashMap::new(),
            unsure: HashSet::new(),
            holds: HashMap::new(),
            is_incomplete: is_incomplete(model.ledger),
        };
        for id in 1..model.trie.len() {
            if let Some(node) = model.trie.node(id).filter(|node| node.folded != 0) {
                this.unsure.insert((node.class, node.inst));
            }
        }
        for (order, Evidence { node: id, segment, .. }) in model.ledger.rows::<Evidence>() {
            let Some(node) = model.trie.node(id).filter(|_| segment != 0) else { continue };
            let taken = Taken { node: id, segment, order };
            this.by_segment.entry(segment).or_default().push(taken);
            let is_had = node.mode & mode::TIMED == 0 && node.flags & node_flag::IN_HANDLER == 0;
            if node.class == 0 || !is_had {
                continue;
            }
            let row = || model.ledger.get::<Class>(node.class);
            match node.inst {
                0 if row().is_some_and(|class| class.locks == 1) => {
                    this.by_class.entry(node.class).or_default().push(taken);
                }
                0 => {}
                inst => this.by_inst.entry(inst).or_default().push(taken),
            }
        }
        for (id, row) in model.ledger.rows::<Segment>().filter(|(_, row)| row.prev != 0) {
            this.next.insert(row.prev, id);
        }
        let none = model.trie.no_monitors();
        let holds = model.ledger.rows::<Hold>();
        for (_, hold) in holds.filter(|(_, hold)| !none.contains(&hold.class)) {
            this.holds.entry(hold.thread).or_default().push(hold);
        }
        this
    }

    /// Why the threads cannot all be where `acquisitions` have them; `None` if no record says so.
    pub fn contradiction(
        &self,
        model: &Model<'_>,
        acquisitions: &[Acquisition],
    ) -> Option<Contradiction> {
        let trie = &model.trie;
        // The beginning of a hold is known only if the record is complete.
        if self.is_incomplete {
            return None;
        }
        if acquisitions
            .iter()
            .any(|it| it.segment == 0 || trie.signal(it.context.acquired).is_some())
        {
            return None;
        }
        let holds = |(step, acquisition): (usize, &Acquisition)| -> Vec<Final> {
            let is_lock = |node: &Node| node.inst != 0 && model.classes.excludes(node.class);
            let held = trie.held(acquisition.context.acquired);
            let of = |(id, node): (u32, &Node)| {
                let begin = self.begin(model, acquisition.segment, node);
                Final { step, id, node: *node, begin }
            };
            held.filter(|(_, node)| is_lock(node)).map(of).collect()
        };
        let finals: Vec<Final> = acquisitions.iter().enumerate().flat_map(holds).collect();
        let n = finals.len();
        let mut is_before = vec![vec![false; n]; n];
        for (a, first) in finals.iter().enumerate() {
            for (b, second) in finals.iter().enumerate().filter(|&(b, _)| b != a) {
                is_before[a][b] = self.begins_before(model, acquisitions, first, second);
            }
        }
        for via in 0..n {
            for a in 0..n {
                for b in 0..n {
                    is_before[a][b] |= is_before[a][via] && is_before[via][b];
                }
            }
        }
        let both = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).find(|&(a, b)| {
            finals[a].step < finals[b].step && is_before[a][b] && is_before[b][a]
        })?;
        let [a, b] = [&finals[both.0], &finals[both.1]];
        Some(Contradiction { steps: [a.step, b.step], held: [a.id, b.id] })
    }

    /// The hold `first` began before the hold `second`.
    fn begins_before(
        &self,
        model: &Model<'_>,
        acquisitions: &[Acquisition],
        first: &Final,
        second: &Final,
    ) -> bool {
        let trie = &model.trie;
        if first.step == second.step {
            // Outer locks are taken first.
            return trie.held(second.id).any(|(id, _)| id == first.id);
        }
        let [of_first, of_second] = [first, second].map(|it| &acquisitions[it.step]);
        if self.gave_up(model, of_first, first, second) {
            return true;
        }
        let Some(begin) = first.begin else { return false };
        if self.began_under(model, of_first, first, begin, second) {
            return true;
        }
        if begin < of_first.segment && self.is_within(model, begin, &first.node, &second.node) {
            return true;
        }
        let exactly = self.by_inst.get(&second.node.inst);
        let all = exactly.into_iter().chain(self.by_class.get(&second.node.class)).flatten();
        all.take(MOST_TAKEN).any(|taken| {
            let thread = model.order.thread(taken.segment);
            let is_after = match thread == Some(of_first.thread) {
                true => taken.segment > begin,
                false => model.order.before(begin, taken.segment),
            };
            is_after
                && thread.is_some_and(|thread| thread != of_second.thread)
                && trie.node(taken.node).is_some_and(|node| excludes(node, &second.node))
                && self.is_past(model, acquisitions, taken)
        })
    }

    /// Whether the hold `first` began, in the segment `begin`, while its thread held the lock of
    /// `second`, which it has given up since.
    fn began_under(
        &self,
        model: &Model<'_>,
        acquisition: &Acquisition,
        first: &Final,
        begin: u32,
        second: &Final,
    ) -> bool {
        let trie = &model.trie;
        let inst = second.node.inst;
        if trie.held(acquisition.context.acquired).any(|(_, node)| node.inst == inst) {
            return false;
        }
        let is_beginning = |taken: &&Taken| may_begin(model, taken.node, &first.node);
        let mut beginnings = self.of_segment(begin).filter(is_beginning).peekable();
        // If the hold began only after the first such acquisition, this may be an earlier one.
        let until = match begin == acquisition.segment {
            true => self.order_of(model, acquisition),
            false => u32::MAX,
        };
        beginnings.peek().is_some_and(|taken| taken.order < until)
            && beginnings.all(|taken| {
                trie.held(taken.node)
                    .any(|(_, held)| held.inst == inst && excludes(held, &second.node))
            })
    }

    /// Whether something was taken before the threads come to the cycle.
    fn is_past(&self, model: &Model<'_>, acquisitions: &[Acquisition], taken: &Taken) -> bool {
        let thread = model.order.thread(taken.segment);
        acquisitions.iter().any(|it| match () {
            () if taken.segment == it.segment => taken.order < self.order_of(model, it),
            () if thread == Some(it.thread) => taken.segment < it.segment,
            () => model.order.before(taken.segment, it.segment),
        })
    }

    /// Whether a thread has taken the lock of `held`, in its segment `from` (thread and segment) or later, before `until`.
    pub(super) fn is_taken_between(
        &self,
        model: &Model<'_>,
        held: &Node,
        (thread, from): (u32, u32),
        until: &Acquisition,
    ) -> bool {
        let exactly = self.by_inst.get(&held.inst);
        let all = exactly.into_iter().chain(self.by_class.get(&held.class)).flatten();
        all.take(MOST_TAKEN).any(|taken| {
            taken.segment >= from
                && model.order.thread(taken.segment) == Some(thread)
                && model.trie.node(taken.node).is_some_and(|node| excludes(node, held))
                && self.is_past(model, &[*until], taken)
        })
    }

    /// When an acquisition was first made, among those of its segment.
    fn order_of(&self, model: &Model<'_>, acquisition: &Acquisition) -> u32 {
        let id = acquisition.context.acquired;
        let site = model.trie.node(id).map_or(0, |node| node.site);
        let is_it = |taken: &&Taken| match id < model.trie.len() {
            true => taken.node == id,
            // What stands for another context is made at the same place.
            false => model.trie.node(taken.node).is_some_and(|node| node.site == site),
        };
        self.of_segment(acquisition.segment).filter(is_it).map(|it| it.order).min().unwrap_or(0)
    }

    fn of_segment(&self, segment: u32) -> impl Iterator<Item = &Taken> {
        self.by_segment.get(&segment).into_iter().flatten()
    }

    /// The segment in which the hold of a lock began that is held in `segment`.
    pub(super) fn begin(&self, model: &Model<'_>, segment: u32, held: &Node) -> Option<u32> {
        let is_unsure = [held.inst, 0].iter().any(|&of| self.unsure.contains(&(held.class, of)));
        let kind = model.classes.kind(held.class);
        let is_mutex =
            matches!(kind, lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK);
        // For other locks, trylocks with nothing held are recorded without the thread.
        let is_seen = is_mutex || held.parent != 0 || held.mode & mode::TRY == 0;
        if is_unsure || !is_seen {
            return None;
        }
        let mut at = segment;
        for _ in 0..MOST_BACK {
            if self.of_segment(at).take(MOST_IN_SEGMENT + 1).count() > MOST_IN_SEGMENT {
                return None;
            }
            if self.of_segment(at).any(|taken| may_begin(model, taken.node, held)) {
                return Some(at);
            }
            let row = model.ledger.get::<Segment>(at)?;
            at = Some(row.prev).filter(|&prev| prev != 0 && prev < at)?;
        }
        None
    }

    /// Whether `other` was taken within the hold of `held` that began in the segment and lasted beyond
    /// it.
    ///
    /// That is known of a lock that was held at the segment's end, too, where `held` never was taken
    /// while that was held: so it was taken within this hold, and `other` with it or before it.
    fn is_within(&self, model: &Model<'_>, segment: u32, held: &Node, other: &Node) -> bool {
        let trie = &model.trie;
        let is_held = |id: u32, inst: u32| trie.held(id).any(|(_, node)| node.inst == inst);
        let is_in_hold = |id: u32| {
            trie.held(id).any(|(_, node)| (node.inst, node.site) == (held.inst, held.site))
        };
        // Itself, or what was held then.
        let is_inside = |id: u32| {
            let own = trie.node(id).map(|node| (id, node));
            own.into_iter().chain(trie.held(id)).any(|(id, node)| {
                node.inst == other.inst && excludes(node, other) && is_in_hold(id)
            })
        };
        // If too many were nested, the record does not say which.
        let takes = |id: u32, inst: u32| {
            trie.node(id).is_some_and(|node| {
                node.class != 0 && (node.inst == inst || node.inst == 0 && node.parent != 0)
            })
        };
        let all = || self.of_segment(segment).map(|taken| taken.node);
        // A routine runs once, and its end ended the segment: what was held around it was held all along.
        let is_in_routine = |id: u32| {
            let mut path = trie.held(id);
            let routine = path.find(|(_, node)| model.classes.kind(node.class) == lock_kind::ONCE);
            routine.is_some_and(|(_, routine)| {
                path.any(|(_, node)| (node.inst, node.site) == (held.inst, held.site))
                    && !all().any(|id| takes(id, held.inst) && is_held(id, routine.inst))
            })
        };
        let is_other = |id: u32| {
            trie.node(id).is_some_and(|node| node.inst == other.inst && excludes(node, other))
        };
        if self.is_end_of_routine(model, segment)
            && all().any(|id| is_other(id) && is_in_routine(id))
        {
            return true;
        }
        self.ends(model, segment).into_iter().filter(|&end| end != held.inst).any(|end| {
            let again = |id: u32| {
                trie.node(id).is_some_and(|node| node.site == held.site)
                    && takes(id, held.inst)
                    && is_held(id, end)
            };
            let mut in_hold = all().filter(|&id| takes(id, end) && is_in_hold(id)).peekable();
            in_hold.peek().is_some()
                && in_hold.all(|id| is_inside(id) && !is_held(id, end))
                && !all().any(again)
        })
    }

    /// A segment ended with a routine that its thread ran.
    fn is_end_of_routine(&self, model: &Model<'_>, segment: u32) -> bool {
        let next = self.next.get(&segment).and_then(|&next| model.ledger.get::<Segment>(next));
        next.is_some_and(|row| row.kind == segment_kind::INITIALISED && row.peer == 0)
    }

    /// Locks that are held at the end of a segment.
    fn ends(&self, model: &Model<'_>, segment: u32) -> Vec<u32> {
        let Some(&next) = self.next.get(&segment) else { return Vec::new() };
        let Some(row) = model.ledger.get::<Segment>(next) else { return Vec::new() };
        let of_thread = self.holds.get(&row.thread).into_iter().flatten();
        let mut ends: Vec<u32> =
            of_thread.filter(|hold| hold.first == segment).map(|hold| hold.inst).collect();
        if row.kind == segment_kind::PASSED {
            ends.extend(model.ledger.get::<Hold>(row.sync).map(|hold| hold.inst));
        }
        if row.kind == segment_kind::JOINED {
            let joins = self.of_segment(segment).filter(|taken| {
                let node = model.trie.node(taken.node);
                node.is_some_and(|node| node.class == 0 && node.mode & mode::JOIN != 0)
            });
            let innermost = |taken: &Taken| Some(model.trie.held(taken.node).next()?.1.inst);
            ends.extend(joins.filter_map(innermost));
        }
        if row.kind == segment_kind::INITIALISED && row.peer != 0 {
            // The call that ended it is the last of its kind: the next one is in another segment.
            let is_call = |taken: &&Taken| {
                let node = model.trie.node(taken.node);
                node.is_some_and(|node| node.mode & mode::ONCE != 0)
            };
            let call = self.of_segment(segment).filter(is_call).max_by_key(|taken| taken.order);
            ends.extend(call.and_then(|taken| Some(model.trie.held(taken.node).next()?.1.inst)));
        }
        ends.retain(|&inst| inst != 0);
        ends
    }

    /// The step takes its mutex again after a condition wait, and had it, within `held`, before that.
    fn gave_up(
        &self,
        model: &Model<'_>,
        acquisition: &Acquisition,
        held: &Final,
        other: &Final,
    ) -> bool {
        let trie = &model.trie;
        let id = acquisition.context.acquired;
        let Some(node) = trie.node(id).filter(|node| node.mode & mode::COND_REACQUIRE != 0) else {
            return false;
        };
        let is_wait = |taken: &&Taken| {
            trie.node(taken.node).is_some_and(|wait| {
                wait.class == 0 && wait.mode & mode::COND_WAIT != 0 && wait.site == node.site
            })
        };
        let mut waits = self.of_segment(acquisition.segment).filter(is_wait).peekable();
        node.inst != 0
            && node.inst == other.node.inst
            && waits.peek().is_some()
            && waits.all(|wait| {
                let mutex = trie.held(wait.node).find(|(_, held)| held.inst == node.inst);
                mutex.is_some_and(|(id, _)| {
                    trie.held(id).any(|(_, outer)| outer.inst == held.node.inst)
                })
            })
    }
}

/// Whether a ledger lacks rows that there were.
fn is_incomplete(ledger: &Ledger) -> bool {
    let header = ledger.header();
    header.lost > 0
        || header.stopped != 0
        || ledger.missing_bytes() > 0
        || ledger.refused_rows() > 0
        || ledger.is_torn()
}

/// Whether the hold of a lock may begin with what was recorded as `id`: with its acquisition, or the
/// end of a condition wait.
fn may_begin(model: &Model<'_>, id: u32, held: &Node) -> bool {
    let trie = &model.trie;
    let Some(node) = trie.node(id) else { return false };
    match node.class {
        // A mutex that is held alone comes back as it was; any other is taken again.
        0 => {
            node.mode & mode::COND_WAIT != 0
                && trie.node(node.parent).is_some_and(|only| {
                    only.parent == 0 && (only.inst, only.site) == (held.inst, held.site)
                })
        }
        class => {
            // A lock's entry keeps its call site, whatever else is released.
            node.site == held.site
                && (node.inst == held.inst || node.inst == 0 && class == held.class)
        }
    }
}

/// Whether an acquisition as in `node` has to wait while another thread holds as in `held`.
fn excludes(node: &Node, held: &Node) -> bool {
    rows::excludes(node.mode, held.mode)
}
