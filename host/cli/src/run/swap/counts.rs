//! The counts of the swap library, in the order in which it counts (`swap/src/counts.rs`), and
//! the sentences about it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::selection;
use lockwright_console::error::Error;

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

/// What could be replaced, and is not chosen by the patterns: the first ones of what is replaced.
const LEFT: usize = 3;

/// Where the counts are of what is not replaced, and why; of what is left; of programs that were
/// started without the library; of locks that nobody has answered about; and of the locks that each pattern has decided on.
const AT_KEPT: usize = 1 + REPLACED.len();
const AT_LEFT: usize = AT_KEPT + KEPT.len();
const AT_PROGRAMS_LEFT: usize = AT_LEFT + LEFT;
const AT_UNANSWERED: usize = AT_PROGRAMS_LEFT + 1;
const AT_PATTERNS: usize = AT_UNANSWERED + 1;

/// How many counts there are: programs come first.
const COUNTS: usize = AT_PATTERNS + selection::MOST;

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
        self.0[AT_KEPT..].iter().copied().zip(KEPT)
    }

    fn left(&self) -> impl Iterator<Item = (u64, (&'static str, &'static str))> + '_ {
        self.0[AT_LEFT..].iter().copied().zip(REPLACED).take(LEFT)
    }

    /// A sentence.
    pub fn sentence(&self, lock: &str) -> String {
        let programs = match self.programs() {
            1 => String::new(),
            programs => format!(" in {programs} programs"),
        };
        let left = listed(self.left());
        let mut sentence = match (listed(self.replaced()), &left) {
            (Some(list), _) => format!("ran on `{lock}`{programs}: {list}"),
            (None, Some(_)) => "no lock was replaced".to_owned(),
            (None, None) => "no lock was used that could be replaced".to_owned(),
        };
        let parts = [("stayed the C library's", listed(self.kept())), ("not chosen", left)];
        for (what, list) in parts {
            sentence.extend(list.map(|list| format!("; {what}: {list}")));
        }
        match self.0[AT_PROGRAMS_LEFT] {
            0 => {}
            1 => {
                sentence += "; 1 program was started as it is: it has locks of its own, or cannot load the library"
            }
            many => {
                sentence += &format!(
                    "; {many} programs were started as they are: they have locks of their own, or cannot load the library"
                );
            }
        }
        sentence
    }

    /// What is to be warned of where there are patterns: locks that could not be asked about, and
    /// patterns that have decided on none.
    pub fn warnings(&self, given: &[String]) -> Vec<Error> {
        let unanswered = self.0[AT_UNANSWERED];
        let unanswered = (unanswered > 0).then(|| {
            let locks = if unanswered == 1 { "lock" } else { "locks" };
            Error::new(format!("no pattern was tried on {unanswered} {locks}")).help(
                "see whether the program outlived `lockwright swap`, or runs in a sandbox that has \
                 no sockets",
            )
        });
        let idle = given.iter().zip(&self.0[AT_PATTERNS..]).filter(|(_, locks)| **locks == 0);
        let idle: Vec<String> = idle.map(|(pattern, _)| format!("`{pattern}`")).collect();
        let idle = (!idle.is_empty()).then(|| {
            Error::new(format!("no lock fits {}", idle.join(" and "))).help(
                "names of variables and functions need the program's symbol table, lines its debug \
                 information; `*` stands for any characters",
            )
        });
        unanswered.into_iter().chain(idle).collect()
    }

    /// The same for machines.
    pub fn json(&self, lock: &str, given: &[String]) -> Value {
        let object = |counts: &mut dyn Iterator<Item = (u64, (&'static str, &'static str))>| {
            let named =
                counts.map(|(count, (_, many))| (many.replace([' ', '-'], "_"), json!(count)));
            Value::Object(named.collect())
        };
        let patterns = given.iter().zip(&self.0[AT_PATTERNS..]);
        let patterns: Vec<Value> =
            patterns.map(|(given, locks)| json!({ "given": given, "locks": locks })).collect();
        json!({
            "lock": lock,
            "programs": self.programs(),
            "replaced": object(&mut self.replaced()),
            "kept": object(&mut self.kept()),
            "not_chosen": object(&mut self.left()),
            "programs_left": self.0[AT_PROGRAMS_LEFT],
            "not_looked_up": self.0[AT_UNANSWERED],
            "patterns": patterns,
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
        assert_eq!(counts.json("tas", &[])["kept"]["robust_mutexes"], 1);
        assert_eq!(counts.json("tas", &[])["replaced"]["reader_writer_locks"], 1);
    }

    #[test]
    fn what_is_said_of_patterns() {
        let mut counts = Counts([0; COUNTS]);
        let given = ["--only a_*".to_owned(), "--except b".to_owned()];
        (counts.0[0], counts.0[AT_LEFT], counts.0[AT_LEFT + 2]) = (1, 1, 2);
        counts.0[AT_PATTERNS + 1] = 3;
        assert_eq!(
            counts.sentence("tas"),
            "no lock was replaced; not chosen: 1 mutex, 2 spinlocks"
        );
        let warnings = |counts: &Counts| -> Vec<String> {
            counts.warnings(&given).iter().map(ToString::to_string).collect()
        };
        let [warning] = &warnings(&counts)[..] else { panic!("one") };
        assert!(warning.contains("no lock fits `--only a_*`\n"), "{warning}");
        counts.0[1] = 4;
        counts.0[AT_PATTERNS] = 4;
        assert_eq!(
            counts.sentence("tas"),
            "ran on `tas`: 4 mutexes; not chosen: 1 mutex, 2 spinlocks"
        );
        assert!(warnings(&counts).is_empty());
        let json = counts.json("tas", &given);
        assert_eq!(json["patterns"][1], json!({ "given": "--except b", "locks": 3 }));
        assert_eq!(json["not_chosen"]["spinlocks"], 2);
        counts.0[AT_UNANSWERED] = 5;
        assert!(warnings(&counts)[0].contains("tried on 5 locks"), "{:?}", warnings(&counts));
    }

    #[test]
    fn a_file_that_is_gone_counts_nothing() {
        assert_eq!(Counts::read(Path::new("/nowhere")), Counts([0; COUNTS]));
    }
}
