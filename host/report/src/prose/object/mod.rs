//! Faults in the lives of objects, in words.

use std::borrow::Cow;

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::object::{By, InUse, ObjectFault};
use lockwright_ledger::rows::object::{
    object_end, object_fault, object_op, object_state, object_type,
};

use super::object_words::{self, Gone, Verb, Words};
use super::sentences::Sentences;
use super::words as prose;

impl Sentences for ObjectFault {
    fn title(&self, finding: &Finding) -> String {
        Case::new(finding, self).title()
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        Case::new(finding, self).evidence()
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        Case::new(finding, self).help()
    }
}

/// A fault, and the words for it.
struct Case<'f> {
    met: &'f ObjectFault,
    words: &'static Words,
    gone: Gone,
    /// The object.
    name: String,
}

impl<'f> Case<'f> {
    fn new(finding: &Finding, met: &'f ObjectFault) -> Self {
        let lock = finding.locks.first();
        Self {
            met,
            words: object_words::of(met.builtin),
            gone: object_words::gone(met.how),
            name: lock.map_or_else(|| "an object".into(), |lock| prose::quote(&lock.name)),
        }
    }

    fn title(&self) -> String {
        let (met, words, name) = (self.met, self.words, &self.name);
        let (init, destroyed) = (words.init.then, words.destroy.then);
        let in_use = words.in_use;
        let ends = || {
            let (before, after) = self.gone.now;
            format!("{before}{name}{after}")
        };
        match met.fault {
            object_fault::INIT_TWICE => {
                format!("{name} is {init} again without having been {destroyed}")
            }
            object_fault::INIT_ACTIVE => format!("{name} is {init} again while it is {in_use}"),
            object_fault::UNINITIALISED => {
                let done = if met.op == object_op::DESTROY { destroyed } else { "used" };
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
            _ => match met.states {
                Some((expected, found)) if met.op == object_op::ACTIVE_STATE => {
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

    /// The state that it was in, after what was done to it.
    fn state(&self) -> String {
        match self.met.was {
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
        matches!(self.met.op, object_op::INIT | object_op::INIT_ON_STACK)
    }

    /// The operation's participle.
    fn done(&self) -> &'static str {
        match self.met.op {
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
        let met = self.met;
        let mut lines = match met.fault {
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
            _ if self.met.states.is_some() => {
                vec![
                    "these states are the program's own: how far it has come with the object"
                        .into(),
                ]
            }
            _ => Vec::new(),
        };
        let undefined = match met.fault {
            object_fault::UNINITIALISED => "what its use without that does is undefined",
            object_fault::USE_AFTER_DESTROY => "what its use after that does is undefined",
            object_fault::DESTROY_TWICE => "what doing that again does is undefined",
            object_fault::DESTROY_ACTIVE => "what the end of an object in use does is undefined",
            _ => "",
        };
        // The program knows its own operations on objects of its own.
        if !undefined.is_empty() && self.words.builtin != object_type::OWN {
            lines.push(undefined.into());
        }
        let has_told =
            matches!(met.fault, object_fault::INIT_TWICE | object_fault::NEVER_DESTROYED);
        if met.made_unshown && !has_told {
            lines.push(self.made());
        }
        lines.extend(object_words::in_the_kernels(met.op, met.was));
        if met.fixed {
            lines.push("a fixup of the program's has repaired its state".into());
        }
        if let Some(hint) = &met.hint {
            lines.push(format!("the program hints at which one it is: `{hint}`"));
        }
        lines
    }

    /// Who initialised it.
    fn made(&self) -> String {
        done_by(&self.met.made, self.words.init)
    }

    /// Who destroyed it.
    fn ended(&self) -> String {
        done_by(&self.met.ended, self.words.destroy)
    }

    /// The thread that uses it.
    fn in_use(&self) -> String {
        match &self.met.in_use {
            InUse::Now(user) => {
                format!("{} {} it at that moment", user, self.words.user)
            }
            InUse::Since(by) => format!(
                "{}, and has not {} it since",
                done_by(by, self.words.activate),
                self.words.deactivate.then
            ),
            InUse::Unknown => format!("it was {} at that moment", self.words.in_use),
        }
    }

    fn help(&self) -> Vec<String> {
        let Words { maker, ender, idle, destroy, builtin, .. } = *self.words;
        let destroyed = destroy.then;
        let by = |call: &str| if call.is_empty() { String::new() } else { format!(" ({call})") };
        let lines: Vec<Cow<'static, str>> = match self.met.fault {
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
            object_fault::NEVER_DESTROYED => vec![match self.met.how {
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
}

/// Who did something to it before.
fn done_by(by: &By, verb: Verb) -> String {
    match by {
        By::Parent(None) => format!("it was {} in the parent process, before the fork", verb.then),
        By::Parent(Some(thread)) => {
            format!("{} of the parent process {} it before the fork", thread, verb.then)
        }
        By::Thread(thread) => format!("{} {} it", thread, verb.then),
        By::Unknown => format!("it was {}", verb.then),
    }
}
