//! Long's five debugobjects patches of 2019, and what the kernel has had since 2024, each to be
//! left out.

/// A set of switches.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches(pub u32);

impl Switches {
    /// 1: threads have pools of their own.
    pub const THREAD_POOLS: Self = Self(1 << 0);
    /// 2: a thread's pool is filled from the global one, and emptied into it, 16 records at a time.
    pub const LOOKAHEAD: Self = Self(1 << 1);
    /// 3: the global pool is filled with 16 records that were allocated before its lock is taken,
    /// once for all.
    pub const BATCHED_FILL: Self = Self(1 << 2);
    /// 4: what is too much is given back to the slab at most ten times a second, 1,024 records at a
    /// time, and not at once and whole.
    pub const LAZY_FREE: Self = Self(1 << 3);
    /// 5: faults are reported after the bucket's lock is released.
    pub const TELL_UNLOCKED: Self = Self(1 << 4);
    /// 6: pools are stacks of batches, a batch is moved by one pointer; nothing is given back to
    /// the slab while more is in use than on the average of late.
    pub const BATCH_STACKS: Self = Self(1 << 5);

    /// As before the patches.
    pub const UNPATCHED: Self = Self(0);
    /// All five patches.
    pub const PATCHED: Self = Self(0b1_1111);
    /// What the kernel has had since 2024.
    pub const SHAPE_2024: Self = Self(0b11_1111);

    /// The first `n` patches.
    pub const fn first(n: u32) -> Self {
        Self((1 << n) - 1)
    }

    /// These without `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `switch` is on.
    #[inline(always)]
    pub const fn has(self, switch: Self) -> bool {
        self.0 & switch.0 != 0
    }
}
