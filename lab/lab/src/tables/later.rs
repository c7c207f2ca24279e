//! Figures that need a bigger machine: their place in the page, until the simulator fills it.

use std::fmt::Write;

use super::name;

/// Published figures that two CPUs cannot show: document, what, and why not.
const LATER: [(u8, &str, &str); 4] = [
    (
        0,
        "a parallel build on 44 and on 144 hardware threads",
        "the shared counter of a class costs what its cache line costs to move between sockets",
    ),
    (
        1,
        "a parallel build on 72 hardware threads, elapsed and system time",
        "the global pool's lock is contended by as many CPUs",
    ),
    (
        3,
        "page faults of 40 threads on 40 CPUs",
        "the exchanges of one word fail where as many CPUs try at once",
    ),
    (
        4,
        "over-commit of 30 to 108 virtual CPUs on 36 cores, and of 16 to 64 on 16",
        "an unfair lock's word moves between two sockets, and few of its waiters are near it",
    ),
];

/// Writes the section.
pub fn write(out: &mut String) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n## What needs a bigger machine\n");
    for (document, what, why) in LATER {
        let _ = writeln!(out, "- {}: {what}; {why}.", name(document));
    }
}
