//! How lockwright tells what it found: all sentences, what counts of it, and every format.

pub mod attached;
pub mod ci;
mod coverage_json;
pub mod glob;
pub mod html;
pub mod json;
pub mod kinds_page;
pub mod listing;
pub mod live;
pub mod lockmeter;
pub mod prose;
pub mod reports;
pub mod sarif;
pub mod text;
pub mod traced;
pub mod verdict;
mod waiting_json;
