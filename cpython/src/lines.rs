//! Which instruction is of which line: `co_linetable` (CPython's `Objects/locations.md` has its form).

/// `PyBytesObject.ob_sval`, which the table is: the same in all of these versions.
pub const BYTES: u64 = 32;

/// Bytes that a table has at most.
pub const MOST_TABLE: u64 = 1 << 18;

/// The line of an instruction, by a table of entries, whose bytes `next` has. Each begins with a byte of bit 7, four bits
/// of kind and the number of instructions less one; the rest of it has bit 7 clear.
pub fn of_instruction(
    mut next: impl FnMut() -> Option<u8>,
    instruction: u64,
    first_line: u32,
) -> Option<u32> {
    let mut line = i64::from(first_line);
    let mut end = 0;
    loop {
        let head = next()?;
        let kind = head >> 3 & 15;
        end += u64::from(head & 7) + 1;
        let mut is_known = true;
        match kind {
            // Columns in the next byte, and the line as before.
            0..=9 => drop(next()?),
            10..=12 => {
                line += i64::from(kind) - 10;
                next()?;
                next()?;
            }
            13 | 14 => {
                line += signed(variable(&mut next)?);
                // Where it ends, and its columns.
                for _ in 0..if kind == 14 { 3 } else { 0 } {
                    variable(&mut next)?;
                }
            }
            _ => is_known = false,
        }
        if instruction < end {
            return u32::try_from(line).ok().filter(|_| is_known);
        }
    }
}

/// A number in pieces of six bits, the lowest first; bit 6 says that there are more.
fn variable(next: &mut impl FnMut() -> Option<u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..60).step_by(6) {
        let byte = next()?;
        value |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(value);
        }
    }
    None
}

/// The lowest bit is the sign.
fn signed(value: u64) -> i64 {
    let magnitude = (value >> 1) as i64;
    if value & 1 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `co_linetable` has it, of CPython 3.11, of this function, which begins in line 1:
    ///
    ///     def f(a, b):
    ///         with a:
    ///             with b:
    ///                 pass
    const TABLE: &[u8] = b"\x80\x00\xd8\x09\x0a\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xd8\x0d\x0e\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xd8\x0c\x10\xf0\x03\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf1\x00\x01\x09\x11\xf4\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf8\xf8\xf8\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x03\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf1\x00\x02\x05\x11\xf4\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf8\xf8\xf8\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11\xf0\x00\x02\x05\x11";

    /// `co_lines()` of the same: up to which instruction, and which line.
    const LINES: &[(u64, Option<u32>)] = &[
        (1, Some(1)),
        (2, Some(2)),
        (3, Some(2)),
        (4, Some(2)),
        (5, Some(3)),
        (6, Some(3)),
        (7, Some(3)),
        (8, Some(4)),
        (9, Some(3)),
        (10, Some(3)),
        (11, Some(3)),
        (13, Some(3)),
        (18, Some(3)),
        (19, Some(3)),
        (20, Some(3)),
        (21, Some(3)),
        (22, Some(3)),
        (23, Some(3)),
        (24, Some(3)),
        (25, None),
        (26, None),
        (27, None),
        (28, Some(3)),
        (29, Some(3)),
        (30, Some(3)),
        (31, Some(3)),
        (32, Some(2)),
        (33, Some(2)),
        (34, Some(2)),
        (36, Some(2)),
        (41, Some(2)),
        (42, Some(2)),
        (43, Some(2)),
        (44, Some(2)),
        (45, Some(2)),
        (46, Some(2)),
        (47, Some(2)),
        (48, Some(2)),
        (49, None),
        (50, None),
        (51, None),
        (52, Some(2)),
        (53, Some(2)),
        (54, Some(2)),
        (55, Some(2)),
        (56, Some(2)),
        (57, Some(2)),
    ];

    #[test]
    fn lines_are_as_cpython_has_them() {
        let mut from = 0;
        for &(to, line) in LINES {
            for instruction in from..to {
                let mut bytes = TABLE.iter().copied();
                assert_eq!(of_instruction(|| bytes.next(), instruction, 1), line, "{instruction}");
            }
            from = to;
        }
        let mut bytes = TABLE.iter().copied();
        assert_eq!(of_instruction(|| bytes.next(), from, 1), None, "beyond");
    }

    #[test]
    fn numbers_are_in_pieces_of_six_bits() {
        let number = |bytes: &[u8]| {
            let mut bytes = bytes.iter().copied();
            variable(&mut || bytes.next())
        };
        assert_eq!(number(&[5]), Some(5));
        assert_eq!(number(&[64 | 1, 2]), Some(129));
        assert_eq!(number(&[64]), None);
        assert_eq!(number(&[127; 12]), None, "without an end");
        assert_eq!((signed(6), signed(7)), (3, -3));
    }
}
