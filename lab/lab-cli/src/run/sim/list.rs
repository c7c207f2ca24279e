//! The list of what can be simulated.

use std::fmt::Write;

use lockwright_sim::explore;
use lockwright_sim::library::LibraryLock;
use lockwright_sim::locks::KINDS;
use lockwright_sim::machine::PRESETS;
use lockwright_sim::workload::WORKLOADS;

/// Machines, workloads and locks, with a word on each.
pub fn text(libraries: &[LibraryLock]) -> String {
    let mut out = String::new();
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&str, String)>| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{title}:");
        for (name, about) in rows {
            let _ = writeln!(out, "  {name:<17} {about}");
        }
    };
    section("machines", &mut PRESETS.iter().map(|it| (it.name, it.about.to_owned())));
    section(
        "workloads",
        &mut WORKLOADS.iter().map(|it| {
            let own = it.shapes.map(|_| format!(" (locks: {})", it.locks().join(", ")));
            (it.name, format!("{}{}", it.about, own.unwrap_or_default()))
        }),
    );
    section("locks", &mut KINDS.iter().map(|it| (it.name, it.about.to_owned())));
    section(
        "locks of --explore",
        &mut explore::KINDS.iter().map(|it| (it.name, it.about.to_owned())),
    );
    section(
        "faults planted for --explore, which must be found",
        &mut explore::FAULTS.iter().map(|it| (it.name, it.about.to_owned())),
    );
    if !libraries.is_empty() {
        let title = "locks of --lock-library, for both";
        section(title, &mut libraries.iter().map(|it| (it.name, it.about.to_owned())));
    }
    out
}
