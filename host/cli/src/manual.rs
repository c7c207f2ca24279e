//! The text of `--help` and the man pages beyond options: one table, read by both.

use lockwright_console::manual::{Entry, Manual, NO_COLOR, USAGE};

const FINDING: Entry =
    ("66", "A finding of failing grade exists (change with --exit-code and --fail-on).");
const OWN_FAILURE: Entry = (
    "125",
    "lockwright itself failed, or the program ended well but was not watched, or not whole (--allow-incomplete).",
);
const NOT_RUNNABLE: Entry =
    ("126", "The program cannot be executed, or not be watched: static, setuid, foreign machine.");
const NOT_FOUND: Entry =
    ("127", "The program was not found, or the interpreter or loader that it names.");

const RUN_ENVIRONMENT: &[Entry] = &[
    NO_COLOR,
    ("XDG_RUNTIME_DIR, TMPDIR", "Where ledgers go; see Files."),
    (
        "LD_PRELOAD, LOCKWRIGHT_DIR, LOCKWRIGHT_ENGINES, LOCKWRIGHT_HOLD, LOCKWRIGHT_INSTANCES, LOCKWRIGHT_BOUNCES, LOCKWRIGHT_FOLLOW, LOCKWRIGHT_STARTER, LOCKWRIGHT_STEERING",
        "Set for the program. Libraries already in LD_PRELOAD stay, after lockwright's.",
    ),
    (
        "LOCKWRIGHT_DEBUG_DIRS, DEBUGINFOD_URLS",
        "Where debug files are looked for: further directories, before /usr/lib/debug; and servers, after it, which \
         debuginfod-find(1) asks and whose files it keeps. Without the variable no server is asked. Unless \
         DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE are set, a file may take 60 s and have 4 GiB, and all files 180 s \
         and 8 GiB.",
    ),
    PUSH_AUTHORIZATION,
    PUSH_CERTIFICATES,
];
const PUSH_AUTHORIZATION: Entry = (
    "LOCKWRIGHT_PUSH_AUTHORIZATION",
    "For --push: the value of the header Authorization. The program does not inherit it.",
);
const PUSH_CERTIFICATES: Entry = (
    "SSL_CERT_FILE, SSL_CERT_DIR",
    "For --push: the certificates to trust servers by, instead of the system's.",
);
const RUN_FILES: &[Entry] = &[
    (
        "$XDG_RUNTIME_DIR/lockwright, /dev/shm/lockwright-UID, ${TMPDIR:-/tmp}/lockwright-UID",
        "The first of these that can be used holds the ledgers, unless --ledger-dir names another; where \
         another user has taken the names, a directory next to them with a name that nobody can guess. Root \
         skips the first: servers that change to another account could not write there.",
    ),
    (
        "SECONDS-PID-*/",
        "The directory of one run in there, removed after the report unless --keep is given. What a \
         killed lockwright left behind, the next one removes. Processes write to a directory in it of a \
         name that nobody can guess; what is kept is gathered once nobody writes any more.",
    ),
    ("PID-*.lwl", "The ledger of one process: sparse, hence much smaller than it looks."),
    ("cost.json", "With --keep: what measuring cost, for later reports."),
    ("end.json", "With --keep: when the program ended, for reports of one that was killed."),
    ("push.json, pushed.json", "With --push: what the server has of the run."),
];

/// `lockwright`.
pub const LOCKWRIGHT: Manual = Manual {
    examples: &[
        ("lockwright demo", "See what it does, on a program with a planted deadlock."),
        (
            "lockwright check -- ./server --port 8080",
            "Watch a program's locks; report when it ends.",
        ),
        (
            "lockwright check --json locks.json -- make test",
            "The same in CI; all child processes are watched.",
        ),
        (
            "lockwright meter -- ./server --port 8080",
            "Measure which lock and which caller cost the time.",
        ),
        ("lockwright doctor ./server", "Tell what can be watched of it, and what cannot."),
    ],
    exit_status: &[
        ("(the program's)", "check, meter, run: the program's own, where nothing below applies."),
        FINDING,
        USAGE,
        OWN_FAILURE,
        NOT_RUNNABLE,
        NOT_FOUND,
    ],
    environment: &[],
    files: &[],
};

