//! A tracker: what the engine knows of one object. The kernel's `debug_obj`.

use lockwright_ledger::rows::object::object_end;

use super::act::Act;
use super::descr::Descr;
use super::fault::{Fault, Moment, Place};
use super::table::{Operation, Rules, State};

/// [`Tracker::flags`]: it was initialised on its thread's stack.
pub(super) const ON_STACK: u8 = 1 << 0;
/// [`Tracker::flags`]: nothing has initialised it: its type says that it is initialised statically.
pub(super) const BY_STATIC: u8 = 1 << 1;
/// [`Tracker::flags`]: its memory goes, that was found out of it, and its fixup is called.
pub(super) const GOING: u8 = 1 << 2;
/// [`Tracker::flags`]: that it was in use at its end was reported.
pub(super) const ENDED: u8 = 1 << 3;

/// What is known of one object. Written under its bucket's lock.
#[repr(C)]
pub(super) struct Tracker {
    /// Next of the bucket.
    pub next: *mut Tracker,
    pub addr: u64,
    pub descr: &'static Descr,
    /// Fingerprint when it was destroyed.
    pub fingerprint: u64,
    pub init: Moment,
    pub active: Moment,
    pub destroy: Moment,
    /// Activations without their deactivation.
    pub uses: u32,
    /// The program's own state.
    pub count: u32,
    /// The era that the moments' threads and stacks are of.
    pub era: u32,
    pub state: State,
    pub flags: u8,
    /// What `active` was.
    pub active_op: Option<Operation>,
}

/// A record of the pools is large enough for a tracker.
pub(super) const RECORD: usize = size_of::<Tracker>();

impl Tracker {
    pub fn new(addr: u64, descr: &'static Descr, era: u32) -> Self {
        Self {
            next: core::ptr::null_mut(),
            addr,
            descr,
            fingerprint: 0,
            init: Moment::default(),
            active: Moment::default(),
            destroy: Moment::default(),
            uses: 0,
            count: 0,
            era,
            state: State::None,
            flags: 0,
            active_op: None,
        }
    }

    /// Moments of another era keep their times; their threads and stacks are of another ledger.
    pub fn enter(&mut self, era: u32) {
        if self.era == era {
            return;
        }
        self.era = era;
        for moment in [&mut self.init, &mut self.active, &mut self.destroy] {
            (moment.thread, moment.stack) = (0, 0);
        }
    }

    /// The object is initialised: of what was before nothing is left but that its memory goes. Field by field: nothing is
    /// written twice.
    #[inline(always)]
    pub fn begins(&mut self, descr: &'static Descr, op: Operation, place: Place) {
        let on_stack = if op == Operation::InitOnStack { ON_STACK } else { 0 };
        (self.descr, self.init, self.fingerprint) = (descr, place, 0);
        (self.active, self.active_op, self.destroy) = (Moment::default(), None, Moment::default());
        (self.uses, self.count, self.flags) = (0, 0, self.flags & GOING | on_stack);
        self.state = State::Init;
    }

    /// The object is destroyed.
    #[inline(always)]
    pub fn ends(&mut self, place: Place, fingerprint: u64) {
        (self.destroy, self.fingerprint, self.uses) = (place, fingerprint, 0);
        self.state = State::Destroyed;
    }

    /// The object goes through an operation, and then is in `next`. `is_fault`: it should not have
    /// been done.
    pub fn goes(&mut self, act: &Act, next: State, is_fault: bool) {
        let Act { op, place, .. } = *act;
        match op {
            Operation::Init | Operation::InitOnStack if next == State::Init => {
                self.begins(act.descr, op, place);
            }
            Operation::Activate if !is_fault => {
                self.uses += 1;
                (self.active, self.active_op) = (place, Some(op));
            }
            Operation::Deactivate if !is_fault => {
                self.uses = self.uses.saturating_sub(1);
                (self.active, self.active_op) = (place, Some(op));
                if self.uses != 0 {
                    return;
                }
            }
            Operation::ActiveState if !is_fault => self.count = act.counts.1,
            Operation::Destroy if next == State::Destroyed && self.state != State::Destroyed => {
                self.ends(place, act.fingerprint);
            }
            // Faults, of an object in use: that its memory goes need not be reported as well.
            Operation::Free => self.flags |= ENDED,
            Operation::Destroy if self.state == State::Active => {
                self.flags |= ENDED;
                // Who destroyed it has not forgotten to.
                self.destroy = place;
            }
            _ => {}
        }
        self.state = next;
    }

    /// The rules by which it may go with its memory: who need not have destroyed it, or tried to,
    /// is not told to.
    pub fn rules_at_end(&self) -> Rules {
        let is_excused = self.flags & BY_STATIC != 0 || self.destroy != Moment::default();
        let rules = self.descr.rules;
        if is_excused { rules.without(Rules::MUST_DESTROY) } else { rules }
    }

    /// A fault of the object as it is.
    pub fn fault(&self, kind: u8, op: Operation, here: Place) -> Fault {
        Fault {
            kind,
            op,
            was: self.state,
            how: if op == Operation::Free { object_end::FREED } else { object_end::NONE },
            on_stack: self.flags & ON_STACK != 0,
            fixed: false,
            addr: self.addr,
            descr: self.descr,
            here,
            init: self.init,
            active: self.active,
            active_op: self.active_op,
            destroy: self.destroy,
            expected: (0, self.count),
        }
    }
}

/// What is known of an object: a copy.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The object.
    pub addr: u64,
    /// Its type.
    pub descr: &'static Descr,
    /// Its state.
    pub state: State,
    /// It was initialised on its thread's stack.
    pub on_stack: bool,
    /// It was initialised by nobody: statically.
    pub by_static: bool,
    /// Activations without their deactivation.
    pub uses: u32,
    /// The program's own state.
    pub count: u32,
    /// When it was initialised.
    pub init: Moment,
    /// When it was last activated or deactivated.
    pub active: Moment,
    /// Which of the two.
    pub active_op: Option<Operation>,
    /// When it was destroyed.
    pub destroy: Moment,
}

impl From<&Tracker> for Tracked {
    fn from(tracker: &Tracker) -> Self {
        Self {
            addr: tracker.addr,
            descr: tracker.descr,
            state: tracker.state,
            on_stack: tracker.flags & ON_STACK != 0,
            by_static: tracker.flags & BY_STATIC != 0,
            uses: tracker.uses,
            count: tracker.count,
            init: tracker.init,
            active: tracker.active,
            active_op: tracker.active_op,
            destroy: tracker.destroy,
        }
    }
}
