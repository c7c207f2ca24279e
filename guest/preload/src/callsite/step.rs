//! The step from a wrapper's frame to its caller's, in a few bits: what usual functions need of the
//! unwind tables.

use crate::stack::unwind::{self, Frame, Saved};

/// Bits: the frame's size in bytes beyond its return address, a multiple of 8; in the low three
/// where the caller's fp is: nowhere but in fp (0), or so many words below the frame's end. From
/// [`Step::END`] on it is one of the steps that are not of this kind, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(u64);

const FP_PLACE: u64 = 7;

impl Step {
    /// No step: what lies beyond those of known size. Twice as much lies beyond all.
    pub const END: u64 = 1 << 14;
    /// The frame is the usual one that fp points to the end of.
    const FRAME_POINTER: Self = Self(Self::END + 1);
    /// The unwind tables are to be asked.
    const UNUSUAL: Self = Self(Self::END + 2);
    /// Not looked up yet.
    pub const UNKNOWN: Self = Self(Self::END + 3);

    /// The step with these bits, which may be any.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Less than twice [`Step::END`], if it is a step.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// By the unwind tables.
    pub fn look_up(address: u64) -> Self {
        let rule = unwind::rule_of_call(address);
        let step = match rule.plain() {
            Some((cfa, fp)) => Self::with_size(cfa, fp),
            None => rule.is_usual().then_some(Self::FRAME_POINTER),
        };
        step.unwrap_or(Self::UNUSUAL)
    }

    fn with_size(cfa: i32, fp: Saved) -> Option<Self> {
        let beyond = u64::try_from(cfa).ok()?.checked_sub(8)?;
        let place = match fp {
            Saved::Same => 0,
            Saved::AtCfa(offset) if offset % 8 == 0 => {
                u64::try_from(-i64::from(offset) / 8).ok()?
            }
            _ => return None,
        };
        // The word at the frame's end is the return address.
        let has_place = place == 0 || (2..=FP_PLACE).contains(&place);
        (has_place && beyond % 8 == 0 && beyond < Self::END).then_some(Self(beyond | place))
    }

    /// The size of the frame, if that is all it takes to find the return address.
    #[inline(always)]
    pub fn size(self) -> Option<u64> {
        (self.0 < Self::END).then(|| (self.0 & !FP_PLACE) + 8)
    }

    /// The caller's frame. `None` if the tables are to be asked for it, or if this is no step.
    ///
    /// # Safety
    /// The step of the frame's return address, which is that of a live call.
    #[inline(always)]
    pub unsafe fn take(self, frame: Frame) -> Option<Frame> {
        let end = match self.size() {
            Some(size) => frame.sp.wrapping_add(size),
            None if self == Self::FRAME_POINTER => frame.fp.wrapping_add(16),
            None => return None,
        };
        if !unwind::is_plausible(end.wrapping_sub(8), frame.sp) {
            return None;
        }
        let place = match self {
            Self::FRAME_POINTER => 2,
            Self(bits) => bits & FP_PLACE,
        };
        // SAFETY: words of a live frame, by the module's own unwind table.
        unsafe {
            let word = |place: u64| (end.wrapping_sub(8 * place) as *const u64).read();
            let fp = if place == 0 { frame.fp } else { word(place) };
            Some(Frame { pc: word(1), sp: end, fp })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_frames_have_a_step() {
        let step = Step::with_size(24, Saved::Same).unwrap();
        assert_eq!(step.size(), Some(24));
        let step = Step::with_size(4096, Saved::AtCfa(-16)).unwrap();
        assert_eq!((step.size(), step.0 & FP_PLACE), (Some(4096), 2));
        for (cfa, fp) in [
            (0, Saved::Same),
            (12, Saved::Same),
            (-8, Saved::Same),
            (Step::END as i32 + 8, Saved::Same),
            (24, Saved::AtCfa(-8)),
            (24, Saved::AtCfa(-64)),
            (24, Saved::AtCfa(8)),
            (24, Saved::AtFp(0)),
        ] {
            assert_eq!(Step::with_size(cfa, fp), None);
        }
    }

    #[test]
    fn what_is_none_has_no_size() {
        for step in [Step::FRAME_POINTER, Step::UNUSUAL, Step::UNKNOWN, Step(Step::END), Step(!0)] {
            assert_eq!(step.size(), None, "{step:?}");
        }
    }

    #[test]
    fn frames_are_walked() {
        // Two words of a frame, its saved fp, its return address.
        let stack = [1u64, 2, 0x1234, 0x5678];
        let sp = stack.as_ptr() as u64;
        let frame = Frame { pc: 0x1000, sp, fp: sp + 16 };
        for step in [Step::with_size(32, Saved::AtCfa(-16)).unwrap(), Step::FRAME_POINTER] {
            // SAFETY: both steps read the words of `stack` above, which `frame` points into.
            let caller = unsafe { step.take(frame) }.unwrap();
            assert_eq!((caller.pc, caller.sp, caller.fp), (0x5678, sp + 32, 0x1234));
        }
        // SAFETY: an unusual step is not followed, so the words of `frame` are not read.
        assert!(unsafe { Step::UNUSUAL.take(frame) }.is_none());
    }
}
