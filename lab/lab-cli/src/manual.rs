//! What `--help` and the man pages of `lockwright-lab` say beyond options.

use lockwright_console::manual::{Entry, Manual, NO_COLOR, USAGE};

const OWN_FAILURE: Entry = ("125", "lockwright-lab itself failed.");

/// `lockwright-lab`.
pub const LAB: Manual = Manual {
    examples: &[
        ("lockwright-lab bench locks --only uncontended", "Measure what each free lock costs."),
        ("lockwright-lab torture mutex_lock", "Torture a lock for half a minute."),
        (
            "lockwright-lab sim --lock mcs,ticket,tas --sweep cpus=1..36",
            "Simulate how three spinlocks scale on a machine with 36 CPUs.",
        ),
    ],
    exit_status: &[
        ("0", "The locks were measured, or did what locks should."),
        USAGE,
        ("101", "A lock failed, or a figure cannot be true."),
        OWN_FAILURE,
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright-lab bench`.
pub const BENCH: Manual = Manual {
    examples: &[
        ("lockwright-lab bench locks", "Everything: about a quarter of an hour."),
        (
            "lockwright-lab bench locks --only uncontended",
            "What each lock costs that nobody else wants.",
        ),
        (
            "lockwright-lab bench locks --rounds 3 --interval 1 --json locks.json",
            "Less, and for a machine.",
        ),
        (
            "lockwright-lab bench locks --only mutexes --threads 1,8 --sections 0,1us --hog both",
            "Compare ours with glibc's, Rust's, parking_lot's and usync's, in the cells that matter to you.",
        ),
        (
            "lockwright-lab bench tables --only 4 --rounds 3",
            "Compare the published figures of the hybrid queued/unfair spinlock with this machine.",
        ),
    ],
    exit_status: &[
        ("0", "It was measured."),
        USAGE,
        (
            "101",
            "A lock did not exclude, or a time was shorter than the CPUs can do: a fault of lockwright or of this machine.",
        ),
        OWN_FAILURE,
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright-lab torture`.
pub const TORTURE: Manual = Manual {
    examples: &[
        ("lockwright-lab torture --list", "Which locks there are."),
        ("lockwright-lab torture mutex_lock", "Half a minute of one of them."),
        (
            "lockwright-lab torture lock_busted",
            "The control: what is no lock must fail, or the torture is worth nothing here.",
        ),
        (
            "lockwright-lab torture rwsem_lock --shutdown_secs 3600 --onoff_interval 1 --signals --stops",
            "An hour of as much as there is. Ctrl-C ends it with its statistics.",
        ),
        (
            "lockwright-lab torture spin_lock --acquisitions 10000 --seed 7 --json -",
            "So many acquisitions of each thread, with the same decisions each time, for a machine.",
        ),
        ("lockwright-lab torture ww", "The kernel's tests of wound/wait mutexes."),
    ],
    exit_status: &[
        ("0", "The lock did what a lock should, also if it was interrupted."),
        USAGE,
        ("101", "It did not: see the lines with three exclamation marks."),
        OWN_FAILURE,
    ],
    environment: &[NO_COLOR],
    files: &[],
};

/// `lockwright-lab sim`.
pub const SIM: Manual = Manual {
    examples: &[
        ("lockwright-lab sim --list", "Which machines, workloads and locks there are."),
        (
            "lockwright-lab sim --machine e5-2699v3 --lock mcs,ticket,tas --threads 1,8,36",
            "Three spinlocks on two sockets of 18 cores.",
        ),
        (
            "lockwright-lab sim --machine broadwell-72 --sweep cpus=1..144 --lock qspinlock,mcs",
            "How do they scale to 144 hardware threads?",
        ),
        (
            "lockwright-lab sim --lock hybrid,unfair --vcpus 36 --traffic",
            "Below a hypervisor, with the traffic of each place in memory.",
        ),
        (
            "lockwright-lab sim --print-machine --machine epyc-9654 > mine.toml",
            "A machine's file, to be changed and given to --machine ./mine.toml.",
        ),
        (
            "lockwright-lab sim --lock mcs,ticket,tas --sweep cpus=1..36 --plot scaling.svg",
            "Draw how they scale.",
        ),
        (
            "lockwright-lab sim --lock-library ./mylock.so --lock mylock,qspinlock --sweep cpus=1..36",
            "Compare your lock with one of the family: docs/lab/simulator.md shows how to write it.",
        ),
        (
            "lockwright-lab sim --explore --lock-library ./mylock.so --threads 8",
            "Test it under random schedules. A failure comes with the command that shows it again.",
        ),
        (
            "lockwright-lab sim --truth",
            "Compare published figures with simulated ones; it takes a minute or two.",
        ),
        ("lockwright-lab sim --lock busted --threads 4", "The control: what is no lock must fail."),
        (
            "lockwright-lab sim --explore --lock all --threads 8",
            "Test all locks under 10,000 random schedules of eight threads each.",
        ),
        (
            "lockwright-lab sim --explore --lock mutex --threads 3 --operations 2 --preemptions 2",
            "All schedules with at most two preemptions.",
        ),
        (
            "lockwright-lab sim --explore --lock busted_no_wake",
            "A planted fault: what was found, step by step, and how to have it again.",
        ),
    ],
    exit_status: &[
        ("0", "It was simulated, and no lock failed."),
        USAGE,
        (
            "101",
            "A lock failed: it did not exclude, a thread waits for ever, a reader saw what was half written, somebody was refused before the deadline, or a waiter was overtaken that must not be.",
        ),
        OWN_FAILURE,
    ],
    environment: &[NO_COLOR],
    files: &[],
};
