//! Whether the limits of a process leave room for a ledger.

use lockwright_ledger::layout::{FILE_LENGTHS, MAP_STEP, SPACE_PARTS};

use super::diagnosis::{Effect, Finding};

/// Why this process' limits leave no room for a ledger, if so.
pub fn no_room() -> Option<Finding> {
    room_here().filter(|finding| finding.effect == Effect::Blocks)
}

pub fn room_here() -> Option<Finding> {
    let [space, file] = [libc::RLIMIT_AS, libc::RLIMIT_FSIZE].map(limit);
    room(space, file)
}

/// The soft limit; RLIM_INFINITY is the largest number there is.
fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it writes one limit, for which `limit` has room.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}

/// What limits of address space and file sizes leave to a ledger.
pub fn room(space: u64, file: u64) -> Option<Finding> {
    let length = FILE_LENGTHS.iter().copied().find(|&length| length <= file);
    let most = length.unwrap_or_default().min(space / SPACE_PARTS);
    let help = "raise the limit: `ulimit -v unlimited -f unlimited`";
    match most {
        most if most == FILE_LENGTHS[0] => None,
        ..MAP_STEP => Some(
            Finding::new(
                "limits",
                Effect::Blocks,
                "the limits of address space or file size leave no room for a ledger",
            )
            .help(help),
        ),
        most => Some(
            Finding::new(
                "limits",
                Effect::Note,
                format!("limits of address space or file size leave a ledger {} MiB: where that is not enough, watching stops early", most >> 20),
            )
            .help(help),
        ),
    }
}
