//! Something that others' writing nearby does not slow down.

/// On cache lines of its own: two, as processors fetch them in pairs.
#[repr(align(128))]
pub(super) struct Line<T>(pub T);
