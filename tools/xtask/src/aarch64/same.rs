//! What is the same in reports of both machines.

/// A report without addresses.
pub fn without_places(report: &str) -> String {
    let mut text = String::new();
    let mut rest = report;
    while let Some(at) = rest.find("0x") {
        let (before, number) = rest.split_at(at + 2);
        text += before;
        rest = number.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    text + rest
}

/// The names in a report of measurements, and how often each was acquired.
pub fn counts(report: &str) -> String {
    let mut lines: Vec<_> = report
        .lines()
        .skip_while(|line| !line.starts_with("LOCKS"))
        .take_while(|line| !line.starts_with("WAITS") && !line.starts_with("ADVICE"))
        .filter_map(|line| {
            let first = line.split_whitespace().next()?;
            let is_number = first.starts_with(|c: char| c.is_ascii_digit());
            // A lock's place in the list is by what it cost.
            let name = line.split_once(' ').filter(|_| line.starts_with('#')).map(|(_, name)| name);
            name.or(is_number.then_some(first)).map(str::to_owned)
        })
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{counts, without_places};

    #[test]
    fn addresses_are_of_no_account() {
        assert_eq!(without_places("`A` at 0x55ab\n`B` at 0x7f0c1"), "`A` at 0x\n`B` at 0x");
    }

    #[test]
    fn counts_are_taken_by_name() {
        let report = "x\nLOCKS by total wait\n#1 `b` (mutex)\n  20  0  3.5\n#2 `a` (mutex)\n  7  0\nWAITS\n  9\n";
        assert_eq!(counts(report), "20\n7\n`a` (mutex)\n`b` (mutex)");
    }
}
