//! Findings that are known already: a file of fingerprints. docs/baseline.md describes it.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use lockwright_ledger::file;
use serde::{Deserialize, Serialize};

use super::identity;
use crate::prose::told;
use crate::prose::words;
use lockwright_analysis::finding::{Finding, Grade};
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::plain;

/// Value of `schema`.
pub const SCHEMA: &str = "lockwright-baseline";

/// Value of `version`: raised when the fingerprints of the version before no longer fit.
pub const VERSION: u32 = 3;

/// The advice for a file that is no baseline, perhaps one for another purpose.
const OTHER: &str =
    "name a file that --write-baseline wrote: its `schema` is \"lockwright-baseline\"";

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: String,
    version: u32,
    findings: Vec<Entry>,
}

/// A known finding. All but the fingerprint and the grade is for people, and they may change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// As [`identity::fingerprint`] has it.
    pub fingerprint: String,
    /// As [`Grade`] serialises.
    pub grade: Grade,
    /// The fault.
    #[serde(default)]
    pub kind: String,
    /// The finding in one line.
    #[serde(default)]
    pub title: String,
}

/// The state of a finding compared with a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is not in there.
    New,
    /// It is in there, but was less serious.
    Worse,
    /// It is in there.
    Known,
}

/// The largest file that is read: some hundred thousand findings.
const MOST_BYTES: u64 = 256 << 20;

/// A baseline that was read.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The file, as the user named it.
    pub file: String,
    entries: Vec<Entry>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// If there is none, or it is no baseline of this version.
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        let wrong = |what: String| Error::with_code(exit::USAGE, what);
        let text = file::read_input_text(path, MOST_BYTES).map_err(|error| {
            let unread = wrong(format!("cannot read {file}: {error}"));
            match error.kind() {
                io::ErrorKind::NotFound => unread.help(format!(
                    "make it with the findings that there are now: --write-baseline {file}"
                )),
                _ => unread.help(OTHER),
            }
        })?;
        let again = || format!("write it again: --write-baseline {file}");
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("{file} is not JSON: {error}")).help(OTHER))?;
        if value["schema"] != SCHEMA {
            return Err(wrong(format!(
                "{file} is no baseline: its `schema` is {}",
                value["schema"]
            ))
            .help(OTHER));
        }
        if value["version"] != VERSION {
            let seen = &value["version"];
            return Err(wrong(format!("{file} is of version {seen}, not {VERSION}")).help(again()));
        }
        // From the text: the error tells the line.
        let document: Document = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("{file} is damaged: {error}")).help(again()))?;
        Ok(Self { file, entries: document.findings })
    }

    /// The fingerprints of the findings that it knows.
    pub fn fingerprints(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.fingerprint.as_str())
    }

    /// The state of each finding, and the baseline's entries that no finding matches. If findings
    /// share a fingerprint, as many are known as the baseline has, the most serious first.
    pub fn compare(&self, findings: &[&Finding]) -> (Vec<State>, Vec<&Entry>) {
        let mut left: HashMap<&str, Vec<&Entry>> = HashMap::new();
        for entry in &self.entries {
            left.entry(&entry.fingerprint).or_default().push(entry);
        }
        for entries in left.values_mut() {
            // The most serious last, to be taken first.
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.grade));
        }
        let mut order: Vec<usize> = (0..findings.len()).collect();
        order.sort_by_key(|&i| findings[i].grade);
        let mut states = vec![State::New; findings.len()];
        for i in order {
            let fingerprint = identity::fingerprint(findings[i]);
            let entry = left.get_mut(fingerprint.as_str()).and_then(Vec::pop);
            states[i] = match entry {
                None => State::New,
                Some(entry) if findings[i].grade < entry.grade => State::Worse,
                Some(_) => State::Known,
            };
        }
        let mut gone: Vec<&Entry> = left.into_values().flatten().collect();
        gone.sort_by(|a, b| (a.grade, &a.title).cmp(&(b.grade, &b.title)));
        (states, gone)
    }
}

