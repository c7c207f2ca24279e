//! What an unwinder reads on its way along a stack.

use super::python_key;
use super::unwind::Frame;

/// What to read next: an offset from the stack pointer of the call, a multiple of 8, and what is there. Packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Step(pub u32);

impl Step {
    /// A kind of which there is no place on the stack.
    pub const ELSEWHERE: u32 = 4;
    /// Nothing: the path ends.
    pub const END: Self = Self(Self::ELSEWHERE);
    /// The key of the interpreter's frames.
    pub const INTERPRETED: Self = Self(Self::ELSEWHERE | 1);
    /// A word.
    pub const WORD: u32 = 1;
    /// A pointer into the stack, which counts as an offset from the stack pointer, too.
    pub const POINTER: u32 = 2;
    /// The caller's frame pointer, such a pointer.
    pub const FRAME_POINTER: u32 = 3;
    /// Bits of the kind. Above are those of the offset, or of a row.
    const KIND_BITS: u32 = 3;
    pub const KIND: u32 = (1 << Self::KIND_BITS) - 1;

    /// How far above the stack pointer of the call to read, if that and nothing else is to be done.
    #[inline(always)]
    pub const fn offset(self) -> Option<u64> {
        if self.0 & Self::KIND == Self::WORD { Some((self.0 - Self::WORD) as u64) } else { None }
    }

    /// The path ends, and has this row.
    pub const fn end_with(row: u32) -> Self {
        Self(row << Self::KIND_BITS | Self::END.0)
    }

    /// The path ends.
    #[inline(always)]
    pub const fn is_end(self) -> bool {
        self.0 & Self::KIND == Self::END.0
    }

    /// The row of a path that ends.
    pub const fn row(self) -> u32 {
        self.0 >> Self::KIND_BITS
    }

    /// # Safety
    /// The unwinder reads this word of the stack that `call` is on.
    #[inline(always)]
    pub unsafe fn read(self, call: Frame) -> u64 {
        let at = call.sp.wrapping_add(u64::from(self.0 & !Self::KIND)) as *const u64;
        match self.0 & Self::KIND {
            Self::FRAME_POINTER => call.fp.wrapping_sub(call.sp),
            // SAFETY: the caller promises a word of a live frame.
            Self::POINTER => unsafe { at.read() }.wrapping_sub(call.sp),
            // SAFETY: the caller promises a word of a live frame.
            _ => unsafe { at.read() },
        }
    }

    /// What it says to read. `None`: the interpreter's frames have no key now.
    ///
    /// # Safety
    /// As for [`Step::read`]. It is not [`Step::END`].
    #[inline(always)]
    pub unsafe fn read_any(self, call: Frame, key: &mut KeyOnce) -> Option<u64> {
        match self.0 & Self::ELSEWHERE {
            // SAFETY: as the caller promises.
            0 => Some(unsafe { self.read(call) }),
            _ => key.get(),
        }
    }
}

/// The key of the interpreter's frames, which is made once for all that is compared at one place.
pub struct KeyOnce(Option<Option<u64>>);

impl KeyOnce {
    /// It was not needed so far.
    pub const fn new() -> Self {
        Self(None)
    }

    fn get(&mut self) -> Option<u64> {
        *self.0.get_or_insert_with(python_key::now)
    }
}
