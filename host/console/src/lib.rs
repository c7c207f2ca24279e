//! The parts that `lockwright` and `lockwright-lab` share: options, standard streams, files, errors and help.
//!
//! Nothing here knows what a command does.

pub mod args;
pub mod error;
pub mod fresh_line;
pub mod inherited;
pub mod man;
pub mod manual;
pub mod own_stack;
pub mod plain;
pub mod seed;
pub mod shell;
pub mod sink;
pub mod status;
pub mod streams;
pub mod usage_error;
pub mod whole_file;
