//! What the swap library has counted, in the order in which it counts (`swap/src/counts.rs`), and
//! what is said of it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What is replaced, one and many.
const REPLACED: [(&str, &str); 4] = [
    ("mutex", "mutexes"),
    ("reader-writer lock", "reader-writer locks"),
    ("spinlock", "spinlocks"),
    ("condition variable", "condition variables"),
];

/// What is not, and why.
const KEPT: [(&str, &str); 7] = [
    ("process-shared mutex", "process-shared mutexes"),
    ("robust mutex", "robust mutexes"),
    ("priority-inheriting mutex", "priority-inheriting mutexes"),
    ("priority-protected mutex", "priority-protected mutexes"),
    ("process-shared reader-writer lock", "process-shared reader-writer locks"),
    ("process-shared spinlock", "process-shared spinlocks"),
    ("process-shared condition variable", "process-shared condition variables"),
];

/// How many counts there are: programs come first.
const COUNTS: usize = 1 + REPLACED.len() + KEPT.len();

/// Bytes of the file.
pub const BYTES: u64 = COUNTS as u64 * 8;

/// What was counted in a run.
#[derive(Debug, PartialEq)]
pub struct Counts([u64; COUNTS]);

impl Counts {
    /// Reads the file; what is not there counts as nothing.
    pub fn read(file: &Path) -> Self {
        let bytes = fs::read(file).unwrap_or_default();
        let mut counts = [0; COUNTS];
        for (count, bytes) in counts.iter_mut().zip(bytes.chunks_exact(8)) {
            *count = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        }
        Self(counts)
    }

    /// Programs that the library came to run in.
    pub fn programs(&self) -> u64 {
        self.0[0]
    }

    fn replaced(&self) -> impl Iterator<Item = (u64, (&'static str, &'static str))> + '_ {
        self.0[1..].iter().copied().zip(REPLACED)
    }

    fn kept(&self) -> impl Iterator<Item = (u64, (&'static str, &'static str))> + '_ {
        self.0[1 + REPLACED.len()..].iter().copied().zip(KEPT)
    }

    /// A sentence.
    pub fn sentence(&self, lock: &str) -> String {
        let programs = match self.programs() {
            1 => String::new(),
            programs => format!(" in {programs} programs"),
        };
        let replaced = match listed(self.replaced()) {
            None => "no lock was used that could be replaced".to_owned(),
            Some(list) => format!("ran on `{lock}`{programs}: {list}"),
        };
        match listed(self.kept()) {
            None => replaced,
            Some(list) => format!("{replaced}; stayed the C library's: {list}"),
        }
    }

    /// The same for machines.
    pub fn json(&self, lock: &str) -> Value {
        let object = |counts: &mut dyn Iterator<Item = (u64, (&'static str, &'static str))>| {
            let named =
                counts.map(|(count, (_, many))| (many.replace([' ', '-'], "_"), json!(count)));
            Value::Object(named.collect())
        };
        json!({
            "lock": lock,
            "programs": self.programs(),
            "replaced": object(&mut self.replaced()),
            "kept": object(&mut self.kept()),
        })
    }
}

/// `2 mutexes, 1 spinlock`; none if there are none.
fn listed(counts: impl Iterator<Item = (u64, (&'static str, &'static str))>) -> Option<String> {
    let parts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, (one, many))| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        let mut counts = Counts([0; COUNTS]);
        counts.0[0] = 1;
        assert_eq!(counts.sentence("tas"), "no lock was used that could be replaced");
        (counts.0[1], counts.0[2]) = (2, 1);
        assert_eq!(counts.sentence("tas"), "ran on `tas`: 2 mutexes, 1 reader-writer lock");
        (counts.0[0], counts.0[6]) = (3, 1);
        assert_eq!(
            counts.sentence("tas"),
            "ran on `tas` in 3 programs: 2 mutexes, 1 reader-writer lock; stayed the C library's: 1 robust mutex"
        );
        assert_eq!(counts.json("tas")["kept"]["robust_mutexes"], 1);
        assert_eq!(counts.json("tas")["replaced"]["reader_writer_locks"], 1);
    }

    #[test]
    fn a_file_that_is_gone_counts_nothing() {
        assert_eq!(Counts::read(Path::new("/nowhere")), Counts([0; COUNTS]));
    }
}
