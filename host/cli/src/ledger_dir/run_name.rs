//! The name of a run's directory.

use std::ffi::OsString;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::token::Token;

/// `<seconds>-<pid>-<32 digits>`: sorts by time, and nobody can have made it before.
pub fn run_name() -> io::Result<OsString> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{}-{}-{}", now.as_secs(), std::process::id(), Token::new()?).into())
}

/// Whether `name` is one that [`run_name`] makes.
pub fn is_run_name(name: &str) -> bool {
    let mut parts = name.splitn(3, '-');
    let mut is_next = |fits: fn(&str) -> bool| parts.next().is_some_and(fits);
    let (seconds, pid) = (is_next(is_number), is_next(is_number));
    seconds && pid && is_next(|token| Token::parse(token).is_some())
}

pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
