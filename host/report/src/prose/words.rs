//! How things are put in words.

use lockwright_analysis::finding::{Finding, Grade, Name};

/// The meaning of a grade, for a finding without evidence of its own.
pub fn meaning(grade: Grade) -> &'static str {
    match grade {
        Grade::Deadlocked => "the threads are in it now",
        Grade::Likely => "the same locks, two or more threads, nothing that keeps them apart",
        Grade::Possible => "by lock classes only: this run did not line up the locks themselves",
        Grade::Guarded => "every path holds a common lock",
        Grade::Ordered => "the paths cannot overlap: one happens before the other",
        Grade::SingleThread => "one thread took both orders",
        Grade::Untidy => "nobody uses it any more",
    }
}

/// How serious a finding is, as compilers tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A deadlock now or one day.
    Error,
    /// It may be.
    Warning,
    /// It is good to know.
    Note,
}

/// The level of a grade.
pub fn level(grade: Grade) -> Level {
    match grade {
        Grade::Deadlocked | Grade::Likely => Level::Error,
        Grade::Possible => Level::Warning,
        Grade::Guarded | Grade::Ordered | Grade::SingleThread | Grade::Untidy => Level::Note,
    }
}

/// Who did a step of a finding, in a sentence: "thread 2 (worker)", of several processes "run 1,
/// process 42: thread 2".
pub fn who(finding: &Finding, step: usize) -> String {
    let thread = finding.steps.get(step).map_or_else(String::new, |step| step.thread.to_string());
    match finding.origins.get(step) {
        Some(origin) => format!("{origin}: {thread}"),
        None => thread,
    }
}

/// A lock's name in a sentence.
pub fn quote(name: &Name) -> String {
    if name.is_symbol { format!("`{}`", name.text) } else { format!("the {}", name.text) }
}

/// The names of several locks, not more of them than a line holds.
pub fn locks(names: &[Name]) -> String {
    const MOST: usize = 4;
    let mut quoted: Vec<String> = names.iter().map(quote).collect();
    if quoted.len() > MOST {
        let more = quoted.len() - (MOST - 1);
        quoted.truncate(MOST - 1);
        quoted.push(format!("{more} more"));
    }
    join(&quoted)
}

/// "a", "a and b", "a, b and c".
pub fn join(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The last part of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// A command line in few words: without the folders of its program. `exe` is what ran, where the
/// words are not known.
pub fn command(exe: &str, words: &[String]) -> String {
    let [program, rest @ ..] = words else { return base_name(exe).to_owned() };
    let mut all = vec![base_name(program)];
    all.extend(rest.iter().map(String::as_str));
    all.join(" ")
}

/// `12345678` as "12,345,678".
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "1 lock", "2 locks", "3 classes", "4 mutexes".
pub fn count(n: u64, one: &str) -> String {
    let plural = match one {
        _ if n == 1 => "",
        _ if one.ends_with(['s', 'x']) => "es",
        _ => "s",
    };
    format!("{} {one}{plural}", number(n))
}

/// A time in the unit that leaves one to three digits before the point.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A string of the program or the user within a line.
pub use lockwright_console::plain::line as plain;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1000), "1,000");
        assert_eq!(number(12_345_678), "12,345,678");
        assert_eq!(count(1, "lock"), "1 lock");
        assert_eq!(count(2, "class"), "2 classes");
        assert_eq!(duration(5.5), "5.5 ns");
        assert_eq!(duration(1_234_000.0), "1.2 ms");
        assert_eq!(duration(123_456.0), "123 us");
        assert_eq!(duration(2.5e9), "2.5 s");
    }

    #[test]
    fn commands_are_short() {
        assert_eq!(command("/bin/x", &[]), "x");
        assert_eq!(command("/bin/x", &["/opt/y".to_owned(), "/etc/z".to_owned()]), "y /etc/z");
        assert_eq!([base_name("/a/"), base_name("a")], ["/a/", "a"]);
    }

    #[test]
    fn only_names_are_quoted() {
        assert_eq!(quote(&Name::symbol("lock")), "`lock`");
        let described = Name::description("mutex first taken at a.c:1 (f)");
        assert_eq!(quote(&described), "the mutex first taken at a.c:1 (f)");
    }
}
