//! The plan itself: what `cargo xtask test floors` holds the sources to.

/// A crate, the crates of ours that it may use, and its floors from the top. On a floor are rooms:
/// a module each, or several that need each other, joined by " + ".
pub struct Crate {
    pub name: &'static str,
    pub dir: &'static str,
    /// It may have sentences in its strings.
    pub says: bool,
    pub uses: &'static [&'static str],
    pub floors: &'static [&'static [&'static str]],
}

pub const CRATES: &[Crate] = &[
    // Runs programs, and says what came of it.
    Crate {
        name: "lockwright-cli",
        dir: "host/cli",
        says: true,
        uses: &[
            "lockwright-top",
            "lockwright-report",
            "lockwright-analysis",
            "lockwright-bpf",
            "lockwright-inlined",
            "lockwright-cpython",
            "lockwright-glibc",
            "lockwright-ledger",
            "lockwright-console",
            "lockwright-measure",
        ],
        floors: &[
            &["run"],
            &["program"],
            &["args"],
            &["ledger_dir", "manual", "progress"],
            &["arch"],
        ],
    },
    // The screen of `lockwright top`: from moments and keys to cells.
    Crate {
        name: "lockwright-top",
        dir: "host/top",
        says: true,
        uses: &["lockwright-report"],
        floors: &[&["screen", "snapshot"], &["views"], &["board"], &["cells", "keys", "style"]],
    },
    // What every command has: options, streams, files, errors, help.
    Crate {
        name: "lockwright-console",
        dir: "host/console",
        says: true,
        uses: &[],
        floors: &[
            &["usage_error"],
            &["man", "streams"],
            &["own_stack", "sink"],
            &["error", "status"],
            &["args", "fresh_line", "inherited", "manual", "plain", "seed", "shell", "whole_file"],
        ],
    },
    // Figures, and the machine they are of.
    Crate {
        name: "lockwright-measure",
        dir: "host/measure",
        says: true,
        uses: &[],
        floors: &[&["machine", "stats", "two_samples"]],
    },
    Crate {
        name: "lockwright-report",
        dir: "host/report",
        says: true,
        uses: &["lockwright-analysis", "lockwright-console", "lockwright-ledger"],
        floors: &[
            &["ci", "reports"],
            &["html", "json", "live", "sarif", "traced"],
            &["attached", "lockmeter", "verdict"],
            &["text", "coverage_json", "waiting_json"],
            &["listing"],
            &["prose", "glob", "kinds_page"],
        ],
    },
    Crate {
        name: "lockwright-analysis",
        dir: "host/analysis",
        says: false,
        uses: &[
            "lockwright-cpython",
            "lockwright-glibc",
            "lockwright-ledger",
            "lockwright-bpf",
            "lockwright-measure",
        ],
        floors: &[
            &["class_ops", "under_way"],
            &["traced"],
            &["attached", "lockmeter", "merge"],
            &["analyse"],
            &["across", "finders"],
            &["lockdep", "debugobjects", "dependencies"],
            &["all_symbols", "view"],
            &["model"],
            &["completeness", "symbolize"],
            &["finding"],
            &["process_end"],
            &["named", "progress", "reach", "recording", "signal"],
            &["arch"],
        ],
    },
    // Runs in the program under test.
    Crate {
        name: "lockwright-preload",
        dir: "guest/preload",
        says: true,
        uses: &[
            "lockwright-cpython",
            "lockwright-engines",
            "lockwright-exec",
            "lockwright-glibc",
            "lockwright-ledger",
        ],
        floors: &[
            &["init"],
            &["interpose"],
            &["lockdep", "lockmeter", "debugobjects"],
            &["process"],
            &["futex", "lock_id"],
            &["callsite", "layouts", "steering", "threads"],
            &["hosts", "libc", "recorder", "stack"],
            &["os"],
            &["arch"],
        ],
    },
    Crate {
        name: "lockwright-engines",
        dir: "guest/engines",
        says: true,
        uses: &["lockwright-ledger"],
        floors: &[
            &["lockdep", "lockmeter", "debugobjects"],
            &["core_lock", "held", "index", "wakes"],
            &["search", "shared", "shared_row", "trial"],
            &["arch", "capture"],
        ],
    },
    // What both libraries share: what they must know before a process executes a program, and look-ups in what is loaded.
    Crate {
        name: "lockwright-exec",
        dir: "guest/exec",
        says: true,
        uses: &["lockwright-glibc"],
        floors: &[
            &["actions", "environment", "image", "loader", "lookup"],
            &["readable"],
            &["sys"],
            &["arch"],
        ],
    },
    // Runs in the program under test, instead of its locks.
    Crate {
        name: "lockwright-swap",
        dir: "guest/swap",
        says: true,
        uses: &["lockwright", "lockwright-exec", "lockwright-glibc"],
        floors: &[
            &["exports"],
            &["c11", "execute"],
            &["cancel_type"],
            &["cond"],
            &["layout", "lock_choice"],
            &["async_cancel"],
            &["table"],
            &["mutex", "rwlock", "spin"],
            &["exclusive"],
            &["cancel", "platform"],
            &["selection", "thread_numbers"],
            &["bad_unlock", "counts", "deadline", "era", "next"],
            &["environment", "os", "tls"],
            &["arch"],
        ],
    },
    // Runs as root, next to the command, and loads programs into the kernel.
    Crate {
        name: "lockwright-bpf",
        dir: "host/bpf",
        says: true,
        uses: &[],
        floors: &[&["helper"], &["load"], &["messages"]],
    },
    // From a module's machine code to the code that watches its inlined locks.
    Crate {
        name: "lockwright-inlined",
        dir: "host/inlined",
        says: true,
        uses: &["lockwright-ledger"],
        floors: &[
            &["execution", "table"],
            &["fast_path", "operations", "pointers", "rejoin", "unnamed"],
            &["place", "values"],
            &["block", "function"],
            &["calls", "jump_tables", "landing_pads"],
            &["module"],
            &["names", "error", "counts", "registers"],
        ],
    },
    // What is known of CPython's structures.
    Crate {
        name: "lockwright-cpython",
        dir: "cpython",
        says: true,
        uses: &[],
        floors: &[&["lines", "text"], &["layout"]],
    },
    // What is known of the C library's objects.
    Crate {
        name: "lockwright-glibc",
        dir: "glibc",
        says: true,
        uses: &[],
        floors: &[&["table"], &["arch", "library", "version"]],
    },
    // All that the two halves share.
    Crate {
        name: "lockwright-ledger",
        dir: "ledger",
        says: true,
        uses: &[],
        floors: &[
            &["claims", "events", "live", "part_copy"],
            &["reader", "writer"],
            &["numbered", "rows", "timeline"],
            &["file", "histogram", "inlined", "layout", "readers_word", "site", "steering"],
            &["arch"],
        ],
    },
    // Judges locks.
    Crate {
        name: "lockwright-lab",
        dir: "lab/lab",
        says: true,
        uses: &["lockwright", "lockwright-measure"],
        floors: &[&["tables"], &["bench"], &["parts", "torture"], &["chart", "cpus"]],
    },
    // Runs the laboratory, and prints what it finds.
    Crate {
        name: "lockwright-lab-cli",
        dir: "lab/lab-cli",
        says: true,
        uses: &["lockwright-console", "lockwright-lab", "lockwright-measure", "lockwright-sim"],
        floors: &[&["run", "program"], &["args"], &["manual"]],
    },
    // Judges locks on machines that are not there.
    Crate {
        name: "lockwright-sim",
        dir: "lab/sim",
        says: true,
        uses: &["lockwright", "lockwright-engines"],
        floors: &[
            &["workload"],
            &["locks"],
            &["setup"],
            // The words of locks ask the world, or the explorer, which explores libraries' locks, too, and those ask
            // as words do.
            &["platform + explore + library"],
            &["world"],
            &["task"],
            &["arena", "cache", "cna", "delays", "peers"],
            &["account", "cell", "futex", "machine", "rng", "runqueue", "spin", "store"],
            &["time"],
        ],
    },
    Crate {
        name: "lockwright-capi",
        dir: "locks/capi",
        says: true,
        uses: &["lockwright"],
        floors: &[
            &["condvar", "hybrid_condvar"],
            &[
                "debug_mutex",
                "debug_rtmutex",
                "debug_rwsem",
                "debug_spinlock",
                "hybrid_mutex",
                "hybrid_rwlock",
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
    // Is nothing but tests.
    Crate { name: "lockwright-models", dir: "locks/models", says: false, uses: &[], floors: &[] },
    // A platform keeps memory for some locks, and those are over a platform: they are one room.
    Crate {
        name: "lockwright",
        dir: "locks/lockwright",
        says: true,
        uses: &[],
        floors: &[
            &["sync"],
            &["bkl", "debug_rwsem", "lock_library", "locks"],
            &["condvar", "debug"],
            &["exclusive", "irqsave"],
            &["biased_rwlock", "completion", "mutex", "semaphore", "ww_mutex"],
            &[
                "hybrid_rwlock",
                "mcs",
                "owner",
                "percpu_rwsem",
                "preference_rwlock",
                "pvqspinlock",
                "qrwlock",
                "rwsem",
                "seqlock",
                "swait",
            ],
            &[
                "hybrid_mutex",
                "k42",
                "local_lock",
                "pv_halt",
                "qspinlock",
                "sleeper",
                "tas",
                "ticket",
            ],
            &[
                "platform + event + osq + pv_hash + qnode + rtmutex + visible_readers + wait_lock",
                "objects",
                "traced",
            ],
            &["annotate", "irq", "wait_list"],
        ],
    },
];
