//! How much was watched, in words.

use lockwright_analysis::finding::coverage::{
    Bounded, FutexHeld, Inlined, InlinedWhy, Missing, Note, OtherLayouts, Search, Stopped, Untimed,
};
use lockwright_analysis::finding::{MissingNames, ModuleNote, object_types};
use lockwright_analysis::process_end::ProcessEnd;
use lockwright_analysis::signal;

use super::futexes::purpose;
use super::words::{count, join, locks};

/// A gap and its remedy: without a final full stop; the latter may be empty.
pub struct Gap {
    /// The missing part.
    pub why: String,
    /// The remedy.
    pub help: String,
}

/// That of one process.
pub fn gap(missing: &Missing) -> Gap {
    let (why, help) = match missing {
        Missing::RecordingStopped { why, lost } => {
            let (why, help) = stopped(*why);
            let lost = if *lost > 0 { format!("; {}", records_lost(*lost)) } else { String::new() };
            (format!("recording stopped before the program ended: {why}{lost}"), help)
        }
        Missing::RecordsLost { lost } => {
            (records_lost(*lost), "name a directory with more room: --ledger-dir DIR")
        }
        Missing::LedgerCut { bytes } => (
            format!(
                "the ledger is cut short, its last {bytes} bytes are missing: there may be more findings"
            ),
            "copy the whole file again; it is sparse: `cp --sparse=always`, `tar -S`, `rsync -S`",
        ),
        Missing::LedgerChanging => (
            "the ledger changed each time that it was read: orders between threads may be missing"
                .to_owned(),
            "read it again, or once the program has ended",
        ),
        Missing::ObjectsStopped { out_of_memory } => {
            let (why, help) = match out_of_memory {
                true => (
                    "because there was no memory",
                    "raise the process's memory limits, or leave objects out: --no-objects",
                ),
                false => (
                    "as a thread that tracked them was gone or made no progress",
                    "leave objects out: --no-objects",
                ),
            };
            let why = format!(
                "tracking of objects ended {why}: condition variables, timers and the like were not watched from then on"
            );
            (why, help)
        }
        Missing::Hidden { exe } => (
            format!(
                "{exe} was not watched: lockwright's directory is hidden there, by another root directory or what is mounted over it"
            ),
            "name a directory that has the same path in there: --ledger-dir DIR; or run lockwright in there",
        ),
        Missing::Environment { exe } => (
            format!(
                "{exe} was not watched: its environment was made without LD_PRELOAD and LOCKWRIGHT_DIR"
            ),
            "pass both on, as `env -i LD_PRELOAD=\"$LD_PRELOAD\" LOCKWRIGHT_DIR=\"$LOCKWRIGHT_DIR\"` does; or run lockwright inside: `env -i lockwright check -- PROGRAM`",
        ),
        Missing::Ledger { why, help, .. } => (why.clone(), help.as_str()),
    };
    Gap { why, help: help.to_owned() }
}

/// Both in one line.
pub fn gap_line(missing: &Missing) -> String {
    let Gap { why, help } = gap(missing);
    if help.is_empty() { why } else { format!("{why}; {help}") }
}

fn records_lost(lost: u64) -> String {
    match lost {
        1 => "1 record was lost".to_owned(),
        many => format!("{many} records were lost"),
    }
}

/// Why recording stopped, and what to do about it.
fn stopped(why: Stopped) -> (&'static str, &'static str) {
    match why {
        Stopped::NoSpace => (
            "the ledger's file system is full",
            "make room, or name a directory that has more of it: --ledger-dir DIR",
        ),
        Stopped::HolderGone => (
            "a thread ended, or jumped out, while it recorded",
            "lockwright blocks signals while it records, so this should not be: please report it",
        ),
        Stopped::HolderStalled => (
            "a thread that recorded made no progress for half a minute",
            "was it stopped by a debugger, or kept from running by threads of a higher priority? Let it run",
        ),
        Stopped::AddressSpace => (
            "the process could map no more memory for the ledger",
            "raise its limit of address space (RLIMIT_AS, `ulimit -v`) or of mappings (vm.max_map_count)",
        ),
        Stopped::FileSize => (
            "the ledger was as long as the process may have files",
            "raise its limit of file sizes (RLIMIT_FSIZE, `ulimit -f`)",
        ),
        Stopped::LedgerFull => (
            "the ledger has as many rows as it can have",
            "watch a shorter run, or fewer processes: --follow",
        ),
        Stopped::SystemCalls => (
            "the process forbade itself the system calls that recording needs",
            "watch it without its sandbox (seccomp), if it has an option for that",
        ),
        Stopped::Inconsistent => (
            "lockdep found its own data inconsistent: a chain key that the held locks do not have",
            "does the program write to memory that is not its own? If it does not: please report it",
        ),
        Stopped::Unknown => {
            ("for a reason that this lockwright does not know", "use a newer lockwright")
        }
    }
}

