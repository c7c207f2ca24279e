//! The run that this process is part of: `LOCKWRIGHT_DIR`.

/// The longest name of a directory for ledgers.
pub const MOST_DIRECTORY: usize = 3072 - 64;

/// `LOCKWRIGHT_DIR` as it was at start, NUL terminated: where ledgers go, and, after a colon, 32
/// hexadecimal digits that show the command what is of its run; empty where nobody asked for any.
static mut WANTED: [u8; 3072] = [0; 3072];

/// Remembers what the variable was, with its NUL. False: nobody asks for ledgers, or in too long a
/// directory.
///
/// # Safety
/// Before any thread of the program.
pub unsafe fn remember(value: &[u8]) -> bool {
    if value.len() < 2 || value.len() > MOST_DIRECTORY {
        return false;
    }
    // SAFETY: `WANTED` has room for the text, and the caller promises that no other thread runs
    // yet.
    unsafe {
        (&raw mut WANTED).cast::<u8>().copy_from_nonoverlapping(value.as_ptr(), value.len());
    }
    true
}

/// What it was.
pub fn wanted() -> &'static [u8] {
    let wanted = &raw const WANTED;
    // SAFETY: the constructor wrote it once, before any other thread.
    let wanted = unsafe { &*wanted };
    let len = wanted.iter().position(|&b| b == 0).unwrap_or(0);
    &wanted[..len]
}

/// The digits of a run.
const RUN_DIGITS: usize = 32;

/// The directory that ledgers and records go to, and the digits; both empty where nobody asked for
/// any.
fn split() -> (&'static [u8], &'static [u8]) {
    let wanted = wanted();
    let is_digits = |run: &[u8]| run.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match wanted.len().checked_sub(RUN_DIGITS + 1) {
        Some(at) if wanted[at] == b':' && is_digits(&wanted[at + 1..]) => {
            (&wanted[..at], &wanted[at + 1..])
        }
        _ => (wanted, b""),
    }
}

/// The directory that ledgers and records go to; empty where nobody asked for any.
pub fn directory() -> &'static [u8] {
    split().0
}

/// The path of a file in that directory whose name is the `parts`, NUL terminated. There is room for it in `path`.
pub fn path_of<'p>(path: &'p mut [u8], parts: &[&[u8]]) -> &'p [u8] {
    let mut len = 0;
    for bytes in [directory(), b"/"].iter().chain(parts).chain([&&b"\0"[..]]) {
        path[len..len + bytes.len()].copy_from_slice(bytes);
        len += bytes.len();
    }
    &path[..len]
}

/// Whether that directory cannot be reached any more: something is mounted over it, or the root
/// directory is another one.
pub fn is_hidden() -> bool {
    let directory = directory();
    !directory.is_empty() && lockwright_exec::is_hidden_directory(directory)
}

/// What shows the command that a record is of its run; empty where it did not ask for that.
pub fn id() -> &'static [u8] {
    split().1
}

/// The same as the header has it.
pub fn id_words() -> [u64; 2] {
    let word = |digits: &[u8]| {
        digits.iter().fold(0, |word: u64, &b| {
            let digit = if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
            word << 4 | u64::from(digit)
        })
    };
    let (high, low) = id().split_at(id().len() / 2);
    [word(high), word(low)]
}
