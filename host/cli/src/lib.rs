//! The command-line side of lockwright: runs programs under the preload library, and has their
//! ledgers analysed and reported. It shares nothing with the preload library but the ledger format.

mod arch;
pub mod args;
pub mod ledger_dir;
pub mod manual;
pub mod program;
pub mod progress;
pub mod run;
