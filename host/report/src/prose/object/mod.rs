//! Faults in the lives of objects, in words. Each kind of fault is a file.

mod case;
mod destroy_active;
mod destroy_twice;
mod gone_active;
mod init_active;
mod init_twice;
mod kind;
mod never_destroyed;
#[cfg(test)]
mod testing;
mod uninitialised;
mod use_after_destroy;
pub mod words;
mod wrong_state;

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::object::ObjectFault;
use lockwright_ledger::rows::object::{object_fault, object_type};

use super::sentences::Sentences;
use case::Case;
use kind::Kind;

/// The words for the fault of `case`.
fn kind(case: &Case<'_>) -> &'static dyn Kind {
    match case.met.fault {
        object_fault::INIT_TWICE => &init_twice::InitTwice,
        object_fault::INIT_ACTIVE => &init_active::InitActive,
        object_fault::UNINITIALISED => &uninitialised::Uninitialised,
        object_fault::USE_AFTER_DESTROY if case.begins() => &use_after_destroy::BeginsAgain,
        object_fault::USE_AFTER_DESTROY => &use_after_destroy::UseAfterDestroy,
        object_fault::DESTROY_TWICE => &destroy_twice::DestroyTwice,
        object_fault::DESTROY_ACTIVE => &destroy_active::DestroyActive,
        object_fault::GONE_ACTIVE => &gone_active::GoneActive,
        object_fault::NEVER_DESTROYED => &never_destroyed::NeverDestroyed,
        _ => &wrong_state::WrongState,
    }
}

impl Sentences for ObjectFault {
    fn title(&self, finding: &Finding) -> String {
        let case = Case::new(finding, self);
        kind(&case).title(&case)
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let case = Case::new(finding, self);
        let kind = kind(&case);
        let mut lines = kind.evidence(&case);
        // The program knows its own operations on objects of its own.
        if !kind.undefined().is_empty() && case.words.builtin != object_type::OWN {
            lines.push(kind.undefined().into());
        }
        if self.made_unshown && !kind.names_maker() {
            lines.push(case.made());
        }
        lines.extend(words::in_the_kernels(self.op, self.was));
        if self.fixed {
            lines.push("a fixup of the program's has repaired its state".into());
        }
        if let Some(hint) = &self.hint {
            lines.push(format!("the program hints at which one it is: `{hint}`"));
        }
        lines
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let case = Case::new(finding, self);
        let lines = kind(&case).help(&case);
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }
}
