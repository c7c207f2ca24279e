//! What is known of a program while it runs, at a moment: what `lockwright top` shows, records and
//! prints. A ledger, a look into a process and a recording all become a [`Moment`].
//!
//! All strings are one line without controls.

mod attached;
mod found;
mod futexes;
mod kernel;
mod measured;
mod moment;
mod places;
mod rates;
mod tree;

pub use attached::{Looks, of_process};
pub use found::{add_findings, add_waits};
pub use futexes::of_futexes;
pub use kernel::of_kernel;
pub use measured::{About, of_report};
pub use moment::{
    Advice, Blame, Finding, Held, Lock, Moment, Place, Process, Rates, Site, Thread, Totals, Wait,
};
pub use places::Places;
pub use tree::{Branch, tree};
