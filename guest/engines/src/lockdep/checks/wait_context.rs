//! Invalid wait contexts: an acquisition that may sleep while a lock is held whose waiters spin. Programs declare what
//! the waiters for a lock do, its wait type.

use lockwright_ledger::rows::{
    Class, Evidence, Finding, Held, Lock, Node, Segment, finding_kind, mode, wait_type,
};

use crate::capture::Capture;
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::recorder::Recorder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::ThreadState;

/// See the module.
pub(crate) struct WaitContexts {
    /// Some class was given a wait type.
    any: bool,
}

impl WaitContexts {
    pub(crate) const fn new() -> Self {
        Self { any: false }
    }

    /// In a forked child: true if the parent's classes have wait types to inherit.
    pub(crate) fn inherit(&mut self, parent: &Self) -> bool {
        self.any |= parent.any;
        parent.any
    }

    /// Acquisitions are checked.
    pub(crate) fn has_any(&self) -> bool {
        self.any
    }

    /// Says what a thread does that waits for a lock of the class: one of [`wait_type`].
    pub(crate) fn set_wait_type(&mut self, recorder: &mut Recorder, lock: Ident, wait_type: u32) {
        let before = recorder.writer.get::<Class>(lock.class()).map_or(0, |class| class.wait_type);
        if before == wait_type {
            return;
        }
        self.any |= wait_type != wait_type::UNKNOWN;
        recorder.writer.update::<Class>(lock.class(), |row| row.wait_type = wait_type);
        check_recorded(recorder, lock.class());
    }

    /// Records an acquisition that may sleep while a lock is held whose waiters spin. Only if the
    /// program has declared the type of one of the two: a mutex inside a spinlock alone is common,
    /// if not nice.
    pub(crate) fn check(
        &self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        lock: &Acquire,
        capture: Capture<'_>,
    ) {
        if !self.any || thread.is_idle() || lock.mode & mode::TRY != 0 {
            return;
        }
        let class_of = |class| recorder.writer.get::<Class>(class);
        let Some(class) = class_of(lock.ident.class()) else { return };
        let is_said = |other: &Class| (class.wait_type | other.wait_type) != wait_type::UNKNOWN;
        let spins = |held: &Held| {
            held.addr != 0
                && class_of(held.class)
                    .is_some_and(|other| other.waits() == wait_type::SPIN && is_said(other))
        };
        if class.waits() != wait_type::SLEEP {
            return;
        }
        let Some(spinning) = thread.held().find(spins) else { return };
        let what = Misuse {
            detail: spinning.inst.into(),
            ..Misuse::new(finding_kind::WAIT_CONTEXT, lock.addr, lock.ident)
        };
        recorder.misuse(thread, &what, 0, capture);
    }
}

/// The wait type of class `changed` is new: checks the existing records with it.
fn check_recorded(recorder: &mut Recorder, changed: u32) {
    for id in 1..recorder.writer.len_of::<Node>() {
        let Some(&node) = recorder.writer.get::<Node>(id) else { continue };
        let Some(outer) = spins_around(recorder, &node) else { continue };
        if node.class != changed && outer.class != changed {
            continue;
        }
        let evidence = recorder.writer.get::<Evidence>(node.evidence);
        let segment = evidence.map_or(0, |evidence| evidence.segment);
        recorder.push_misuse(Finding {
            kind: finding_kind::WAIT_CONTEXT,
            mode: node.mode,
            thread: recorder.writer.get::<Segment>(segment).map_or(0, |segment| segment.thread),
            segment,
            addr: recorder.writer.get::<Lock>(node.lock).map_or(0, |lock| lock.addr),
            class: node.class,
            inst: node.inst,
            stack: node.stack,
            node: node.parent,
            detail: outer.inst.into(),
            ..Finding::default()
        });
    }
}

/// The outermost lock around a recorded acquisition that makes it an invalid one, as
/// [`WaitContexts::check`] has it.
fn spins_around(recorder: &Recorder, node: &Node) -> Option<Node> {
    let class = recorder.writer.get::<Class>(node.class).filter(|_| node.class != 0)?;
    if class.waits() != wait_type::SLEEP || node.mode & mode::TRY != 0 {
        return None;
    }
    let mut found = None;
    let mut at = node.parent;
    while let Some(&outer) = recorder.writer.get::<Node>(at).filter(|_| at != 0) {
        let spins = recorder.writer.get::<Class>(outer.class).is_some_and(|other| {
            other.waits() == wait_type::SPIN
                && (class.wait_type | other.wait_type) != wait_type::UNKNOWN
        });
        found = if spins { Some(outer) } else { found };
        at = outer.parent;
    }
    found
}
