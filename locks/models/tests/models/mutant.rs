//! The fault that this process has, if any, and the list of those there could be.
//!
//! - `LOCKWRIGHT_MUTANT=FILE:LINE:COLUMN:FAULT` plants one.
//! - `LOCKWRIGHT_MUTANTS=FILE` appends each fault that could be planted in what this process
//!   executes.

use std::collections::HashSet;
use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::panic::Location;
use std::str::FromStr;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::{LazyLock, Mutex};

/// What is done to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Acquire is taken from it.
    Unacquired,
    /// Release is taken from it.
    Unreleased,
    /// A fence is left out.
    Unfenced,
    /// A wake is left out.
    Unwoken,
}

const NAMES: [(Fault, &str); 4] = [
    (Fault::Unacquired, "no-acquire"),
    (Fault::Unreleased, "no-release"),
    (Fault::Unfenced, "no-fence"),
    (Fault::Unwoken, "no-wake"),
];

impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, name) = NAMES.iter().find(|(fault, _)| fault == self).expect("all are named");
        f.write_str(name)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = NAMES.iter().find(|(_, known)| *known == name);
        known.map(|(fault, _)| *fault).ok_or_else(|| format!("no fault is called `{name}`"))
    }
}

/// A fault and its place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mutant {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub fault: Fault,
}

impl Display for Mutant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.file, self.line, self.column, self.fault)
    }
}

impl FromStr for Mutant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.rsplitn(4, ':');
        let mut part =
            || parts.next().ok_or_else(|| format!("`{text}` is not FILE:LINE:COLUMN:FAULT"));
        let fault = part()?.parse()?;
        let column = part()?.parse().map_err(|error| format!("{text}: {error}"))?;
        let line = part()?.parse().map_err(|error| format!("{text}: {error}"))?;
        Ok(Self { file: part()?.to_owned(), line, column, fault })
    }
}

static PLANTED: LazyLock<Option<Mutant>> = LazyLock::new(|| {
    let text = std::env::var("LOCKWRIGHT_MUTANT").ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("LOCKWRIGHT_MUTANT: {error}")))
});

static LIST: LazyLock<Option<Mutex<HashSet<Mutant>>>> =
    LazyLock::new(|| std::env::var_os("LOCKWRIGHT_MUTANTS").map(|_| Mutex::default()));

/// Whether the fault is planted here; notes that it could be.
fn planted(fault: Fault, at: &Location<'_>) -> bool {
    if let Some(list) = &*LIST {
        note(list, fault, at);
    }
    PLANTED.as_ref().is_some_and(|mutant| {
        mutant.fault == fault
            && mutant.line == at.line()
            && mutant.column == at.column()
            && mutant.file == at.file()
    })
}

fn note(list: &Mutex<HashSet<Mutant>>, fault: Fault, at: &Location<'_>) {
    let mutant = Mutant { file: at.file().to_owned(), line: at.line(), column: at.column(), fault };
    // The locks' own operations, not those of the models.
    if mutant.file.contains("/tests/") || !list.lock().unwrap().insert(mutant.clone()) {
        return;
    }
    let mut line = String::new();
    writeln!(line, "{mutant}").expect("a string");
    let path = std::env::var_os("LOCKWRIGHT_MUTANTS").expect("set if there is a list");
    let file = std::fs::File::options().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{}: {error}", path.to_string_lossy()));
}

/// The ordering of a load here.
pub fn load(order: Ordering, at: &Location<'_>) -> Ordering {
    match order {
        Acquire | SeqCst if planted(Fault::Unacquired, at) => Relaxed,
        _ => order,
    }
}

/// The ordering of a store here.
pub fn store(order: Ordering, at: &Location<'_>) -> Ordering {
    match order {
        Release | SeqCst if planted(Fault::Unreleased, at) => Relaxed,
        _ => order,
    }
}

/// The ordering of a read and write in one here.
pub fn both(order: Ordering, at: &Location<'_>) -> Ordering {
    let acquires = matches!(order, Acquire | AcqRel | SeqCst);
    let releases = matches!(order, Release | AcqRel | SeqCst);
    if acquires && planted(Fault::Unacquired, at) {
        if releases { Release } else { Relaxed }
    } else if releases && planted(Fault::Unreleased, at) {
        if acquires { Acquire } else { Relaxed }
    } else {
        order
    }
}

/// The orderings of a compare-exchange here. Its failure loses Acquire together with its success.
pub fn exchange(success: Ordering, failure: Ordering, at: &Location<'_>) -> (Ordering, Ordering) {
    let changed = both(success, at);
    let failure = if changed == success { load(failure, at) } else { Relaxed };
    (changed, failure)
}

/// The ordering of a fence here; none: there is no fence.
pub fn fence(order: Ordering, at: &Location<'_>) -> Option<Ordering> {
    (!planted(Fault::Unfenced, at)).then_some(order)
}

/// Whether a wake here is left out.
pub fn dropped(at: &Location<'_>) -> bool {
    planted(Fault::Unwoken, at)
}
