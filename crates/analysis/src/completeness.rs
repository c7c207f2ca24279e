//! Whether a process was watched whole, as its ledger tells: why recording stopped, and what was
//! lost.

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::stopped;
use lockwright_ledger::rows::meter::Meter;
use lockwright_ledger::rows::object::ObjectPools;

use crate::finding::Gap;

/// A reason why recording stops: its number in the ledger, its name in JSON, what to say of it, and
/// what to do about it.
type Reason = (u32, &'static str, &'static str, &'static str);

const REASONS: [Reason; 7] = [
    (
        stopped::NO_SPACE,
        "no-space",
        "the ledger's file system is full",
        "make room, or name a directory that has more of it: --ledger-dir DIR",
    ),
    (
        stopped::HOLDER_GONE,
        "holder-gone",
        "a thread ended, or jumped out, while it recorded",
        "lockwright blocks signals while it records, so this should not be: please report it",
    ),
    (
        stopped::HOLDER_STALLED,
        "holder-stalled",
        "a thread that recorded made no progress for half a minute",
        "was it stopped by a debugger, or kept from running by threads of a higher priority? Let it run",
    ),
    (
        stopped::ADDRESS_SPACE,
        "address-space",
        "the process could map no more memory for the ledger",
        "raise its limit of address space (RLIMIT_AS, `ulimit -v`) or of mappings (vm.max_map_count)",
    ),
    (
        stopped::FILE_SIZE,
        "file-size",
        "the ledger was as long as the process may have files",
        "raise its limit of file sizes (RLIMIT_FSIZE, `ulimit -f`)",
    ),
    (
        stopped::LEDGER_FULL,
        "ledger-full",
        "the ledger has as many rows as it can have",
        "watch a shorter run, or fewer processes: --follow",
    ),
    (
        stopped::SYSTEM_CALLS,
        "system-calls",
        "the process forbade itself the system calls that recording needs",
        "watch it without its sandbox (seccomp), if it has an option for that",
    ),
];

/// What to do about a ledger that was cut.
const COPY_WHOLE: &str =
    "copy the whole file again; it is sparse: `cp --sparse=always`, `tar -S`, `rsync -S`";

/// What was not recorded of a process, or is not in its ledger any more; nothing if it was watched
/// whole.
pub fn gaps(ledger: &Ledger) -> Vec<Gap> {
    let header = ledger.header();
    let gap = |reason, why: String, help: &str| Gap {
        pid: header.pid,
        reason,
        why,
        help: help.to_owned(),
    };
    let mut gaps = Vec::new();
    let lost = match lost(ledger) {
        0 => String::new(),
        1 => "; 1 record was lost".to_owned(),
        many => format!("; {many} records were lost"),
    };
    if header.stopped != stopped::NO {
        let known = REASONS.iter().find(|reason| reason.0 == header.stopped);
        let (reason, why, help) = known.map_or(
            (
                "unknown",
                "for a reason that this lockwright does not know",
                "use a newer lockwright",
            ),
            |&(_, reason, why, help)| (reason, why, help),
        );
        let why = format!("recording stopped before the program ended: {why}{lost}");
        gaps.push(gap(reason, why, help));
    } else if let Some(lost) = lost.strip_prefix("; ") {
        gaps.push(gap(
            "records-lost",
            lost.to_owned(),
            "name a directory with more room: --ledger-dir DIR",
        ));
    }
    if ledger.missing_bytes() > 0 {
        let why = format!(
            "the ledger is cut short, its last {} bytes are missing: there may be more findings",
            ledger.missing_bytes()
        );
        gaps.push(gap("ledger-cut", why, COPY_WHOLE));
    }
    let off = ledger.rows::<ObjectPools>().map(|(_, pools)| pools.off).find(|&off| off != 0);
    if let Some(off) = off {
        let (why, help) = match off {
            1 => (
                "for want of memory",
                "raise the process's memory limits, or leave objects out: --no-objects",
            ),
            _ => (
                "as a thread that tracked them was gone or made no progress",
                "leave objects out: --no-objects",
            ),
        };
        let why = format!(
            "tracking of objects ended {why}: condition variables, timers and the like were not watched from then on"
        );
        gaps.push(gap("objects-stopped", why, help));
    }
    gaps
}

/// Records that could not be written, those of lockmeter's threads included.
pub fn lost(ledger: &Ledger) -> u64 {
    let of_threads = ledger.rows::<Meter>().map(|(_, meter)| meter.lost);
    of_threads.fold(ledger.header().lost, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_words() {
        for reason in 1..=stopped::SYSTEM_CALLS {
            assert_eq!(REASONS.iter().filter(|row| row.0 == reason).count(), 1, "{reason}");
        }
        assert!(!REASONS.iter().any(|row| row.0 == stopped::NO));
    }
}
