//! The identity of a finding from run to run: names, and no addresses, ids or line numbers.

use crate::prose::words;
use lockwright_analysis::finding::{Finding, Frame, LockInfo, LockOrigin};
use lockwright_analysis::symbolize::portable::portable;
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// A name in which what changes from run to run, or with each line that is added above, is
/// `filler`; `keep` is applied to all else.
pub fn steady(name: &str, filler: &str, keep: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while at < name.len() {
        match changing(name, at) {
            Some(len) => {
                out += &keep(&name[kept..at]);
                out += filler;
                at += len;
                kept = at;
            }
            None => at += name[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    out + &keep(&name[kept..])
}

/// Length of the number at `at` that is none of the name's own: of a line, an address, an offset in
/// a function, an instance or a row.
fn changing(name: &str, at: usize) -> Option<usize> {
    let (before, rest) = name.split_at(at);
    let ends_place = |len: usize| rest.len() == len || rest[len..].starts_with(" (");
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && !before.ends_with(|c: char| c.is_ascii_digit()) {
        let is_line = before.ends_with(':') && !before.ends_with("::") && ends_place(digits);
        let is_instance = before.ends_with(" #") && rest.len() == digits;
        let is_row =
            before.ends_with(" of class ") || rest[digits..].starts_with(" inherited from");
        if is_line || is_instance || is_row {
            return Some(digits);
        }
    }
    let hex = rest.strip_prefix("0x")?;
    let len = 2 + hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
    let is_address = before.ends_with(" at ") && rest.len() == len;
    let is_in_function = before.ends_with('+') && rest[len..].starts_with(" (");
    (is_address || is_in_function).then_some(len)
}

/// A name that is the same in each run and build.
pub fn steady_name(name: &str) -> String {
    steady(&portable(name), "", str::to_owned)
}

/// A title without the addresses in it, which help nobody in a file that is kept.
pub fn without_addresses(title: &str) -> String {
    let mut parts = title.split(" 0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.truncate(text.trim_end_matches(" at").len());
        text += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    text
}

/// The name of a lock's class on every machine, with or without sources.
pub fn class(lock: &LockInfo) -> &str {
    if let Some(by_place) = &lock.class_by_place {
        return by_place;
    }
    if lock.class.text.is_empty() { &lock.name.text } else { &lock.class.text }
}

/// What the name of a lock's class ends with before the place where such a lock was first taken.
const FIRST_TAKEN: &str = " first taken at ";

/// As [`class`], without the place where a lock that nobody initialised was first taken, and whether that is left out: which
/// thread comes first differs from run to run.
pub fn class_of_any_run(lock: &LockInfo) -> (&str, bool) {
    let name = class(lock);
    match name.find(FIRST_TAKEN) {
        Some(at) if lock.origin == LockOrigin::FirstAcquisition => {
            (&name[..at + FIRST_TAKEN.len()], true)
        }
        _ => (name, false),
    }
}

/// The name of a frame: its function, or else `<libfoo.so>`.
pub fn frame(frame: &Frame) -> String {
    match &frame.function {
        Some(function) => words::plain(function),
        None => format!("<{}>", words::plain(module(frame))),
    }
}

/// The name of a frame in every build.
pub fn portable_frame(one: &Frame) -> String {
    match &one.function {
        Some(function) => words::plain(&portable(function)),
        None => frame(one),
    }
}

/// The last component of the path of a frame's module.
pub fn module(frame: &Frame) -> &str {
    frame.module.as_deref().map_or("?", |path| path.rsplit('/').next().unwrap_or(path))
}

/// The finding in a few lines of text, equal for findings that are the same to a reader who does
/// not look at line numbers: kind, classes of its locks, and which function takes which of them
/// while which function holds which. For misuse only the offence: the steps that led to it may
/// differ from run to run.
fn likeness(finding: &Finding) -> String {
    let any_run = |lock| class_of_any_run(lock).0;
    let class_of = |index: usize| finding.locks.get(index).map_or("", any_run);
    let place = |stack: &[Frame]| first_own_frame(stack).map_or_else(|| "?".into(), portable_frame);
    let mut classes: Vec<String> =
        finding.locks.iter().map(|lock| steady_name(any_run(lock))).collect();
    classes.sort();
    let steps = match finding.kind.is_misuse() {
        true => finding.steps.get(..1).unwrap_or_default(),
        false => &finding.steps,
    };
    let mut took: Vec<String> = steps
        .iter()
        .map(|step| {
            let mut line =
                format!("{} in {}", steady_name(class_of(step.lock)), place(&step.stack));
            let mut held: Vec<String> = step
                .held
                .iter()
                .filter_map(|held| Some((held.lock?, held)))
                .map(|(lock, held)| {
                    format!("; holds {} of {}", steady_name(class_of(lock)), place(&held.stack))
                })
                .collect();
            held.sort();
            line.extend(held);
            line
        })
        .collect();
    took.sort();
    format!("{}\n{}\n{}", finding.kind.name(), classes.join("\n"), took.join("\n"))
}

/// The identity of a finding in other runs: 16 hexadecimal digits. The grade is not part of it.
pub fn fingerprint(finding: &Finding) -> String {
    format!("{:016x}", fnv1a(likeness(finding).as_bytes()))
}

/// FNV-1a in 64 bits: the same for ever, unlike the standard library's hashers.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_change_are_not_part_of_a_name() {
        for (name, steady) in [
            ("vault", "vault"),
            ("bank::accounts[]", "bank::accounts[]"),
            ("pool[3]", "pool[3]"),
            (
                "mutex initialised at bank.c:14 (account_init)",
                "mutex initialised at bank.c: (account_init)",
            ),
            (
                "mutex first taken at take+0x1c (libpool.so)",
                "mutex first taken at take+ (libpool.so)",
            ),
            ("mutex first taken at libpool.so+0x1c", "mutex first taken at libpool.so+0x1c"),
            ("server+0x40a0", "server+0x40a0"),
            ("mutex at 0x7f001122", "mutex at "),
            ("vault at 0x7f001122", "vault at "),
            ("vault #12", "vault #"),
            ("mutex of class 12", "mutex of class "),
            (
                "mutex 7 inherited from the parent process",
                "mutex  inherited from the parent process",
            ),
            ("a::b(int)::{lambda()#1}", "a::b::{lambda}"),
            (
                "mutex at offset 24 in the block allocated at a.cc:9 (f)",
                "mutex at offset 24 in the block allocated at a.cc: (f)",
            ),
            ("zähler:7", "zähler:"),
        ] {
            assert_eq!(steady_name(name), steady);
        }
    }

    #[test]
    fn a_title_goes_without_addresses() {
        let title = "`a` at 0x7f08 and `b at 0x7f10` and `timer 0x7f18` meet at noon";
        assert_eq!(without_addresses(title), "`a` and `b` and `timer` meet at noon");
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Vectors of the FNV reference.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
