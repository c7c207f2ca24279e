//! The ledger: one file per watched process, written by the engines through a shared mapping and
//! read, live or later, by the command-line tool.
//!
//! Three rules hold everywhere (docs/ledger-format.md has the bytes):
//!
//! - **Payload first, state last.** A row counts once its first word, the state, is not zero; the
//!   writer stores it with Release after everything else. A `kill -9` loses at most the row that was
//!   being written.
//! - **Ids, not pointers.** Rows name each other by index within a table, or by number where rows come
//!   and go (`numbered.rs`); 0 means "none".
//! - **A reader trusts nothing.** Every offset, length and id is checked; a damaged file yields an
//!   error or fewer rows, never a panic.

#![cfg_attr(not(feature = "reader"), no_std)]

pub mod histogram;
pub mod inlined;
pub mod layout;
mod numbered;
pub mod readers_word;
pub mod rows;
pub mod site;
pub mod steering;
pub mod timeline;
pub mod writer;

#[cfg(feature = "reader")]
mod arch;
#[cfg(feature = "reader")]
mod claims;
#[cfg(feature = "reader")]
pub mod events;
#[cfg(feature = "reader")]
pub mod file;
#[cfg(feature = "reader")]
pub mod live;
#[cfg(feature = "reader")]
mod part_copy;
#[cfg(feature = "reader")]
pub mod reader;

pub use layout::{FORMAT_VERSION, Header, MAGIC, TableId};
#[cfg(feature = "reader")]
pub use part_copy::Growth;
#[cfg(feature = "reader")]
pub use reader::{GeneratedCode, Ledger, OpenError, Peek};
pub use writer::Writer;
