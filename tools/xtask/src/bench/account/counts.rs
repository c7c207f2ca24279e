//! Counts by name, and what one birth adds to them.

use std::collections::BTreeMap;

/// So many by name.
pub type Counts = BTreeMap<String, f64>;

/// What each of `births` has added: the difference of two runs, in which what comes but once is gone.
pub fn of_each(few: &Counts, many: &Counts, births: f64) -> Counts {
    let names = few.keys().chain(many.keys());
    let each = |name: &String| {
        let count = |counts: &Counts| counts.get(name).copied().unwrap_or_default();
        (name.clone(), (count(many) - count(few)) / births)
    };
    names.map(each).collect()
}

/// The calls that `strace -c` has counted, by name.
///
/// # Errors
/// If that is no such table, or it does not have as many calls as it says in all.
pub fn system_calls(table: &str) -> Result<Counts, String> {
    let mut counts = Counts::new();
    let mut total = None;
    // "% time seconds usecs/call calls errors syscall", of which errors may be blank.
    for line in
        table.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    {
        let words: Vec<_> = line.split_whitespace().collect();
        let calls = words.get(3).and_then(|calls| calls.parse::<f64>().ok());
        match (calls, words.last()) {
            (Some(calls), Some(&"total")) => total = Some(calls),
            (Some(calls), Some(&name)) => *counts.entry(name.to_owned()).or_default() += calls,
            _ => return Err(format!("not a line of strace's table: {line}")),
        }
    }
    let sum: f64 = counts.values().sum();
    match total {
        Some(total) if total == sum => Ok(counts),
        Some(total) => Err(format!("strace counted {total} calls, and its lines have {sum}")),
        None => Err("strace's table has no total".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.000900           9       100        20 futex
 10.00    0.000100           1        50           mmap
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           6       150        20 total
";

    #[test]
    fn calls_are_counted_with_or_without_errors() {
        let counts = system_calls(TABLE).expect("a table");
        assert_eq!(counts, Counts::from([("futex".to_owned(), 100.0), ("mmap".to_owned(), 50.0)]));
    }

    #[test]
    fn a_table_that_does_not_add_up_is_refused() {
        let lost = TABLE.replace(" 10.00    0.000100           1        50           mmap\n", "");
        assert!(
            system_calls(&lost)
                .is_err_and(|error| error.contains("150 calls, and its lines have 100"))
        );
        assert!(system_calls("").is_err());
        assert!(system_calls("1 2 3 x futex\n").is_err());
    }

    #[test]
    fn what_comes_but_once_is_no_part_of_a_birth() {
        let counts = |all: &[(&str, f64)]| -> Counts {
            all.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
        };
        let (few, many) = (
            counts(&[("once", 7.0), ("each", 17.0)]),
            counts(&[("once", 7.0), ("each", 37.0), ("late", 10.0)]),
        );
        assert_eq!(
            of_each(&few, &many, 10.0),
            counts(&[("once", 0.0), ("each", 2.0), ("late", 1.0)])
        );
    }
}
