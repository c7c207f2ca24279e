//! The faults that debugobjects found: each operation on an object in the wrong state, and how the
//! object came to be in that state.

mod name;

use lockwright_ledger::rows::object::{
    ObjectFinding as Row, ObjectType, object_end, object_fault, object_op, object_state,
    object_type,
};

use crate::finding::action::{Action, Change, ObjectAction};
use crate::finding::object::{By, InUse, ObjectFault};
use crate::finding::{Details, Finding, Frame, Grade, Kind, Step, ThreadInfo, object_types};
use crate::symbolize::BEGINNINGS;
use crate::view::candidate::Candidate;
use crate::view::process_view::{InvolvedLocks, ProcessView};

/// What was found of the objects of one process.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let rows = view.model.ledger.rows::<Row>();
    rows.filter_map(|(_, row)| Some(Case::new(view, row)?.candidate())).collect()
}

/// What a report calls a fault, and how sure it is that it does harm. `None`: of a later version.
fn verdict(fault: u8) -> Option<(Kind, Grade)> {
    Some(match fault {
        // Where nobody uses it at that moment nothing happens.
        object_fault::INIT_TWICE => (Kind::ObjectInitialisedTwice, Grade::Possible),
        object_fault::INIT_ACTIVE => (Kind::ObjectInitialisedActive, Grade::Likely),
        object_fault::UNINITIALISED => (Kind::ObjectUninitialised, Grade::Likely),
        object_fault::USE_AFTER_DESTROY | object_fault::DESTROY_TWICE => {
            (Kind::UseAfterDestroy, Grade::Likely)
        }
        object_fault::DESTROY_ACTIVE => (Kind::ObjectDestroyedActive, Grade::Likely),
        object_fault::GONE_ACTIVE => (Kind::ObjectGoneActive, Grade::Likely),
        object_fault::NEVER_DESTROYED => (Kind::ObjectNeverDestroyed, Grade::Untidy),
        object_fault::WRONG_STATE => (Kind::ObjectWrongState, Grade::Likely),
        _ => return None,
    })
}

/// An object is initialised on a stack where one was that nobody had destroyed, and it is the same variable: of a function in
/// which the thread began, which has not returned since, and whose variables on the stack last as long as it does.
fn is_initialised_twice(view: &ProcessView<'_, '_>, row: &Row) -> bool {
    let model = view.model;
    // Attributes may be initialised again.
    let is_once = |ty: ObjectType| {
        use object_type::{CND, MTX, MUTEX, SPIN};
        matches!(ty.builtin, MUTEX..=SPIN | MTX | CND)
    };
    let lasts = |stack| {
        let frames = model.stack(stack);
        let (function, beginning) = frames.split_first()?;
        let is_beginning = |frame: &Frame| {
            let name = frame.function.as_deref().unwrap_or_default();
            name == "_start" || BEGINNINGS.contains(&name)
        };
        let is_outermost = !beginning.is_empty() && beginning.iter().all(is_beginning);
        let start = function.offset.checked_sub(function.function_offset?)?;
        let lasts = is_outermost && model.symbols.variables_last(stack);
        lasts.then(|| (function.module.clone(), start))
    };
    row.fault == object_fault::NEVER_DESTROYED
        && row.how == object_end::REUSED_ON_STACK
        && model.ledger.get::<ObjectType>(row.type_id).is_some_and(is_once)
        && row.thread == row.init_thread
        && row.init_ns >= model.ledger.header().start_ns
        && lasts(row.init_stack).is_some_and(|function| lasts(row.stack) == Some(function))
}

/// One row, with what its story needs.
struct Case<'t, 'm, 'a> {
    view: &'t ProcessView<'m, 'a>,
    row: Row,
    kind: Kind,
    grade: Grade,
    /// Its type, as [`types`] knows it.
    builtin: u32,
    /// The object alone.
    involved: InvolvedLocks,
    /// Equal for objects that are the same to a reader.
    identity: String,
    thread: ThreadInfo,
}