/// A note on a process.
pub fn note(note: &Note) -> String {
    match note {
        Note::Missing(missing) => gap_line(missing),
        Note::ChildrenUnwatched(1) => {
            "a child that it forked was not watched: in its sandbox there was no place for a ledger"
                .to_owned()
        }
        Note::ChildrenUnwatched(many) => format!(
            "{many} children that it forked were not watched: in their sandbox there was no place for their ledgers"
        ),
        Note::RowsRefused(rows) => format!(
            "the ledger is damaged, or made up: {rows} of its rows claim what others have claimed before; that is left out"
        ),
        Note::AllocationsLost(lost) => format!(
            "{lost} allocations could not be tracked because there was no memory: locks in them go by where they \
             were first taken"
        ),
        Note::PairsFolded(pairs) => {
            format!("{pairs} pairs of locks were recorded as pairs of their classes only")
        }
        Note::Bounded(kind) => bounded(*kind).to_owned(),
        Note::OtherLayouts(other) => other_layouts(other),
        Note::Inlined(inlined) => inlined_locks(inlined),
        Note::SearchCut(search) => search_cut(*search).to_owned(),
        Note::DeclarationsContradict(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "the declared lock orders contradict each other: {} before {}",
                names.join(" before "),
                names.first().map_or("", String::as_str)
            )
        }
        Note::Untimed(why) => untimed(*why),
        Note::EndUnknown => "its time counts up to the last that is known of it".to_owned(),
        Note::StillWaiting(threads) => {
            let were = if *threads == 1 { "was" } else { "were" };
            format!(
                "{} {were} waiting at the end; those waits are not among the times",
                count(*threads, "thread")
            )
        }
        Note::WaitedWithLocks(waits) => waited_with_locks(waits),
        Note::Told(text) => text.clone(),
    }
}

/// Waits at futexes, not more of them than can be read in a line.
fn waited_with_locks(waits: &[FutexHeld]) -> String {
    const MOST: usize = 3;
    let one = |wait: &FutexHeld| {
        let FutexHeld { kind, place, locks: held } = wait;
        format!("for {} at {place} with {} held", purpose(*kind), locks(held))
    };
    let mut parts: Vec<String> = waits.iter().take(MOST).map(one).collect();
    if let Some(more) = waits.len().checked_sub(MOST).filter(|&more| more > 0) {
        parts.push(format!("in {} more", count(more as u64, "place")));
    }
    format!(
        "threads waited {}: where the thread that ends the wait needs such a lock first, they deadlock, and no order shows it",
        join(&parts)
    )
}

/// Inlined locks of a module that are not watched.
fn inlined_locks(inlined: &Inlined) -> String {
    let Inlined { module, acquisitions, watched, why } = inlined;
    let Some(why) = why else {
        return format!(
            "{watched} of {} of locks that are inlined in {module} are watched (Rust's std::sync, parking_lot): orders of the others \
             are missing",
            count(u64::from(*acquisitions), "acquisition")
        );
    };
    let why = match why {
        InlinedWhy::OtherMachine => {
            return format!(
                "locks that are inlined in {module} are not watched (Rust's std::sync, parking_lot): lockwright finds them in code \
                 for x86-64 only"
            );
        }
        InlinedWhy::OtherCode => "the code in memory is not the file's",
        InlinedWhy::NoMemory => "there was no free memory near its code",
        InlinedWhy::Forbidden => {
            "the system does not let code be changed (SELinux's execmod, or the like)"
        }
        InlinedWhy::Refused => {
            "there are too many modules with such locks, or the processor has a shadow stack"
        }
        InlinedWhy::Incomplete => "not all places where they are released can be seen in its code",
        InlinedWhy::TooLate => "threads may have run its code before it could be changed",
    };
    format!(
        "the {} of locks that are inlined in {module} are not watched (Rust's std::sync, parking_lot): {why}",
        count(u64::from(*acquisitions), "acquisition")
    )
}

/// The records that are no longer made, and the consequence.
fn bounded(kind: Bounded) -> &'static str {
    match kind {
        Bounded::Holds => {
            "threads were created with locks held more often than the ledger records: what later threads \
             did is graded possible, not likely"
        }
        Bounded::Syncs => {
            "more barriers and semaphores were made than the ledger records: what later threads did is \
             graded possible, not likely"
        }
        Bounded::Signallers => {
            "more threads signalled at one place than the ledger records: what later threads did is \
             graded possible, not likely"
        }
        Bounded::Uses => {
            "more threads used a lock with a signal open than the ledger records: the later ones are \
             missing"
        }
    }
}

/// Types whose objects' bytes are laid out in another way than known.
pub fn other_layouts(other: &OtherLayouts) -> String {
    let plural = |name: &str| format!("{name}{}", if name.ends_with('x') { "es" } else { "s" });
    let names: Vec<String> =
        other.types.iter().map(|&number| plural(object_types::name(number))).collect();
    let names = match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let libc = match other.libc {
        Some(version) => format!("glibc {version}"),
        None => "this C library".to_owned(),
    };
    format!(
        "{names} of {libc} are laid out in a way that lockwright does not know: uses before \
         initialisation or after destruction may be missing for them"
    )
}

