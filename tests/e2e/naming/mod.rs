//! Locks, functions and lines have their names in reports.

pub mod debuginfod;
pub mod generated_code;
pub mod hostile_names;
pub mod library_frames;
pub mod members;
pub mod modules;
pub mod owners;
pub mod python_lines;
pub mod successors;
pub mod wrappers;
