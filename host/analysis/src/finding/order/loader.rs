//! The locks of the C library's loader.

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// What runs as a library is loaded or unloaded does so with the loader's lock held.
    HeldWhileLoading,
    /// The callback of `dl_iterate_phdr` runs with the lock of the loader's list held.
    HeldInCallback,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Load and unload nothing with the lock held that is taken while loading, or do not take it
    /// then.
    LoadWithoutLock {
        /// The loader's lock among the locks.
        loader: usize,
    },
    /// Call `dl_iterate_phdr` without the lock held that is taken in its callback, or do not take it
    /// there.
    ListWithoutLock {
        /// The lock of the loader's list among the locks.
        list: usize,
    },
    /// Join the thread outside of what runs while loading, or have the thread load nothing.
    JoinOutsideLoader {
        /// The end of the thread among the locks.
        end: usize,
    },
}
