//! How the host gives an engine the call stack of the calling thread.

/// Fills a buffer with return addresses, innermost first, and says how many.
pub type Capture<'a> = &'a mut dyn FnMut(&mut [u64]) -> usize;

/// Longest stack that is recorded.
pub const MAX_FRAMES: usize = lockwright_ledger::layout::MAX_FRAMES;

/// What a host fills in instead of a whole stack that it knows to be recorded: the number of its row is in the low half.
/// No code lies at such addresses, and no interpreter's frame has such an element.
const KNOWN: u64 = 0x8000_0001 << 32;

/// The only element that a [`Capture`] has to fill in if the stack is recorded already as row `stack`.
pub const fn known_stack(stack: u32) -> u64 {
    KNOWN | stack as u64
}

/// What fills in that the stack is recorded as row `stack`, to be borrowed as a [`Capture`].
pub(crate) fn recorded_as(stack: u32) -> impl FnMut(&mut [u64]) -> usize {
    move |frames| {
        frames[0] = known_stack(stack);
        1
    }
}

/// The row of a stack of which the host knows that it is recorded.
pub(crate) fn known_row(frames: &[u64]) -> Option<u32> {
    match frames {
        &[only] if only >> 32 == KNOWN >> 32 => Some(only as u32),
        _ => None,
    }
}
