//! The plan itself: what `cargo xtask test floors` holds the sources to.

use super::Crate;

pub const CRATES: &[Crate] = &[
    Crate {
        name: "lockwright-preload",
        dir: "crates/preload",
        uses: &["lockwright-engines", "lockwright-ledger"],
        floors: &[],
    },
    Crate {
        name: "lockwright-engines",
        dir: "crates/engines",
        uses: &["lockwright-ledger"],
        floors: &[&["lockdep", "lockmeter", "debugobjects"], &["core_lock", "index", "near"]],
    },
    Crate {
        name: "lockwright-ledger",
        dir: "crates/ledger",
        uses: &[],
        floors: &[
            &["claims"],
            &["reader", "writer"],
            &["rows"],
            &["file", "histogram", "layout", "site"],
        ],
    },
    Crate {
        name: "lockwright-lab",
        dir: "crates/lab",
        uses: &["lockwright"],
        floors: &[&["bench"], &["machine", "stats", "torture"]],
    },
    Crate { name: "lockwright-capi", dir: "crates/capi", uses: &["lockwright"], floors: &[] },
    Crate { name: "lockwright", dir: "crates/locks", uses: &[], floors: &[] },
];