impl<'t, 'm, 'a> Case<'t, 'm, 'a> {
    fn new(view: &'t ProcessView<'m, 'a>, mut row: Row) -> Option<Self> {
        if is_initialised_twice(view, &row) {
            row.fault = object_fault::INIT_TWICE;
            row.op = object_op::INIT_ON_STACK;
            row.how = object_end::NONE;
        }
        let (kind, grade) = verdict(row.fault)?;
        let ty = view.model.ledger.get::<ObjectType>(row.type_id).unwrap_or_default();
        let builtin = object_types::known(ty.builtin);
        let own = view.model.ledger.text(ty.name);
        let name::Called { named, info, identity } = name::of(view.model, &row, builtin, &own);
        Some(Self {
            view,
            kind,
            grade,
            builtin,
            involved: InvolvedLocks::of_object(named, info),
            identity,
            thread: view.model.thread(row.thread),
            row,
        })
    }

    fn candidate(self) -> Candidate {
        let (row, model) = (&self.row, self.view.model);
        let key = format!(
            "object\n{}\n{}\n{}\n{}\n{}",
            row.fault,
            match row.how {
                // Whether its frame shows to be gone before it comes again is chance.
                object_end::REUSED | object_end::REUSED_ON_STACK => object_end::FRAME,
                how => how,
            },
            self.identity,
            model.place(match row.fault {
                // One destruction too early has many uses after it, and many paths may lead to an
                // end.
                object_fault::USE_AFTER_DESTROY if row.destroy_stack != 0 => 0,
                object_fault::NEVER_DESTROYED => 0,
                _ => row.stack,
            }),
            model.place(row.destroy_stack),
        );
        let finding = Finding {
            kind: self.kind,
            grade: self.grade,
            details: Details::Object(self.fault()),
            steps: self.steps(),
            pid: model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: row.repeats.into(),
            locks: self.involved.infos,
        };
        // As misuse of locks it says nothing of orders.
        Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
    }

    /// The whole description of the fault.
    fn fault(&self) -> ObjectFault {
        let row = &self.row;
        let init = self.init();
        ObjectFault {
            builtin: self.builtin,
            fault: row.fault,
            op: row.op,
            was: row.was,
            how: row.how,
            states: self.states(),
            made: self.by(init),
            made_unshown: init.is_some_and(|past| !past.is_told() && self.is_parents(past)),
            ended: self.by(self.destruction()),
            in_use: self.in_use(),
            fixed: row.fixed != 0,
            hint: self.view.model.symbol(row.hint),
        }
    }

    /// The state of the program's own that it should have been in, and the one that it was in, if
    /// that is what is wrong.
    fn states(&self) -> Option<(u32, u32)> {
        let row = &self.row;
        let counts = matches!(row.op, object_op::ACTIVE_STATE | object_op::DEACTIVATE);
        let states = || ((row.expected >> 32) as u32, row.expected as u32);
        (counts && row.was == object_state::ACTIVE).then(states)
    }

    /// Who did what was done to it before.
    fn by(&self, past: Option<Past>) -> By {
        match past {
            Some(past) if self.is_parents(past) => {
                By::Parent((past.thread != 0).then(|| self.thread_of(past)))
            }
            Some(past) if past.is_told() => By::Thread(self.thread_of(past)),
            _ => By::Unknown,
        }
    }

    /// Its user.
    fn in_use(&self) -> InUse {
        if let Some(user) = self.user() {
            return InUse::Now(user.thread);
        }
        match self.activity() {
            Some(past)
                if past.is_told() && self.row.active_op == u32::from(object_op::ACTIVATE) =>
            {
                InUse::Since(self.by(Some(past)))
            }
            _ => InUse::Unknown,
        }
    }

