//! The results of a test program.

use std::process::Command;

/// The tests of a command in a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// How many passed.
    pub passed: usize,
    /// Names of those that failed.
    pub failed: Vec<String>,
    /// Names of those that lacked something: a program, a privilege.
    pub skipped: Vec<String>,
}

impl Results {
    /// Runs a test program.
    ///
    /// # Errors
    /// When it cannot be run, or no test of it was.
    pub fn of(mut tests: Command) -> Result<Self, String> {
        let out = tests.output().map_err(|e| format!("{tests:?}: {e}"))?;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        let results = Self::read(&stdout, &stderr);
        if results.passed + results.failed.len() + results.skipped.len() == 0 {
            return Err(format!("{tests:?}: no test ran: {}\n{stdout}{stderr}", out.status));
        }
        if !results.failed.is_empty() {
            // What each said, as far as a terminal shows it. A compiler's errors are among the latter.
            eprintln!("{stdout}{stderr}");
        }
        Ok(results)
    }

    /// The result of a program that is no test program.
    pub fn of_one(name: &str, passed: bool) -> Self {
        match passed {
            true => Self { passed: 1, ..Self::default() },
            false => Self { failed: vec![name.to_owned()], ..Self::default() },
        }
    }

    /// Adds those of another program.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// As in `12`, or `11 of 12`.
    pub fn short(&self) -> String {
        let all = self.passed + self.failed.len();
        match (all, self.failed.len()) {
            (0, _) => "not run".to_owned(),
            (_, 0) => all.to_string(),
            _ => format!("**{} of {all}**", self.passed),
        }
    }

    /// libtest says how each test ended; a test that is skipped passes, and says so on stderr.
    fn read(stdout: &str, stderr: &str) -> Self {
        let skipped: Vec<&str> = stderr
            .lines()
            .filter_map(|line| line.strip_prefix("skipped: ")?.split_once(": "))
            .map(|(name, _)| name)
            .collect();
        let mut results = Self::default();
        for line in stdout.lines() {
            let ended = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "));
            match ended {
                Some((name, "ok")) if skipped.contains(&name) => {
                    results.skipped.push(name.to_owned());
                }
                Some((_, "ok")) => results.passed += 1,
                Some((name, "FAILED")) => results.failed.push(name.to_owned()),
                _ => {}
            }
        }
        results
    }
}

#[test]
fn how_tests_end_is_read() {
    let stdout = "running 4 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ok\n\
                  test e ... ignored\n\nfailures:\n    c\n\ntest result: FAILED. 2 passed\n";
    let read = Results::read(stdout, "skipped: d: python3 is not installed\nnoise: x: y\n");
    assert_eq!((read.passed, read.failed.as_slice()), (1, &["c".to_owned()][..]));
    assert_eq!((read.short().as_str(), read.skipped), ("**1 of 2**", vec!["d".to_owned()]));
}
