//! What debugobjects met: what was done to an object in which state, and how it came to be in that.

mod name;
pub mod words;

use std::borrow::Cow;

use lockwright_ledger::rows::object::{
    ObjectFinding as Row, ObjectType, object_end, object_fault, object_op, object_state,
    object_type,
};

use crate::action::{Action, Change, ObjectAction};
use crate::finding::{Details, Finding, Grade, Kind, Step, ThreadInfo, Told};
use crate::lockdep::draft::Draft;
use crate::lockdep::teller::{Cast, Teller};
use crate::lockdep::words as lock_words;
use words::{Gone, Verb, Words};

/// What was found of the objects of one process.
pub(crate) fn find(teller: &Teller<'_, '_>) -> Vec<Draft> {
    let rows = teller.model.ledger.rows::<Row>();
    rows.filter_map(|(_, row)| Some(Case::new(teller, row)?.draft())).collect()
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

/// One row, with what its story needs.
struct Case<'t, 'm, 'a> {
    teller: &'t Teller<'m, 'a>,
    row: Row,
    kind: Kind,
    grade: Grade,
    words: &'static Words,
    gone: Gone,
    /// The object alone.
    cast: Cast,
    /// Equal for objects that are the same to a reader.
    identity: String,
    thread: ThreadInfo,
}

impl<'t, 'm, 'a> Case<'t, 'm, 'a> {
    fn new(teller: &'t Teller<'m, 'a>, row: Row) -> Option<Self> {
        let (kind, grade) = verdict(row.fault)?;
        let ty = teller.model.ledger.get::<ObjectType>(row.type_id).unwrap_or_default();
        let words = words::of(ty.builtin);
        let own = teller.model.ledger.text(ty.name);
        let name::Called { named, info, identity } = name::of(teller.model, &row, words, &own);
        Some(Self {
            teller,
            kind,
            grade,
            words,
            gone: words::gone(row.how),
            cast: Cast::of_object(named, info),
            identity,
            thread: teller.model.thread(row.thread),
            row,
        })
    }

    fn draft(self) -> Draft {
        let (row, model) = (&self.row, self.teller.model);
        let key = format!(
            "object\n{}\n{}\n{}\n{}\n{}",
            row.fault,
            match row.how {
                // Whether its frame shows to be gone before it comes again is chance.
                object_end::REUSED => object_end::FRAME,
                how => how,
            },
            self.identity,
            model.place(match row.fault {
                // One destruction too early has many uses after it, and many paths may lead to an end.
                object_fault::USE_AFTER_DESTROY if row.destroy_stack != 0 => 0,
                object_fault::NEVER_DESTROYED => 0,
                _ => row.stack,
            }),
            model.place(row.destroy_stack),
        );
        let finding = Finding {
            kind: self.kind,
            grade: self.grade,
            details: Details::Told(Told {
                title: self.title(),
                evidence: self.evidence(),
                help: self.help(),
            }),
            steps: self.steps(),
            pid: model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
            also: row.repeats.into(),
            locks: self.cast.infos,
        };
        // As misuse of locks it says nothing of orders.
        Draft { finding, key, insts: Vec::new(), classes: Vec::new() }
    }

    /// The object in a sentence.
    fn name(&self) -> String {
        self.cast.names[0].quoted()
    }

    fn title(&self) -> String {
        let (row, words, name) = (&self.row, self.words, self.name());
        let (init, destroyed) = (words.init.then, words.destroy.then);
        let in_use = words.in_use;
        let ends = || {
            let (before, after) = self.gone.now;
            format!("{before}{name}{after}")
        };
        match row.fault {
            object_fault::INIT_TWICE => {
                format!("{name} is {init} again without having been {destroyed}")
            }
            object_fault::INIT_ACTIVE => format!("{name} is {init} again while it is {in_use}"),
            object_fault::UNINITIALISED => {
                let done = if row.op == object_op::DESTROY { destroyed } else { "used" };
                format!("{name} is {done} without ever having been {init}")
            }
            object_fault::USE_AFTER_DESTROY if self.begins() => {
                format!("{name} is {init} again after it was {destroyed}")
            }
            object_fault::USE_AFTER_DESTROY => format!("{name} is used after it was {destroyed}"),
            object_fault::DESTROY_TWICE => format!("{name} is {destroyed} twice"),
            object_fault::DESTROY_ACTIVE => {
                format!("{name} is {destroyed} while it is {in_use}")
            }
            object_fault::GONE_ACTIVE => format!("{} while it is {in_use}", ends()),
            object_fault::NEVER_DESTROYED => {
                format!("{name} was not {destroyed} before {}", self.gone.then)
            }
            _ => match self.states() {
                Some((expected, found)) if row.op == object_op::ACTIVE_STATE => {
                    format!("{name} is in state {found} where the program expects state {expected}")
                }
                Some((expected, found)) => format!(
                    "{name} is {} in state {found} of its own instead of {expected}",
                    self.done()
                ),
                None => format!("{name} is {} {}", self.done(), self.state()),
            },
        }
    }

