//! Numbers as text, without an allocation.

/// A number in decimal digits.
pub struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    /// Those of `number`.
    pub fn of(number: u64) -> Self {
        let mut digits = Self { bytes: [0; 20], start: 20 };
        let mut rest = number;
        while rest != 0 || digits.start == 20 {
            digits.start -= 1;
            digits.bytes[digits.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    /// As text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_digits() {
        for number in [0, 7, 10, 4_194_304, u64::MAX] {
            assert_eq!(Digits::of(number).as_bytes(), number.to_string().as_bytes());
        }
    }
}
