//! Strings of CPython: `PyASCIIObject` and what is made of it.

use crate::layout::{LENGTH, Layout};

/// `PyASCIIObject.state`: the same in all of these versions.
const STATE: usize = 32;

/// As much of a string as [`Text::of`] reads, in bytes.
pub const HEAD_BYTES: usize = 40;

/// Characters that a name or path has at most.
const MOST: usize = 4096;

/// Where the characters of a string are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Their first byte, from that of the string on.
    pub from: u64,
    /// How many there are.
    pub len: usize,
    /// Bytes of each: 1, 2 or 4.
    pub width: usize,
}

impl Text {
    /// `head` is what the string begins with. `None`: it is none, or longer than names and paths are.
    pub fn of(layout: &Layout, head: &[u8; HEAD_BYTES]) -> Option<Self> {
        let state = u32::from_ne_bytes(*head[STATE..].first_chunk()?);
        let len = u64::from_ne_bytes(*head[LENGTH..].first_chunk()?);
        // Bit fields: interned 2, kind 3, compact 1, ascii 1.
        let state = state >> 2;
        let (width, is_compact, is_ascii) = (state as usize & 7, state & 8 != 0, state & 16 != 0);
        let len = usize::try_from(len).ok().filter(|&len| len <= MOST)?;
        let from = if is_ascii { layout.ascii } else { layout.other_text };
        (is_compact && matches!(width, 1 | 2 | 4)).then_some(Self { from, len, width })
    }
}

/// The character that `bytes` are, one, two or four.
pub fn character(bytes: &[u8]) -> char {
    let mut all = [0; 4];
    for (to, byte) in all.iter_mut().zip(bytes) {
        *to = *byte;
    }
    char::from_u32(u32::from_le_bytes(all)).unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(state: u32, len: u64) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[LENGTH..][..8].copy_from_slice(&len.to_ne_bytes());
        head[STATE..][..4].copy_from_slice(&state.to_ne_bytes());
        head
    }

    #[test]
    fn strings_say_where_their_characters_are() {
        let layout = Layout::of(0x030c_0000).unwrap();
        let of = |state, len| Text::of(layout, &head(state, len));
        assert_eq!(of(0b110_0100, 3), Some(Text { from: 40, len: 3, width: 1 }));
        assert_eq!(of(0b010_1001, 3), Some(Text { from: 56, len: 3, width: 2 }));
        assert_eq!(of(0b000_0100, 3), None, "not compact");
        assert_eq!(of(0b110_1100, 3), None, "of three bytes each");
        assert_eq!(of(0b110_0100, 1 << 40), None);
    }

    #[test]
    fn characters_of_each_width() {
        assert_eq!(character(b"a"), 'a');
        assert_eq!(character(&[0xe4]), 'ä');
        assert_eq!(character(&[0xac, 0x20]), '€');
        assert_eq!(character(&[0, 0, 0xff, 0xff]), '\u{fffd}');
    }
}