/// `lockwright check`.
pub const CHECK: Manual = Manual {
    examples: &[
        (
            "lockwright check -- ./server --port 8080",
            "Report on standard error when the server ends.",
        ),
        (
            "lockwright check --html locks.html -- ./server --port 8080",
            "Also write the report as one page for a browser: docs/pages.md.",
        ),
        (
            "lockwright check -o locks.txt --json locks.json -- make test",
            "Keep the program's standard error free of the report.",
        ),
        (
            "lockwright check --follow='worker-*' -- make test",
            "Watch, of the processes that make starts, only those of such a name.",
        ),
        (
            "lockwright check --fail-on possible -- ./tests",
            "Also fail on what this run's schedule and data did not show.",
        ),
        (
            "lockwright check --on-deadlock abort -- ./server",
            "A real deadlock leaves a core file to look into.",
        ),
        ("lockwright check --keep -- ./server; lockwright report DIR", "Report later, or again."),
        (
            "lockwright check --sarif locks.sarif -- ./tests",
            "Findings next to the source lines, where a code host or an editor reads SARIF.",
        ),
        (
            "lockwright check --github --junit locks.xml -- ctest -j4",
            "In CI: all tests at once, findings next to the source lines and in the list of tests.",
        ),
        (
            "lockwright check --gen-suppressions=known.supp -- ./tests",
            "Rules for what was found, to be looked through, kept, and given to --suppressions.",
        ),
        (
            "lockwright check --suppressions default",
            "Print the rules that ship with lockwright, for harmless faults of well-known libraries.",
        ),
        (
            "lockwright check --baseline locks.json --write-baseline locks.json -- ./tests",
            "Fail because of new findings only, and know them from then on.",
        ),
        (
            "lockwright check --live --wait-threshold 500ms -- ./server",
            "Show findings and long waits while the server runs: docs/live.md.",
        ),
        (
            "lockwright check --live --on-finding 'jq -r .title >> locks.txt' -- ./server",
            "Run a command for each finding, which it gets as JSON.",
        ),
        (
            "lockwright check --abort-on likely -- ./tests",
            "In CI: end the run at the first finding.",
        ),
        ("lockwright check --explain lost-wakeup", "What a kind of finding means."),
        (
            "lockwright check --confirm 60s -- ./tests",
            "Make the deadlocks happen that it predicts, or learn what is in the way: docs/confirm.md.",
        ),
        (
            "lockwright check --perturb -- ./tests",
            "Delay threads at random, so that rare orders and lost wakeups come up.",
        ),
        (
            "lockwright check --avoid DIR#3f2a -- ./server",
            "Keep the threads of a known finding apart until it is fixed.",
        ),
        ("lockwright check --pid 4242", "Why a process hangs that runs already: docs/attach.md."),
    ],
    exit_status: &[PROGRAMS_OWN, FINDING, USAGE, OWN_FAILURE, NOT_RUNNABLE, NOT_FOUND],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

const PROGRAMS_OWN: Entry = (
    "(the program's)",
    "Where nothing below applies. If the program died of a signal, so does lockwright: a shell shows 128 + the signal's number.",
);

/// `lockwright meter`.
pub const METER: Manual = Manual {
    examples: &[
        (
            "lockwright meter -- ./server --port 8080",
            "Locks by how long they were waited for, with callers and who held them meanwhile.",
        ),
        (
            "lockwright meter --html locks.html -- ./server",
            "Also as a page: tables to sort, histograms, blame, flame graphs.",
        ),
        (
            "lockwright meter --hold=sample --top 3 -- ./server",
            "Cheaper, and shorter: holds are timed by sampling.",
        ),
        (
            "lockwright meter --instances --sort contended -- ./server",
            "Which of many locks of one class are the hot ones.",
        ),
        (
            "lockwright meter --pprof locks.pb.gz -- ./server; go tool pprof -http=: locks.pb.gz",
            "Look at contention in pprof.",
        ),
        (
            "lockwright meter --timeline locks.pftrace -- ./server",
            "Waits, holds and hand-overs in time: open the file in ui.perfetto.dev.",
        ),
        (
            "lockwright meter --compat lockmeter --min-con 1 -- ./server",
            "The table that the kernel's lockmeter printed, of locks contended in 1 % or more.",
        ),
        (
            "lockwright meter --folded wait=wait.txt -- ./server; flamegraph.pl wait.txt > wait.svg",
            "A flame graph of waits, in nanoseconds.",
        ),
        (
            "lockwright meter --listen 127.0.0.1:9464 -- ./server",
            "Give the counters to Prometheus while the server runs, and profiles to pprof: docs/push.md.",
        ),
        (
            "lockwright meter --push pyroscope+http://127.0.0.1:4040 --push-label region=eu -- ./server",
            "Send profiles to a server while the program runs: docs/push.md.",
        ),
        (
            "lockwright meter --interval 10 --wait-threshold 1s -- ./server",
            "A line every 10 s, and each wait longer than 1 s with its holder: docs/live.md.",
        ),
        (
            "lockwright meter --seconds 30 --open -- ./server",
            "End it after 30 s, and open the page.",
        ),
        ("lockwright meter --kernel --seconds 10", "The kernel's own locks: docs/kernel.md."),
        ("lockwright meter --kernel --interval 2", "The same as `top` shows processes, to Ctrl-C."),
        (
            "lockwright meter --with-kernel -- make -j8",
            "A program's locks and those of the kernel, in one table.",
        ),
        ("lockwright meter --pid 4242", "The futexes of a process that runs already, to Ctrl-C."),
    ],
    exit_status: &[PROGRAMS_OWN, USAGE, OWN_FAILURE, NOT_RUNNABLE, NOT_FOUND],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

/// `lockwright run`.
pub const RUN: Manual = Manual {
    examples: &[
        ("lockwright run -- ./server --port 8080", "What could deadlock, and what locks cost."),
        (
            "lockwright run --html locks.html -- ./server --port 8080",
            "Also write both reports as one page for a browser.",
        ),
        (
            "lockwright run --live --interval 10 -- ./server",
            "Show findings at once, and a line every 10 s: docs/live.md.",
        ),
        (
            "lockwright run --json locks.json -- make test",
            "One document for machines: the report of check, the measurement under `meter`.",
        ),
    ],
    exit_status: &[PROGRAMS_OWN, FINDING, USAGE, OWN_FAILURE, NOT_RUNNABLE, NOT_FOUND],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

/// `lockwright top`.
pub const TOP: Manual = Manual {
    examples: &[
        (
            "lockwright top -- ./server --port 8080",
            "Start the server, and show its locks while it runs.",
        ),
        (
            "lockwright run -- ./server & lockwright top $(pgrep -n server)",
            "A process that is watched already: `lockwright ps` lists them.",
        ),
        (
            "lockwright top --pid 4242",
            "A process that nobody started under lockwright: the graph of its waits, as far as that can be known.",
        ),
        (
            "lockwright top --system",
            "The futexes of all processes, by eBPF: as root, and without restarting any.",
        ),
        (
            "lockwright top --interval 5 --count 12 -o locks.txt 4242",
            "A snapshot every 5 seconds for a minute, to a file.",
        ),
        (
            "lockwright top --json - 4242 | jq -c '.threads[] | select(.is_deadlocked)'",
            "For a script: a JSON object a line.",
        ),
        (
            "lockwright top --record night.lwt 4242 >/dev/null; lockwright top night.lwt",
            "Record, and look at it later, as it was.",
        ),
    ],
    exit_status: &[
        ("0", "The user left, the program ended, or all snapshots were taken."),
        USAGE,
        ("125", "lockwright itself failed, or a program could not be watched."),
        NOT_RUNNABLE,
        NOT_FOUND,
    ],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

/// `lockwright ps`.
pub const PS: Manual = Manual {
    examples: &[
        ("lockwright ps", "Which processes are watched."),
        ("lockwright ps --json -", "The same for a script."),
    ],
    exit_status: &[("0", "The list was written."), USAGE, ("125", "lockwright itself failed.")],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright push`.
pub const PUSH: Manual = Manual {
    examples: &[
        (
            "lockwright push DIR",
            "Send what a run could not: lockwright has printed the directory at the end of that run.",
        ),
        (
            "lockwright push --push otlp+http://127.0.0.1:4318 DIR",
            "Send a kept run to a server that has nothing of it yet.",
        ),
    ],
    exit_status: &[
        ("0", "The servers have everything."),
        USAGE,
        ("125", "A server does not have everything, or a directory has no measurement."),
    ],
    environment: &[NO_COLOR, PUSH_AUTHORIZATION, PUSH_CERTIFICATES],
    files: &[(
        "push.json, pushed.json",
        "In the directory of a run: what the server has of it, and that it has everything.",
    )],
};

/// `lockwright swap`.
pub const SWAP: Manual = Manual {
    examples: &[
        ("lockwright swap --lock list", "Which locks there are, and how they wait."),
        (
            "lockwright swap --lock hybrid -- ./server --port 8080",
            "The server on the hybrid mutex.",
        ),
        (
            "lockwright swap --lock ticket --only 'cache_*' --except cache.c:42 -- ./server",
            "Some of its locks on another one: by variable, function, line or module.",
        ),
        (
            "lockwright meter -- lockwright swap --lock qspinlock -- ./server",
            "The same on another lock, measured. With --keep, `lockwright diff` compares it with a run without.",
        ),
    ],
    exit_status: &[
        PROGRAMS_OWN,
        USAGE,
        (
            "125",
            "lockwright itself failed, or the program ended well without its library. A program whose locks all stay as they are ends as natively, with a note.",
        ),
        (
            "126",
            "The program cannot be executed, or its locks not be replaced: static, setuid, foreign machine, or a copy of the C library's locks is linked into it.",
        ),
        NOT_FOUND,
    ],
    environment: &[
        NO_COLOR,
        (
            "LD_PRELOAD, LOCKWRIGHT_SWAP, LOCKWRIGHT_SWAP_COUNTS, LOCKWRIGHT_SWAP_ONLY",
            "Set for the program. Libraries already in LD_PRELOAD stay, before lockwright's.",
        ),
    ],
    files: &[],
};

/// `lockwright report`.
pub const REPORT: Manual = Manual {
    examples: &[
        (
            "lockwright report /dev/shm/lockwright-1000/1700000000-4242",
            "All processes of a kept run.",
        ),
        (
            "lockwright report --all --json locks.json 4243-1f2e3d4c5b6a7988.lwl",
            "One process, all grades, for a machine.",
        ),
        (
            "lockwright report --top 0 --sort hold --pprof locks.pb.gz DIR",
            "What `meter` measured: all locks, the longest held first, and as a profile.",
        ),
        (
            "lockwright report --graph DIR | dot -Tsvg > locks.svg",
            "Lock classes and dependencies as a picture, cycles in red, harmless ones dashed.",
        ),
    ],
    exit_status: &[
        ("0", "No finding of failing grade."),
        FINDING,
        USAGE,
        (
            "125",
            "No ledger could be read, or a process was not watched whole (--allow-incomplete).",
        ),
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright merge`.
pub const MERGE: Manual = Manual {
    examples: &[
        (
            "lockwright check --keep --ledger-dir runs -- ./tests; lockwright merge runs/*",
            "Whatever the tests did in all runs that were kept there.",
        ),
        (
            "lockwright merge --fail-on possible --baseline merged.json DIR",
            "The processes of one run; fail because of what is new.",
        ),
        (
            "lockwright merge --html merged.html runs/*",
            "The same report for a browser: each step with its run.",
        ),
    ],
    exit_status: &[
        ("0", "No finding of failing grade. What is found is `possible` at most: see --fail-on."),
        FINDING,
        USAGE,
        (
            "125",
            "No ledger could be read, or but one process, or one was not watched whole (--allow-incomplete).",
        ),
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright diff`.
pub const DIFF: Manual = Manual {
    examples: &[
        (
            "lockwright diff before-1 before-2 before-3 -- after-1 after-2 after-3",
            "Three kept runs of each version: locks by how much their waits have changed.",
        ),
        (
            "lockwright diff --fail-if 'wait > +10%' before-* -- after-*",
            "In CI: fail if all locks together are waited for longer by more than 10 %, beyond chance.",
        ),
        (
            "lockwright diff --html diff.html before-* -- after-*",
            "The comparison as a page, with the intervals drawn.",
        ),
        (
            "lockwright diff --fail-if 'hold > +25% @pool*' --json diff.json before-* -- after-*",
            "Each lock whose name begins with pool, by itself; and the comparison for a machine.",
        ),
    ],
    exit_status: &[
        ("0", "No condition of --fail-if is exceeded beyond chance."),
        ("66", "One is."),
        USAGE,
        (
            "125",
            "A run could not be read or had no measurement, or a condition could not be judged.",
        ),
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright doctor`.
pub const DOCTOR: Manual = Manual {
    examples: &[
        ("lockwright doctor ./server", "Why does a report say so little, or why is there none?"),
        ("lockwright doctor 4242", "The same of a process that runs, and whether it is watched."),
        (
            "lockwright doctor --json - ./server | jq -r .verdict",
            "`whole`, `part` or `none`, for a machine.",
        ),
    ],
    exit_status: &[
        ("0", "Everything that is known of can be watched."),
        ("1", "A part can: some locks, or something about them, cannot be seen."),
        USAGE,
        OWN_FAILURE,
        ("126", "Nothing can be watched, or the program cannot be executed."),
        ("127", "There is no such program or process."),
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright confirm`.
pub const CONFIRM: Manual = Manual {
    examples: &[
        (
            "lockwright confirm -- ./tests",
            "Check the program, then make each deadlock happen that the check predicts.",
        ),
        (
            "lockwright confirm --from DIR -- ./tests",
            "The findings of a run before, of which --keep has left the ledgers.",
        ),
        (
            "lockwright confirm --from known.json --fail-on deadlocked -- ./tests",
            "Those of a baseline. Only what deadlocks fails.",
        ),
        (
            "lockwright confirm --finding 3f2a --runs 20 --pause 10s -- ./tests",
            "One finding, by the first digits of its fingerprint in the JSON report, with more patience.",
        ),
        (
            "lockwright confirm --run-limit 20s -- sh -c './server & ./load; kill %1; wait'",
            "A server with its load, each run for at most 20 seconds.",
        ),
        (
            "lockwright check --confirm 60s -- ./tests",
            "In CI: check and confirm at once, within a minute more.",
        ),
    ],
    exit_status: &[PROGRAMS_OWN, FINDING, USAGE, OWN_FAILURE, NOT_RUNNABLE, NOT_FOUND],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

/// `lockwright demo`.
pub const DEMO: Manual = Manual {
    examples: &[
        ("lockwright demo", "Watch the program and show the report."),
        ("lockwright demo --json - 2>/dev/null", "See what the JSON looks like."),
        ("lockwright demo --html demo.html", "See what the page looks like, in a browser."),
        ("lockwright demo --source | less -N", "Read the program, with the report's line numbers."),
        ("lockwright demo --keep", "Keep ledger, program and its source to look around."),
    ],
    exit_status: &[
        (
            "0",
            "The planted deadlock was found and reported. (--fail-on and --exit-code do not matter here.)",
        ),
        ("1", "It was not: the demo is broken on this machine."),
        USAGE,
        OWN_FAILURE,
    ],
    environment: RUN_ENVIRONMENT,
    files: RUN_FILES,
};

/// `lockwright tune`.
pub const TUNE: Manual = Manual {
    examples: &[
        ("lockwright tune -- ./build-index corpus", "Which lock makes it take the least time?"),
        (
            "lockwright tune --metric 'transactions: *([0-9.]+)' --higher -- ./benchmark",
            "Which one gives the most of what it counts itself?",
        ),
        (
            "lockwright tune --locks hybrid,qspinlock --rounds 20 --json tune.json -- ./benchmark",
            "Others, for longer, with all figures for a machine.",
        ),
        (
            "lockwright tune --locks native -- ./benchmark",
            "How much do its runs differ by themselves?",
        ),
    ],
    exit_status: &[
        ("0", "It was measured, whether or not a lock is faster."),
        ("1", "A run failed, or printed no number for --metric."),
        USAGE,
        ("125", "lockwright itself failed."),
        ("126", "The command cannot be executed."),
        ("127", "The command was not found."),
        (
            "(a signal)",
            "Interrupted (SIGINT, SIGTERM, SIGHUP, SIGQUIT): the command is ended, and what the whole rounds say is reported.",
        ),
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright man`.
pub const MAN: Manual = Manual {
    examples: &[
        (
            "lockwright man",
            "Write the pages next to the command; then `man lockwright-check` shows one.",
        ),
        (
            "lockwright man --dir pages && man -l pages/lockwright-meter.1",
            "Read one where nothing can be installed.",
        ),
    ],
    exit_status: &[("0", "All pages were written."), USAGE, ("125", "One could not be written.")],
    environment: &[],
    files: &[],
};
