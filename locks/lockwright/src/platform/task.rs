//! A thread, as the owner fields of locks name it.

/// A thread as a lock's owner field names it: not 0, a multiple of [`Task::ALIGN`], so that the low
/// bits are free for flags, and of one thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task(usize);

impl Task {
    /// A task's number is a multiple of this.
    pub const ALIGN: usize = 8;

    /// The task of this number.
    ///
    /// # Panics
    /// If it is 0 or no multiple of [`Task::ALIGN`].
    #[inline]
    pub const fn new(number: usize) -> Self {
        assert!(number != 0 && number % Self::ALIGN == 0);
        Self(number)
    }

    /// The task in an owner field whose low bits are flags; none if there is no owner.
    #[inline]
    pub const fn from_owner(field: usize) -> Option<Self> {
        match field & !(Self::ALIGN - 1) {
            0 => None,
            number => Some(Self(number)),
        }
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> usize {
        self.0
    }
}
