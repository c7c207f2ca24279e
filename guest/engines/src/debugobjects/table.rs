//! The state machine: one table from (state, operation) to a verdict and the state that follows.
//!
//! ```text
//!            init        activate        destroy
//!   none ---------> init --------> active . . . . > fault, and it stays
//!                    |   \           | ^
//!            destroy |    deactivate | | activate
//!                    v               v |
//!               destroyed <------- inactive
//! ```
//!
//! An operation on an object that is not tracked may ask the type whether it is initialised
//! statically. If it is, the object counts as in `init` from then on; if not, the row of
//! `notavailable` says what that means.

use lockwright_ledger::rows::object::{object_fault as fault, object_op, object_state};

/// State of an object. Values are the ledger's.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is not tracked.
    None = object_state::NONE,
    /// It was initialised and has done nothing yet.
    Init = object_state::INIT,
    /// It is not in use.
    Inactive = object_state::INACTIVE,
    /// It is in use.
    Active = object_state::ACTIVE,
    /// It was destroyed.
    Destroyed = object_state::DESTROYED,
    /// It is not tracked, and is none that need not be initialised. No tracked object is in it.
    NotAvailable = object_state::NOTAVAILABLE,
}

/// What is done to an object. Values are the ledger's.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Its init function.
    Init = object_op::INIT,
    /// Its init function, on the stack of the calling thread.
    InitOnStack = object_op::INIT_ON_STACK,
    /// It comes into use.
    Activate = object_op::ACTIVATE,
    /// It is in use no more.
    Deactivate = object_op::DEACTIVATE,
    /// Its destroy function.
    Destroy = object_op::DESTROY,
    /// The program says that its life is over.
    Free = object_op::FREE,
    /// It is used in a way that changes no state.
    AssertInit = object_op::ASSERT_INIT,
    /// The program moves it on in its own count of states.
    ActiveState = object_op::ACTIVE_STATE,
    /// Its memory goes.
    NoObjFreed = object_op::NO_OBJ_FREED,
}

impl State {
    /// All of them, by value.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Init, Self::Inactive, Self::Active, Self::Destroyed, Self::NotAvailable];
}

impl Operation {
    /// All of them; the value of the first is 1.
    pub const ALL: [Self; 9] = [
        Self::Init,
        Self::InitOnStack,
        Self::Activate,
        Self::Deactivate,
        Self::Destroy,
        Self::Free,
        Self::AssertInit,
        Self::ActiveState,
        Self::NoObjFreed,
    ];
}

/// What a type's rules say beyond the kernel's: a set of bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(pub u32);

impl Rules {
    /// The kernel's.
    pub const KERNEL: Self = Self(0);
    /// An init of an initialised object that is not in use is a fault.
    pub const INIT_ONCE: Self = Self(1 << 0);
    /// An init of a destroyed object is none.
    pub const REINIT: Self = Self(1 << 1);
    /// It may be initialised statically: of an unknown one the type is asked.
    pub const STATIC: Self = Self(1 << 2);
    /// Memory may not go with one in it that was initialised by its function and not destroyed.
    pub const MUST_DESTROY: Self = Self(1 << 3);
    /// A destroy or a free of an object in use is no fault: it ends the use.
    pub const DESTROY_ACTIVE_OK: Self = Self(1 << 4);
    /// Several may use it at once: it is active until each activation has had its deactivation.
    pub const ACTIVATE_ACTIVE_OK: Self = Self(1 << 5);
    /// A destroy is a use, too: of an unknown object the type is asked, and one that was never
    /// initialised is a fault.
    pub const DESTROY_KNOWN: Self = Self(1 << 6);
    /// A use that changes no state is a fault of a destroyed object.
    pub const ASSERT_ALIVE: Self = Self(1 << 7);
    /// Memory may be used again without an init that is seen: a destroyed object is still there
    /// only as long as its fingerprint is what it was when it was destroyed.
    pub const FINGERPRINT: Self = Self(1 << 8);

    /// All of both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `rule` is one of them.
    pub const fn has(self, rule: Self) -> bool {
        self.0 & rule.0 != 0
    }
}

/// The verdict on an operation in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// It is a fault.
    Fault(u8),
    /// It is a fault if the type has the rule.
    IfRule(Rules, u8),
    /// It is a fault unless the type has the rule.
    UnlessRule(Rules, u8),
    /// It is a fault unless the object's own count of states is what it should be.
    IfCount(u8),
    /// Ask whether it is initialised statically.
    Ask,
    /// Ask if the type has the rule; else nothing.
    AskIfRule(Rules),
}

/// A cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What is to be said.
    pub verdict: Verdict,
    /// The state that follows if that is nothing.
    pub fine: State,
    /// The state that follows a fault.
    pub fault: State,
}

/// Rows are states, columns are operations, in the order of their values.
pub type Table = [[Cell; Operation::ALL.len()]; State::ALL.len()];

/// The cell of an operation in a state.
pub const fn cell(table: &Table, state: State, op: Operation) -> Cell {
    table[state as usize][op as usize - 1]
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The object's next state, after a fault of that kind if there is one.
    To(State, Option<u8>),
    /// It depends on whether it is initialised statically: if so begin in `Init`, else in
    /// `NotAvailable`.
    Ask,
}

