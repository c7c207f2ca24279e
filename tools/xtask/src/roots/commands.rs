//! The commands of the tool, and the tests that say whether each works in a root.

/// A test program of the workspace.
#[derive(Clone, Copy)]
pub enum Program {
    /// Programs behave the same with and without the tool.
    Conformance,
    /// What the tool reports.
    EndToEnd,
}

/// A row of the table.
pub struct Command {
    /// How it is called.
    pub name: &'static str,
    /// What its tests say.
    pub what: &'static str,
    /// Its tests, as arguments of the programs: parts of names.
    all: &'static [(Program, &'static [&'static str])],
    /// Those of the short form.
    short: &'static [(Program, &'static [&'static str])],
}

impl Command {
    /// Its tests: programs, and their arguments.
    pub fn tests(&self, all: bool) -> &'static [(Program, &'static [&'static str])] {
        if all { self.all } else { self.short }
    }
}

use Program::{Conformance, EndToEnd};

/// All; the first is no test program's, but run itself.
pub const COMMANDS: &[Command] = &[
    Command { name: "demo", what: "finds its planted deadlock", all: &[], short: &[] },
    Command {
        name: "check, meter, run",
        what: "programs behave as without the tool, under each of the three: the conformance cases",
        all: &[(Conformance, &["--skip", "swapped::"])],
        short: &[(
            Conformance,
            &[
                "attributes",
                "condition",
                "mutex",
                "semaphore",
                "functions::",
                "--skip",
                "swapped::",
            ],
        )],
    },
    Command {
        name: "check",
        what: "findings of locks: orders, deadlocks, waits, joins, wake-ups, misuse",
        all: &[(
            EndToEnd,
            &[
                "golden::",
                "advice::",
                "barriers::",
                "c11::",
                "callbacks::",
                "children::",
                "classes::",
                "cxx::",
                "deadlocks::",
                "hangs::",
                "idioms::",
                "inherited_locks::",
                "joins::",
                "leaked::",
                "loader::",
                "many::",
                "missed::",
                "misuse::",
                "onces::",
                "processes::",
                "python_lines::",
                "readers::",
                "semaphores::",
                "stories::",
                "waits::",
                "wakeups::",
                "wrappers::",
            ],
        )],
        short: &[(
            EndToEnd,
            &[
                "golden::deadlocked",
                "golden::likely",
                "children::",
                "python_",
                "waits::",
                "wakeups::",
            ],
        )],
    },
    Command {
        name: "check of objects",
        what: "findings of all kinds of objects: mutexes, condition variables, semaphores, barriers, timers, attributes, \
               once controls, C11's",
        all: &[(EndToEnd, OBJECTS)],
        short: &[(EndToEnd, OBJECTS)],
    },
    Command {
        name: "check --pid",
        what: "findings in running processes",
        all: &[(EndToEnd, &["attach::"])],
        short: &[(EndToEnd, &["attach::"])],
    },
    Command {
        name: "meter",
        what: "what is measured",
        all: &[(EndToEnd, &["meter::", "meter_command::", "lockmeter_faults::"])],
        short: &[(EndToEnd, &["meter::ways", "meter::lives"])],
    },
    Command {
        name: "swap",
        what: "programs behave as without the tool, on each of its locks",
        all: &[(Conformance, &["swapped::"]), (EndToEnd, &["swap::"])],
        short: &[(
            EndToEnd,
            &[
                "swap::every_lock_excludes",
                "swap::no_signal_is_lost",
                "swap::readers_and_writers",
                "swap::what_is_replaced",
            ],
        )],
    },
    Command {
        name: "report, merge, diff",
        what: "what is said of ledgers that were kept",
        all: &[(EndToEnd, &["complete::", "damaged::", "merge::", "meter_diff::", "pages::"])],
        short: &[(EndToEnd, &["complete::"])],
    },
    Command {
        name: "doctor",
        what: "what can be watched",
        all: &[(EndToEnd, &["doctor::", "hidden::", "unwatched::"])],
        short: &[],
    },
];

const OBJECTS: &[&str] = &["objects::", "object_types::"];

/// A test that cannot run in a root.
pub struct LeftOut {
    test: &'static str,
    /// In these suites; none: in all.
    suites: &'static [&'static str],
    /// Why.
    why: &'static str,
}

impl LeftOut {
    /// In a line.
    pub fn said(&self) -> String {
        let of = match self.suites {
            [] => String::new(),
            suites => format!(" ({})", suites.join(", ")),
        };
        format!("`{}`{of}: {}", self.test, self.why)
    }
}

/// All of them.
pub const LEFT_OUT: &[LeftOut] = &[
    LeftOut {
        test: "own_objects::rust_programs_tell_of_their_objects",
        suites: &[],
        why: "the roots have no cargo",
    },
    LeftOut {
        test: "attach::a_rust_program_that_hangs_is_explained_without_its_holders",
        suites: &[],
        why: "the roots have no rustc",
    },
    LeftOut {
        test: "attach::a_deadlock_of_two_mutexes_is_explained_with_lines",
        suites: &[],
        why: "joins and inner functions of the C library are recognised by its symbols, which the roots lack",
    },
    LeftOut {
        test: "attach::waits_for_a_thread_that_may_go_on_are_no_deadlock",
        suites: &["bookworm", "trixie", "sid"],
        why: "joins are recognised by the C library's symbols, which the roots lack",
    },
    LeftOut {
        test: "functions::every_function_is_called_with_no_memory",
        suites: &["bullseye"],
        why: "glibc 2.31 lacks some of the functions that the case is to call",
    },
    LeftOut {
        test: "objects::cxx::",
        suites: &["bullseye"],
        why: "C++ of gcc 10 has no <stdatomic.h>",
    },
    LeftOut {
        test: "object_types::reports_read_well",
        suites: &["bullseye"],
        why: "before glibc 2.34 the ids of timers are addresses, which the expected reports do not have",
    },
    LeftOut {
        test: "object_types::timers_that_are_gone_or_never_were",
        suites: &["bullseye"],
        why: "an id that is no timer's ends the program with a signal before glibc 2.34",
    },
    LeftOut {
        test: "loader::an_exception_or_the_threads_end_releases_the_list_of_objects",
        suites: &["bullseye"],
        why: "before glibc 2.34 such a callback leaves the loader's lock taken, and the program hangs without the tool, too",
    },
    LeftOut {
        test: "onces::a_routine_that_an_exception_left_has_not_run",
        suites: &["bullseye"],
        why: "before glibc 2.34 the next call of pthread_once waits for ever, without the tool, too",
    },
    LeftOut {
        test: "doctor::what_cxx_waits_for_by_futex",
        suites: &["bullseye"],
        why: "C++ of gcc 10 has no std::atomic::wait",
    },
    LeftOut { test: "doctor::a_rust_program_", suites: &[], why: "the roots have no cargo" },
];

/// The options of a test program that leave these out.
pub fn left_out(suite: &str) -> Vec<&'static str> {
    let tests =
        LEFT_OUT.iter().filter(|left| left.suites.is_empty() || left.suites.contains(&suite));
    tests.flat_map(|left| ["--skip", left.test]).collect()
}