    /// The state of the program's own that it should have been in, and the one that it was in, if that is what is
    /// wrong.
    fn states(&self) -> Option<(u32, u32)> {
        let row = &self.row;
        let counts = matches!(row.op, object_op::ACTIVE_STATE | object_op::DEACTIVATE);
        let states = || ((row.expected >> 32) as u32, row.expected as u32);
        (counts && row.was == object_state::ACTIVE).then(states)
    }

    /// The state that it was in, after what was done to it.
    fn state(&self) -> String {
        match self.row.was {
            object_state::INIT | object_state::INACTIVE => {
                format!("while it is not {}", self.words.in_use)
            }
            object_state::ACTIVE => format!("while it is {}", self.words.in_use),
            object_state::DESTROYED => format!("after it was {}", self.words.destroy.then),
            _ => format!("without having been {}", self.words.init.then),
        }
    }

    /// The operation is an initialisation.
    fn begins(&self) -> bool {
        matches!(self.row.op, object_op::INIT | object_op::INIT_ON_STACK)
    }

    /// The operation's participle.
    fn done(&self) -> &'static str {
        match self.row.op {
            _ if self.begins() => self.words.init.then,
            object_op::ACTIVATE if self.words.builtin == object_type::OWN => "activated",
            object_op::DEACTIVATE if self.words.builtin == object_type::OWN => "deactivated",
            object_op::DESTROY => self.words.destroy.then,
            object_op::FREE | object_op::NO_OBJ_FREED => "freed",
            object_op::ACTIVE_STATE => "moved on in states of its own",
            _ => "used",
        }
    }

    fn evidence(&self) -> Vec<String> {
        let row = &self.row;
        let mut lines = match row.fault {
            object_fault::INIT_TWICE => vec![
                format!("{}, and nothing {} it in between", self.made(), self.words.destroy.then),
                "a thread that uses it at that moment goes on with what is overwritten".into(),
            ],
            object_fault::INIT_ACTIVE => {
                vec![self.in_use(), "what its user relies on is overwritten".into()]
            }
            object_fault::UNINITIALISED => {
                vec![format!("nothing was seen to have {} it", self.words.init.then)]
            }
            object_fault::USE_AFTER_DESTROY if self.begins() => {
                vec![format!("{}, and nothing freed it in between", self.ended())]
            }
            object_fault::USE_AFTER_DESTROY => {
                let made = self.words.init.then;
                vec![format!("{}, and nothing {made} it again in between", self.ended())]
            }
            object_fault::DESTROY_TWICE => vec![format!("{} before", self.ended())],
            object_fault::DESTROY_ACTIVE => vec![self.in_use()],
            object_fault::GONE_ACTIVE => vec![self.in_use(), self.gone.evidence.into()],
            object_fault::NEVER_DESTROYED => vec![
                format!("{}, and nothing {} it since", self.made(), self.words.destroy.then),
                self.gone.evidence.into(),
            ],
            _ if self.states().is_some() => {
                vec![
                    "these states are the program's own: how far it has come with the object"
                        .into(),
                ]
            }
            _ => Vec::new(),
        };
        let undefined = match row.fault {
            object_fault::UNINITIALISED => "what its use without that does is undefined",
            object_fault::USE_AFTER_DESTROY => "what its use after that does is undefined",
            object_fault::DESTROY_TWICE => "what doing that again does is undefined",
            object_fault::DESTROY_ACTIVE => "what the end of an object in use does is undefined",
            _ => "",
        };
        // What it does to objects of its own the program knows.
        if !undefined.is_empty() && self.words.builtin != object_type::OWN {
            lines.push(undefined.into());
        }
        let has_told =
            matches!(row.fault, object_fault::INIT_TWICE | object_fault::NEVER_DESTROYED);
        if self.init().is_some_and(|past| !has_told && !past.is_told() && self.is_parents(past)) {
            lines.push(self.made());
        }
        lines.extend(words::in_the_kernels(row.op, row.was));
        if row.fixed != 0 {
            lines.push("a fixup of the program's has repaired its state".into());
        }
        if let Some(hint) = self.teller.model.symbol(row.hint) {
            lines.push(format!("the program hints at which one it is: `{hint}`"));
        }
        lines
    }

    /// Who initialised it.
    fn made(&self) -> String {
        self.told(self.init(), self.words.init)
    }

    /// Who destroyed it.
    fn ended(&self) -> String {
        self.told(self.destruction(), self.words.destroy)
    }

    /// Who did what to it before.
    fn told(&self, past: Option<Past>, verb: Verb) -> String {
        match past {
            Some(past) if self.is_parents(past) && past.thread == 0 => {
                format!("it was {} in the parent process, before the fork", verb.then)
            }
            Some(past) if self.is_parents(past) => {
                format!("{} of the parent process {} it before the fork", self.who(past), verb.then)
            }
            Some(past) if past.is_told() => format!("{} {} it", self.who(past), verb.then),
            _ => format!("it was {}", verb.then),
        }
    }

    /// Who uses it.
    fn in_use(&self) -> String {
        if let Some(user) = self.user() {
            return format!(
                "{} {} it at that moment",
                lock_words::thread(&user.thread),
                self.words.user
            );
        }
        match self.activity() {
            Some(past)
                if past.is_told() && self.row.active_op == u32::from(object_op::ACTIVATE) =>
            {
                let told = self.told(Some(past), self.words.activate);
                format!("{told}, and has not {} it since", self.words.deactivate.then)
            }
            _ => format!("it was {} at that moment", self.words.in_use),
        }
    }

    fn help(&self) -> Vec<String> {
        let Words { maker, ender, idle, destroy, builtin, .. } = *self.words;
        let destroyed = destroy.then;
        let by = |call: &str| if call.is_empty() { String::new() } else { format!(" ({call})") };
        let lines: Vec<Cow<'static, str>> = match self.row.fault {
            object_fault::INIT_TWICE => vec![
                "initialise it once, before other threads can reach it, or with pthread_once"
                    .into(),
                format!("or have it {destroyed} before{}", by(ender)).into(),
            ],
            object_fault::INIT_ACTIVE => vec![
                format!("{idle}, and have it {destroyed}, before it is initialised again").into(),
            ],
            object_fault::UNINITIALISED => {
                vec![format!("initialise it before its first use{}", by(maker)).into()]
            }
            object_fault::USE_AFTER_DESTROY if self.begins() => {
                vec!["free it first, or let the rules of its type allow a new life (reinit)".into()]
            }
            object_fault::USE_AFTER_DESTROY if builtin == object_type::TIMER => {
                vec!["delete it after its last use, and forget its id then".into()]
            }
            object_fault::USE_AFTER_DESTROY => {
                vec!["destroy it after its last use, or initialise it again before the next".into()]
            }
            object_fault::DESTROY_TWICE => {
                vec!["look for the second of two paths that clean up, and let one do it".into()]
            }
            object_fault::DESTROY_ACTIVE => {
                vec![format!("{idle} before it is {destroyed}").into()]
            }
            // Nothing destroys one.
            object_fault::GONE_ACTIVE if builtin == object_type::ONCE => {
                vec![format!("{idle} before its memory goes").into()]
            }
            object_fault::GONE_ACTIVE => vec![
                format!("{idle}, and have it {destroyed}{}, before its memory goes", by(ender))
                    .into(),
                self.gone.help.into(),
            ],
            object_fault::NEVER_DESTROYED => vec![match self.row.how {
                object_end::EXIT => format!(
                    "have it {destroyed}{} by whoever used it last, or leave it: nothing comes after",
                    by(ender)
                )
                .into(),
                _ => format!("have it {destroyed}{} before its memory goes", by(ender)).into(),
            }],
            _ => vec!["look for the path on which a step was left out, or made twice".into()],
        };
        lines.into_iter().filter(|line| !line.is_empty()).map(Cow::into_owned).collect()
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
            _ if self.begins() => ObjectAction::Does(Change::Init),
            object_op::ACTIVATE => ObjectAction::Does(Change::Activate),
            object_op::DEACTIVATE => ObjectAction::Does(Change::Deactivate),
            object_op::DESTROY => ObjectAction::Does(Change::Destroy),
            object_op::FREE | object_op::NO_OBJ_FREED => ObjectAction::Ends(row.how),
            object_op::ACTIVE_STATE => ObjectAction::ChangesState,
            _ => ObjectAction::Uses,
        };
        let action = self.action(action);
        let held = self.teller.held(&self.cast, row.node);
        let stack = self.teller.model.stack(row.stack);
        Some(Step { thread: self.thread.clone(), lock: 0, action, held, stack })
    }

    fn action(&self, action: ObjectAction) -> Action {
        Action::Object(self.words.builtin, action)
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
        let (row, user) = (&self.row, self.words.user);
        let is_known = row.other_thread != 0 || row.other_stack != 0;
        // Whoever used it and went on is no more than that; and of the parent's threads none is here.
        let went_on = |past: Past| self.is_parents(past) && past.thread == row.other_thread;
        if !is_known || user.is_empty() || self.last_use().is_some_and(went_on) {
            return None;
        }
        let model = self.teller.model;
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
        let header = self.teller.model.ledger.header();
        header.parent_token != 0 && past.ns != 0 && past.ns < header.start_ns
    }

    fn thread_of(&self, past: Past) -> ThreadInfo {
        let Teller { model, sources, .. } = self.teller;
        match self.is_parents(past) {
            // Its number is the parent's.
            true => sources.parents_thread(model.ledger, past.thread),
            false => model.thread(past.thread),
        }
    }

    fn who(&self, past: Past) -> String {
        lock_words::thread(&self.thread_of(past))
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
            stack: self.teller.model.stack(stack),
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

    /// There is more to tell than that it was done: by whom, or where. Of what was done before a fork there is not.
    fn is_told(&self) -> bool {
        self.thread != 0 || self.stack != 0
    }
}
