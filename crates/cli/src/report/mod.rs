//! The formats a [`crate::finding::Report`] is shown in, one file each.
