//! The plan itself: what `cargo xtask test floors` holds the sources to.

use super::Crate;

pub const CRATES: &[Crate] = &[
    // Runs programs, and says what came of it.
    Crate {
        name: "lockwright-cli",
        dir: "crates/cli",
        says: true,
        uses: &["lockwright-report", "lockwright-analysis", "lockwright-ledger", "lockwright-lab"],
        floors: &[&["run"], &["args"], &["ledger_dir", "manual", "progress", "whole_file"]],
    },
    Crate {
        name: "lockwright-report",
        dir: "crates/report",
        says: true,
        uses: &["lockwright-analysis", "lockwright-ledger"],
        floors: &[
            &["json", "sarif"],
            &["lockmeter", "verdict"],
            &["text", "coverage_json"],
            &["prose", "listing", "error", "glob"],
        ],
    },
    Crate {
        name: "lockwright-analysis",
        dir: "crates/analysis",
        says: false,
        uses: &["lockwright-ledger"],
        floors: &[
            &["class_ops"],
            &["lockmeter", "merge"],
            &["analyse"],
            &["lockdep", "debugobjects", "dependencies"],
            &["view"],
            &["model"],
            &["completeness", "symbolize"],
            &["finding"],
            &["process_end"],
            &["named", "progress", "signal"],
        ],
    },
    // Runs in the program under test.
    Crate {
        name: "lockwright-preload",
        dir: "crates/preload",
        says: true,
        uses: &["lockwright-engines", "lockwright-ledger"],
        floors: &[
            &["init"],
            &["interpose"],
            &["lockdep", "lockmeter", "debugobjects"],
            &["process"],
            &["lock_id"],
            &["callsite", "threads"],
            &["hosts", "libc", "recorder", "stack"],
            &["os"],
        ],
    },
    Crate {
        name: "lockwright-engines",
        dir: "crates/engines",
        says: true,
        uses: &["lockwright-ledger"],
        floors: &[
            &["lockdep", "lockmeter", "debugobjects"],
            &["core_lock", "held", "index"],
            &["near"],
        ],
    },
    // All that the two halves share.
    Crate {
        name: "lockwright-ledger",
        dir: "crates/ledger",
        says: true,
        uses: &[],
        floors: &[
            &["claims"],
            &["reader", "writer"],
            &["rows"],
            &["file", "histogram", "layout", "site"],
        ],
    },
    // Judges locks.
    Crate {
        name: "lockwright-lab",
        dir: "crates/lab",
        says: true,
        uses: &["lockwright"],
        floors: &[&["tables"], &["bench"], &["machine", "parts", "stats", "torture"]],
    },
    Crate {
        name: "lockwright-capi",
        dir: "crates/capi",
        says: true,
        uses: &["lockwright"],
        floors: &[
            &["condvar"],
            &[
                "debug_mutex",
                "debug_rtmutex",
                "debug_rwsem",
                "debug_spinlock",
                "mcs",
                "mutex",
                "percpu_rwsem",
                "pvqspinlock",
                "pvqspinlock_single_steal",
                "pvqspinlock_unfair",
                "qrwlock",
                "qspinlock",
                "rtmutex",
                "rwsem",
                "tas",
                "ticket",
            ],
            &["acquire", "bkl", "debug", "completion", "seqlock", "ww_mutex"],
            &["semaphore", "tool"],
            &["holds", "irq", "lock_events", "result"],
        ],
    },
    // A platform keeps memory for some locks, and those are over a platform: they are one room.
    Crate {
        name: "lockwright",
        dir: "crates/locks",
        says: true,
        uses: &[],
        floors: &[
            &["bkl", "debug_rwsem", "locks", "sync"],
            &["debug"],
            &["condvar", "exclusive", "irqsave"],
            &["completion", "mutex", "semaphore", "ww_mutex"],
            &[
                "mcs",
                "owner",
                "percpu_rwsem",
                "pvqspinlock",
                "qrwlock",
                "rwsem",
                "seqlock",
                "swait",
            ],
            &["k42", "local_lock", "pv_halt", "qspinlock", "sleeper", "tas", "ticket"],
            &[
                "platform + event + osq + pv_hash + qnode + rtmutex + wait_lock",
                "objects",
                "traced",
            ],
            &["annotate", "irq", "wait_list"],
        ],
    },
];
