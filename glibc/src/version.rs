//! Versions of glibc.

use core::fmt;

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 2, since 1997.
    pub major: u16,
    /// The number that a release raises.
    pub minor: u16,
}

impl Version {
    /// The oldest glibc that lockwright knows.
    pub const OLDEST: Self = Self::new(2, 31);

    /// Whatever comes: the last column of the table.
    pub const NEWEST: Self = Self::new(u16::MAX, u16::MAX);

    /// The first whose C library has the functions of threads. Before it a program that is not
    /// linked with [`crate::library::THREADS_LIBRARY`] has functions of mutexes that do nothing, and lacks others.
    pub const WITH_THREADS: Self = Self::new(2, 34);

    /// Major and minor.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// From what `gnu_get_libc_version` returns: "2.41", or "2.42.9000" between two releases.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.split(|&byte| byte == b'.');
        Some(Self { major: number(parts.next()?)?, minor: number(parts.next()?)? })
    }

    /// In one word, never 0.
    pub const fn word(self) -> u32 {
        (self.major as u32) << 16 | self.minor as u32
    }

    /// From such a word; `None` from 0.
    pub const fn of_word(word: u32) -> Option<Self> {
        match word {
            0 => None,
            word => Some(Self::new((word >> 16) as u16, word as u16)),
        }
    }

    /// Whether this is no earlier than `other`, in constants too.
    pub(crate) const fn is_at_least(self, other: Self) -> bool {
        self.word() >= other.word()
    }
}

fn number(digits: &[u8]) -> Option<u16> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u16, |value, byte| value.checked_mul(10)?.checked_add(digit(byte)?))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_glibc_writes_them() {
        assert_eq!(Version::parse(b"2.41"), Some(Version::new(2, 41)));
        assert_eq!(Version::parse(b"2.42.9000"), Some(Version::new(2, 42)));
        for text in ["", "2", "2.", ".41", "2.x", "2.70000", "musl"] {
            assert_eq!(Version::parse(text.as_bytes()), None, "{text}");
        }
        assert!(Version::new(2, 9) < Version::OLDEST && Version::OLDEST < Version::new(3, 0));
        let version = Version::new(2, 43);
        assert_eq!(Version::of_word(version.word()), Some(version));
        assert_eq!((Version::of_word(0), version.to_string().as_str()), (None, "2.43"));
    }
}