fn search_cut(search: Search) -> &'static str {
    match search {
        Search::LockCycles => {
            "searching cycles of locks was cut short, as there are too many: the shortest ones were \
             looked at first, longer ones may be missing"
        }
        Search::ClassCycles => {
            "searching cycles of lock classes was cut short, as there are too many: the shortest ones \
             were looked at first, longer ones may be missing"
        }
        Search::RunCycles => {
            "the search for cycles of all runs was cut short, as there are too many: longer ones may \
             be missing"
        }
        Search::SharedLocks => {
            "the search for cycles of locks that processes share was cut short, as there are too many: \
             longer ones may be missing"
        }
        Search::Handlers => {
            "more locks are held with a signal open than could be looked at: some orders that a \
             handler may take part in are missing"
        }
        Search::Nesting => "the search for locks nested within their class was cut short",
        Search::DeclaredOrders => "the comparison with declared lock orders was cut short",
    }
}

fn untimed(why: Untimed) -> String {
    let why = match why {
        Untimed::RateUnknown => {
            "the rate of its clock is not known, since it was read less than twice".to_owned()
        }
        Untimed::NotTimed => "nothing was timed".to_owned(),
        Untimed::ClockUnknown(kind) => {
            format!("its clock is of kind {kind}, which this lockwright does not know")
        }
    };
    format!("{why}: times are missing, counts are right")
}

/// How a process ended, unless it ended as most processes do.
pub fn end(end: ProcessEnd) -> Option<String> {
    let by = |call: &str, code: Option<u8>| match code {
        Some(code) => format!("it ended by {call}({code})"),
        None => format!("it ended by {call}"),
    };
    match end {
        ProcessEnd::Exit(_) => None,
        ProcessEnd::ExitAtOnce(code) => Some(by("_exit", code)),
        ProcessEnd::QuickExit(code) => Some(by("quick_exit", code)),
        ProcessEnd::Exec => Some("it called exec, and went on as another program".to_owned()),
        ProcessEnd::Signal(signal) => {
            Some(format!("it was killed by {}", signal::name(signal as u32)))
        }
        ProcessEnd::Running => Some("it still runs".to_owned()),
        ProcessEnd::Unknown => Some(
            "how it ended is not known: it was killed, or ended by a system call of its own"
                .to_owned(),
        ),
    }
}

/// The missing names of a module.
pub fn names(missing: MissingNames) -> &'static str {
    match missing {
        MissingNames::Changed => "changed since the run (other build id): no names from it",
        MissingNames::Unreadable => "cannot be read: no names from it",
        MissingNames::Stripped => "has no symbols: install its debug symbols",
    }
}

/// The same with the module.
pub fn module(note: &ModuleNote) -> String {
    format!("{} {}", note.module, names(note.missing))
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::Name;
    use lockwright_analysis::finding::futex::{FutexKind, FutexUse};

    use super::*;

    #[test]
    fn ends() {
        use ProcessEnd::*;
        assert_eq!(end(Exit(None)), None);
        assert_eq!(end(ExitAtOnce(Some(0))).unwrap(), "it ended by _exit(0)");
        assert_eq!(end(Signal(9)).unwrap(), "it was killed by SIGKILL");
    }

    #[test]
    fn layouts_that_are_not_known_are_named() {
        let note = |libc, types| other_layouts(&OtherLayouts::of(libc, types).unwrap());
        let text = note(2 << 16 | 99, 1 << 3 | 1 << 1);
        assert!(text.starts_with("mutexes and condition variables of glibc 2.99 are"), "{text}");
        assert!(note(0, 1 << 5).starts_with("barriers of this C library are"));
        assert_eq!(OtherLayouts::of(2 << 16 | 41, 0), None);
    }

    #[test]
    fn waits_with_locks_are_listed_up_to_a_line() {
        let wait = |place: &str| FutexHeld {
            kind: FutexKind { used_as: FutexUse::Condition, of: Some("std::future") },
            place: place.to_owned(),
            locks: vec![Name::symbol("m"), Name::description("mutex initialised at a.cc:3")],
        };
        let one = "for a condition (std::future) at a.cc:1 (f) with `m` and the mutex initialised at a.cc:3 held";
        let text = note(&Note::WaitedWithLocks(vec![wait("a.cc:1 (f)")]));
        assert!(text.starts_with(&format!("threads waited {one}: where")), "{text}");
        let text = note(&Note::WaitedWithLocks(["1", "2", "3", "4", "5"].map(wait).to_vec()));
        assert!(text.contains("at 3 with"), "{text}");
        assert!(!text.contains("at 4 with") && text.contains(" and in 2 places more:"), "{text}");
    }

    #[test]
    fn a_gap_tells_its_remedy() {
        let missing = Missing::RecordingStopped { why: Stopped::FileSize, lost: 1 };
        let line = gap_line(&missing);
        assert!(line.contains("; 1 record was lost; raise its limit"), "{line}");
    }
}
