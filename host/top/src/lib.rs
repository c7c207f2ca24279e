//! The screen of `lockwright top`: from moments of a program, and keys, to the cells of a terminal.
//!
//! [`Board`] is what is shown and how; it knows nothing of a terminal or of where moments come from. [`draw`] shows it, and
//! [`snapshot`] is the same for a pipe.

mod board;
mod cells;
mod keys;
mod screen;
pub mod snapshot;
mod style;
mod views;

pub use board::{Board, Wish};
pub use keys::Key;
pub use ratatui;
pub use screen::draw;
