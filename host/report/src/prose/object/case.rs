//! A fault, and the words that depend on the object's type and on who did what to it.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::object::{By, InUse, ObjectFault};
use lockwright_ledger::rows::object::{object_op, object_state, object_type};

use super::words::{self, Gone, Verb, Words};
use crate::prose::words as prose;

/// A fault, and the words for it.
pub struct Case<'f> {
    pub met: &'f ObjectFault,
    pub words: &'static Words,
    pub gone: Gone,
    /// The object.
    pub name: String,
}

impl<'f> Case<'f> {
    pub fn new(finding: &Finding, met: &'f ObjectFault) -> Self {
        let lock = finding.locks.first();
        Self {
            met,
            words: words::of(met.builtin),
            gone: words::gone(met.how),
            name: lock.map_or_else(|| "an object".into(), |lock| prose::quote(&lock.name)),
        }
    }

    /// The operation is an initialisation.
    pub fn begins(&self) -> bool {
        matches!(self.met.op, object_op::INIT | object_op::INIT_ON_STACK)
    }

    /// The operation's participle.
    pub fn done(&self) -> &'static str {
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

    /// The state that it was in, after what was done to it.
    pub fn state(&self) -> String {
        match self.met.was {
            object_state::INIT | object_state::INACTIVE => {
                format!("while it is not {}", self.words.in_use)
            }
            object_state::ACTIVE => format!("while it is {}", self.words.in_use),
            object_state::DESTROYED => format!("after it was {}", self.words.destroy.then),
            _ => format!("without having been {}", self.words.init.then),
        }
    }

    /// Who initialised it.
    pub fn made(&self) -> String {
        done_by(&self.met.made, self.words.init)
    }

    /// Who destroyed it.
    pub fn ended(&self) -> String {
        done_by(&self.met.ended, self.words.destroy)
    }

    /// The thread that uses it.
    pub fn in_use(&self) -> String {
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

    /// The function that initialises it, in brackets; empty if the program knows.
    pub fn by_maker(&self) -> String {
        in_brackets(self.words.maker)
    }

    /// The function that destroys it, likewise.
    pub fn by_ender(&self) -> String {
        in_brackets(self.words.ender)
    }
}

fn in_brackets(call: &str) -> String {
    if call.is_empty() { String::new() } else { format!(" ({call})") }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::testing::thread;

    #[test]
    fn who_did_it_is_said_as_far_as_it_is_known() {
        let verb = Verb { now: "makes", then: "made" };
        let told = |by: By| done_by(&by, verb);
        assert_eq!(told(By::Unknown), "it was made");
        assert_eq!(told(By::Thread(thread(2))), "thread 2 made it");
        assert_eq!(told(By::Parent(None)), "it was made in the parent process, before the fork");
        let by_parent = told(By::Parent(Some(thread(2))));
        assert_eq!(by_parent, "thread 2 of the parent process made it before the fork");
    }
}
