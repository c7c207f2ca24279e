//! What the engines of one process share: the ledger, and the call stacks in it. lockdep's core keeps
//! both for the other engines, too.

use lockwright_ledger::Writer;

use crate::capture::Capture;

/// See the module.
pub trait Shared {
    /// The ledger.
    fn writer(&mut self) -> &mut Writer;
    /// Interns the stack that `capture` takes; 0 where there is none or no room.
    fn captured(&mut self, capture: Capture<'_>) -> u32;
    /// What stands for a call site also when its code has gone and comes again; `capture` is asked for its stack if that is needed.
    fn lasting_site(&mut self, site: u64, capture: Capture<'_>) -> u64;
}
