//! The formats a [`crate::finding::Report`] is shown in, one each.

pub mod json;
pub mod sarif;
pub mod text;