/// What an operation does to an object in a state, of a type with these rules. `counts` says
/// whether the object's own count of states is what it should be.
pub fn step(table: &Table, state: State, op: Operation, rules: Rules, counts: bool) -> Step {
    let Cell { verdict, fine, fault } = cell(table, state, op);
    let (is_fault, kind) = match verdict {
        Verdict::Fine => (false, 0),
        Verdict::Fault(kind) => (true, kind),
        Verdict::IfRule(rule, kind) => (rules.has(rule), kind),
        Verdict::UnlessRule(rule, kind) => (!rules.has(rule), kind),
        Verdict::IfCount(kind) => (!counts, kind),
        Verdict::Ask => return Step::Ask,
        Verdict::AskIfRule(rule) if rules.has(rule) => return Step::Ask,
        Verdict::AskIfRule(_) => (false, 0),
    };
    if is_fault { Step::To(fault, Some(kind)) } else { Step::To(fine, None) }
}

const fn ok(fine: State) -> Cell {
    Cell { verdict: Verdict::Fine, fine, fault: fine }
}

const fn bad(kind: u8, fault: State) -> Cell {
    Cell { verdict: Verdict::Fault(kind), fine: fault, fault }
}

const fn bad_if(rule: Rules, kind: u8, next: State) -> Cell {
    Cell { verdict: Verdict::IfRule(rule, kind), fine: next, fault: next }
}

const fn bad_unless(rule: Rules, kind: u8, fine: State, fault: State) -> Cell {
    Cell { verdict: Verdict::UnlessRule(rule, kind), fine, fault }
}

const fn counted(kind: u8, fine: State, fault: State) -> Cell {
    Cell { verdict: Verdict::IfCount(kind), fine, fault }
}

const ASK: Cell = Cell { verdict: Verdict::Ask, fine: State::None, fault: State::None };
const ASK_DESTROY: Cell = Cell { verdict: Verdict::AskIfRule(Rules::DESTROY_KNOWN), ..ASK };

use State::{Active, Destroyed, Inactive, Init, None as Untracked};

const TWICE: Cell = bad_if(Rules::INIT_ONCE, fault::INIT_TWICE, Init);
const IN_USE: Cell = bad(fault::INIT_ACTIVE, Active);
const AGAIN: Cell = bad_unless(Rules::REINIT, fault::USE_AFTER_DESTROY, Init, Destroyed);
const UNKNOWN: Cell = bad(fault::UNINITIALISED, Untracked);
const DEAD: Cell = bad(fault::USE_AFTER_DESTROY, Destroyed);
const ENDS_USE: Rules = Rules::DESTROY_ACTIVE_OK;

/// The table.
pub static TABLE: Table = [
    // None: not tracked.
    [ok(Init), ok(Init), ASK, ASK, ASK_DESTROY, ok(Untracked), ASK, ASK, ok(Untracked)],
    // Init
    [
        TWICE,
        TWICE,
        ok(Active),
        ok(Inactive),
        ok(Destroyed),
        ok(Untracked),
        ok(Init),
        bad(fault::WRONG_STATE, Init),
        bad_if(Rules::MUST_DESTROY, fault::NEVER_DESTROYED, Untracked),
    ],
    // Inactive
    [
        TWICE,
        TWICE,
        ok(Active),
        ok(Inactive),
        ok(Destroyed),
        ok(Untracked),
        ok(Inactive),
        bad(fault::WRONG_STATE, Inactive),
        bad_if(Rules::MUST_DESTROY, fault::NEVER_DESTROYED, Untracked),
    ],
    // Active: as in the kernel, it stays so after a fault; a fixup may change it.
    [
        IN_USE,
        IN_USE,
        bad_unless(Rules::ACTIVATE_ACTIVE_OK, fault::WRONG_STATE, Active, Active),
        counted(fault::WRONG_STATE, Inactive, Active),
        bad_unless(ENDS_USE, fault::DESTROY_ACTIVE, Destroyed, Active),
        bad_unless(ENDS_USE, fault::GONE_ACTIVE, Untracked, Active),
        ok(Active),
        counted(fault::WRONG_STATE, Active, Active),
        bad(fault::GONE_ACTIVE, Untracked),
    ],
    // Destroyed
    [
        AGAIN,
        AGAIN,
        DEAD,
        DEAD,
        bad(fault::DESTROY_TWICE, Destroyed),
        ok(Untracked),
        bad_if(Rules::ASSERT_ALIVE, fault::USE_AFTER_DESTROY, Destroyed),
        DEAD,
        ok(Untracked),
    ],
    // NotAvailable: not tracked, and the type says that it is not initialised statically.
    [
        ok(Init),
        ok(Init),
        UNKNOWN,
        UNKNOWN,
        bad_if(Rules::DESTROY_KNOWN, fault::UNINITIALISED, Untracked),
        ok(Untracked),
        UNKNOWN,
        UNKNOWN,
        ok(Untracked),
    ],
];
