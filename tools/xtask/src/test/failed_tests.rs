//! Which tests failed, and what they said: read from the output of `cargo test` as it passes by.

use std::io::{BufRead, BufReader, Read, Write};

/// So much of what a failed test said is said again: its end, in lines.
const LINES: usize = 30;
/// So many failed tests are quoted; of further ones the names are enough.
const QUOTED: usize = 6;

/// A failed test.
#[derive(Debug, Default, PartialEq, Eq)]
struct FailedTest {
    name: String,
    said: Vec<String>,
}

/// The failed tests of some output, in its order.
#[derive(Debug, Default)]
pub(crate) struct FailedTests {
    tests: Vec<FailedTest>,
    place: Place,
}

/// Where in the output a line stands.
#[derive(Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// In what the last failed test said.
    Said,
    /// Below `failures:`, where the names are.
    Names,
}

impl FailedTests {
    /// Passes the output on, line by line, until it ends, and notes the failed tests in it.
    pub(crate) fn read(output: impl Read, mut onward: impl Write) -> Self {
        let mut failed = Self::default();
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            // Nobody reads it any more: the tests go on, their verdict is the command's status.
            let _ = onward.write_all(&line);
            failed.line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        failed
    }

    /// libtest prints what each failed test said below `---- NAME stdout ----`, unless it has not
    /// captured it, and then, below `failures:`, all names.
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" stdout ----"))
        {
            self.tests.push(FailedTest { name: name.to_owned(), said: Vec::new() });
            self.place = Place::Said;
        } else if line == "failures:" {
            self.place = Place::Names;
        } else if line.starts_with("test result: ") {
            self.place = Place::Elsewhere;
        } else if self.place == Place::Said {
            self.tests.last_mut().expect("a test has said it").said.push(line.to_owned());
        } else if let (Place::Names, Some(name)) = (&self.place, line.strip_prefix("    "))
            && self.tests.iter().all(|test| test.name != name)
        {
            self.tests.push(FailedTest { name: name.to_owned(), said: Vec::new() });
        }
    }
}

impl std::fmt::Display for FailedTests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, FailedTest { name, said }) in self.tests.iter().enumerate() {
            writeln!(f, "failed: {name}")?;
            let end = said.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
            for line in said[end.saturating_sub(LINES)..end].iter().filter(|_| i < QUOTED) {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test a ... ok
test b::c ... FAILED
test d ... FAILED

failures:

---- b::c stdout ----

thread 'b::c' panicked at x.rs:1:2:
one
two

---- d stdout ----
Error: \"three\"


failures:
    b::c
    d

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test e ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn failed_tests_and_what_they_said_are_told() {
        let told = FailedTests::read(OUTPUT.as_bytes(), std::io::sink()).to_string();
        let expected = "failed: b::c

    thread 'b::c' panicked at x.rs:1:2:
    one
    two
failed: d
    Error: \"three\"
";
        assert_eq!(told.replace("    \n", "\n"), expected);
    }

    #[test]
    fn of_tests_whose_output_was_not_captured_the_names_are_told() {
        let list = OUTPUT.rsplit_once("failures:").unwrap().1;
        let told =
            FailedTests::read(format!("failures:{list}").as_bytes(), std::io::sink()).to_string();
        assert_eq!(told, "failed: b::c\nfailed: d\n");
    }

    #[test]
    fn nothing_is_told_of_tests_that_passed() {
        let passed = OUTPUT.split("running 1 test").nth(1).unwrap();
        assert_eq!(FailedTests::read(passed.as_bytes(), std::io::sink()).to_string(), "");
    }

    #[test]
    fn of_much_the_end_is_told() {
        let lines: String = (0..1000).map(|i| format!("line {i}\n")).collect();
        let told =
            FailedTests::read(format!("---- a stdout ----\n{lines}").as_bytes(), std::io::sink())
                .to_string();
        assert_eq!(told.lines().count(), 1 + LINES);
        assert!(told.ends_with("    line 999\n"), "{told}");
    }
}