/// The text of a baseline of these findings; ends with a newline.
pub fn render<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> String {
    let mut entries: Vec<Entry> = findings
        .into_iter()
        .map(|finding| Entry {
            fingerprint: identity::fingerprint(finding),
            grade: finding.grade,
            kind: finding.kind.name().to_owned(),
            title: identity::without_addresses(&words::plain(&told(finding).title)),
        })
        .collect();
    // By what does not change from run to run, so that a file under version control does not,
    // either.
    entries.sort_by(|a, b| {
        (&a.kind, &a.fingerprint, a.grade).cmp(&(&b.kind, &b.fingerprint, b.grade))
    });
    let document = Document { schema: SCHEMA.into(), version: VERSION, findings: entries };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("strings and numbers under string keys always serialise");
    text.push('\n');
    plain::json(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
    use lockwright_analysis::finding::misuse::HeldLockFreed;
    use lockwright_analysis::finding::{Details, Kind, LockInfo, LockOrigin, Name};

    fn finding(kind: Kind, grade: Grade) -> Finding {
        Finding {
            kind,
            grade,
            details: Details::Misuse(HeldLockFreed::Freed { holder: None }.into()),
            locks: vec![LockInfo {
                name: Name::symbol("a at 0x7f00"),
                class: Name::symbol("a"),
                class_by_place: None,
                kind: Subject::Lock(LockKind::Mutex),
                addr: Some(0x7f00),
                created: vec![],
                origin: LockOrigin::Static,
            }],
            steps: vec![],
            pid: 1,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: 0,
        }
    }

    fn baseline(findings: &[Finding]) -> Baseline {
        let document: Document = serde_json::from_str(&render(findings)).unwrap();
        Baseline { file: "x.json".into(), entries: document.findings }
    }

    #[test]
    fn what_is_known_new_worse_and_gone() {
        use Grade::{Likely, Possible};
        use Kind::{CircularDependency as Cycle, HeldLockFreed as Freed};
        let states = |known: &[(Kind, Grade)], now: &[(Kind, Grade)]| {
            let of = |all: &[(Kind, Grade)]| -> Vec<Finding> {
                all.iter().map(|&(kind, grade)| finding(kind, grade)).collect()
            };
            let (now, baseline) = (of(now), baseline(&of(known)));
            let (states, gone) = baseline.compare(&now.iter().collect::<Vec<_>>());
            (states, gone.len())
        };
        use State::{Known, New, Worse};
        assert_eq!(states(&[], &[(Cycle, Likely)]), (vec![New], 0));
        assert_eq!(states(&[(Cycle, Likely)], &[(Cycle, Likely)]), (vec![Known], 0));
        assert_eq!(states(&[(Cycle, Likely)], &[(Cycle, Possible)]), (vec![Known], 0));
        assert_eq!(states(&[(Cycle, Possible)], &[(Cycle, Likely)]), (vec![Worse], 0));
        assert_eq!(states(&[(Cycle, Likely)], &[(Freed, Likely)]), (vec![New], 1));
        // As many as there were; the most serious is known by the most serious.
        let two = [(Cycle, Likely), (Cycle, Possible)];
        assert_eq!(states(&two, &two), (vec![Known, Known], 0));
        assert_eq!(states(&two[..1], &two), (vec![Known, New], 0));
        assert_eq!(states(&two, &two[1..]), (vec![Known], 1));
    }

    #[test]
    fn the_text_has_no_addresses() {
        let text = render(&[finding(Kind::HeldLockFreed, Grade::Likely)]);
        assert!(
            text.contains("\"title\": \"the memory of `a` is freed while it is held\""),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_baseline_is_told() {
        let dir = std::env::temp_dir().join(format!("lockwright-baseline-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("x.json");
        for (text, saw, help) in [
            (None, "cannot read", "--write-baseline"),
            (Some("{"), "is not JSON", "that --write-baseline wrote"),
            (
                Some("{\"schema\": \"lockwright-report\"}"),
                "is no baseline",
                "\"lockwright-baseline\"",
            ),
            (
                Some("{\"schema\": \"lockwright-baseline\", \"version\": 1}"),
                "of version 1, not 3",
                "again",
            ),
            (Some("{\"schema\": \"lockwright-baseline\", \"version\": 3}"), "is damaged", "again"),
            (
                Some("{\"schema\": \"lockwright-baseline\", \"version\": 3,\n\"findings\": [7]}"),
                "is damaged: invalid type: integer `7`, expected struct Entry at line 2 column",
                "again",
            ),
        ] {
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            let told = Baseline::read(&path).unwrap_err().to_string();
            assert!(told.contains(saw) && told.contains(help), "{told}");
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