    /// The offending operation, then the object's history.
    fn steps(&self) -> Vec<Step> {
        let active = match self.row.active_op == u32::from(object_op::DEACTIVATE) {
            true => Change::Deactivate,
            false => Change::Activate,
        };
        let past =
            |past: Option<Past>, change| Some(self.step(past.filter(Past::is_told)?, change));
        [
            self.offence(),
            past(self.init(), Change::Init),
            past(self.activity(), active),
            self.user(),
            past(self.destruction(), Change::Destroy),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// `None` at the end of a process, which no thread may have brought about.
    fn offence(&self) -> Option<Step> {
        let row = &self.row;
        if row.thread == 0 && row.stack == 0 {
            return None;
        }
        let action = match row.op {
            object_op::INIT | object_op::INIT_ON_STACK => ObjectAction::Does(Change::Init),
            object_op::ACTIVATE => ObjectAction::Does(Change::Activate),
            object_op::DEACTIVATE => ObjectAction::Does(Change::Deactivate),
            object_op::DESTROY => ObjectAction::Does(Change::Destroy),
            object_op::FREE | object_op::NO_OBJ_FREED => ObjectAction::Ends(row.how),
            object_op::ACTIVE_STATE => ObjectAction::ChangesState,
            _ => ObjectAction::Uses,
        };
        let action = self.action(action);
        let held = self.view.held(&self.involved, row.node);
        let stack = self.view.model.stack(row.stack);
        Some(Step { thread: self.thread.clone(), lock: 0, action, held, stack })
    }

    fn action(&self, action: ObjectAction) -> Action {
        Action::Object(self.builtin, action)
    }

    fn init(&self) -> Option<Past> {
        let row = &self.row;
        Past { thread: row.init_thread, stack: row.init_stack, ns: row.init_ns }.if_any()
    }

    /// What last brought it into use or out of it.
    fn last_use(&self) -> Option<Past> {
        let row = &self.row;
        Past { thread: row.active_thread, stack: row.active_stack, ns: row.active_ns }.if_any()
    }

    /// As above, unless that its user is still at it tells as much.
    fn activity(&self) -> Option<Past> {
        self.last_use().filter(|past| self.user().is_none() || self.row.other_thread != past.thread)
    }

    fn destruction(&self) -> Option<Past> {
        let row = &self.row;
        Past { thread: row.destroy_thread, stack: row.destroy_stack, ns: row.destroy_ns }.if_any()
    }

    /// The thread that is at it at that moment.
    fn user(&self) -> Option<Step> {
        let row = &self.row;
        let is_known = row.other_thread != 0 || row.other_stack != 0;
        // A thread that used it and went on is no more than that; and of the parent's threads none
        // is here.
        let went_on = |past: Past| self.is_parents(past) && past.thread == row.other_thread;
        if !is_known
            || !object_types::has_user(self.builtin)
            || self.last_use().is_some_and(went_on)
        {
            return None;
        }
        let model = self.view.model;
        Some(Step {
            thread: model.thread(row.other_thread),
            lock: 0,
            action: self.action(ObjectAction::HasInUse),
            held: Vec::new(),
            stack: model.stack(row.other_stack),
        })
    }

    /// Before the process was forked: by a thread of its parent.
    fn is_parents(&self, past: Past) -> bool {
        let header = self.view.model.ledger.header();
        header.parent_token != 0 && past.ns != 0 && past.ns < header.start_ns
    }

    fn thread_of(&self, past: Past) -> ThreadInfo {
        let ProcessView { model, sources, .. } = self.view;
        match self.is_parents(past) {
            // Its number is the parent's.
            true => sources.parents_thread(model.ledger, past.thread),
            false => model.thread(past.thread),
        }
    }

    fn step(&self, past: Past, change: Change) -> Step {
        let is_parents = self.is_parents(past);
        // Stacks of the parent's are in a ledger of its own.
        let stack = if is_parents { 0 } else { past.stack };
        Step {
            thread: self.thread_of(past),
            lock: 0,
            action: self.action(match is_parents {
                true => ObjectAction::DidInParent(change),
                false => ObjectAction::Did(change),
            }),
            held: Vec::new(),
            stack: self.view.model.stack(stack),
        }
    }
}

/// Something that was done to the object before; all 0: nothing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Past {
    thread: u32,
    stack: u32,
    /// CLOCK_MONOTONIC.
    ns: u64,
}

impl Past {
    fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// Whether the thread or the place is known. Neither is for an operation before a fork.
    fn is_told(&self) -> bool {
        self.thread != 0 || self.stack != 0
    }
}
