//! Which part of a source line a column of debug information means.

use std::ops::Range;

/// The call at `column` (from 1) of `line`, or the whole statement where the column does not tell:
/// a range of bytes within the line, never empty unless the line is.
pub fn call(line: &str, column: Option<u32>) -> Range<usize> {
    call_at(line, column).unwrap_or_else(|| statement(line))
}

/// Compilers point at the first letter of a call's name, at its last part (`lock` of `m->lock()`),
/// at the parenthesis, or at the variable that a constructor makes.
fn call_at(line: &str, column: Option<u32>) -> Option<Range<usize>> {
    let at = usize::try_from(column?).ok()?.checked_sub(1)?;
    if at >= line.len() || !line.is_char_boundary(at) {
        return None;
    }
    let open = at + line[at..].find('(')?;
    // Between the column and the parenthesis may stand a name and nothing else.
    if !line[at..open].chars().all(in_name) {
        return None;
    }
    let start = line[..at].char_indices().rev().take_while(|&(_, c)| in_name(c)).last();
    let start = start.map_or(at, |(start, _)| start);
    let mut depth = 0usize;
    for (i, c) in line[open..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(start..open + i + 1),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '>')
}

/// The line without indentation and comment at its end.
fn statement(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    let code = line.find(" //").or_else(|| line.find(" /*")).filter(|&end| end > start);
    let end = line[..code.unwrap_or(line.len())].trim_end().len();
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::call;

    #[test]
    fn calls() {
        for (line, column, marked) in [
            ("    pthread_mutex_lock(&a);", Some(5), "pthread_mutex_lock(&a)"),
            ("    if (lock(&a[f(i)]) != 0)", Some(9), "lock(&a[f(i)])"),
            ("  self->queue.lock();", Some(19), "self->queue.lock()"),
            ("  self->queue.lock();", Some(15), "self->queue.lock()"),
            ("  std::lock_guard<std::mutex> hold(m); // held", Some(31), "hold(m)"),
            ("  std::scoped_lock both(a,", Some(20), "std::scoped_lock both(a,"),
            ("  lock(a); // why", None, "lock(a);"),
            ("  lock(a);", Some(400), "lock(a);"),
            ("}", Some(1), "}"),
            ("", Some(1), ""),
            ("   ", None, ""),
            ("  a + lock(b);", Some(3), "a + lock(b);"),
            ("\u{e9}\u{e9} lock(b);", Some(2), "\u{e9}\u{e9} lock(b);"),
        ] {
            assert_eq!(&line[call(line, column)], marked, "{line} {column:?}");
        }
    }
}
