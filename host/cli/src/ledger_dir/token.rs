//! Tokens that other users cannot guess: for names in directories where they can make files, and to
//! mark the ledgers of a run.

use std::fmt;
use std::io;

/// 128 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub [u64; 2]);

impl Token {
    /// Another one each time.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut words = [0u64; 2];
        let len = size_of_val(&words);
        // SAFETY: the buffer is ours and as long as is said.
        let got = unsafe { libc::getrandom(words.as_mut_ptr().cast(), len, 0) };
        // So few bytes come at once or not at all.
        if got != len as isize {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(words))
    }

    /// The one that is written as these 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let (high, low) = text.split_at(16);
        let word = |digits| u64::from_str_radix(digits, 16).ok();
        Some(Self([word(high)?, word(low)?]))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_text_and_back() {
        let token = Token::new().unwrap();
        assert_ne!(token, Token::new().unwrap());
        assert_eq!(Token::parse(&token.to_string()), Some(token));
        assert_eq!(Token([1, 0xab]).to_string(), "000000000000000100000000000000ab");
        assert_eq!(Token::parse(&"G".repeat(32)), None);
        assert_eq!(Token::parse("ab"), None);
    }
}
