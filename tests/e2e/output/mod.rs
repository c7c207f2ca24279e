//! The commands, their options, and the files and pages they write.

pub mod ci;
pub mod complete;
pub mod cost_line;
pub mod doctor;
pub mod errors;
pub mod forked_child;
pub mod instructions;
pub mod live;
pub mod lockmeter_faults;
pub mod man_pages;
pub mod merge;
pub mod meter_command;
pub mod meter_diff;
pub mod options;
pub mod pages;
pub mod readers;
mod requests;
pub mod short_program;
pub mod speedscope;
pub mod tune;
