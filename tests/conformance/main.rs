//! Programs behave the same with and without the tool: same results, same errno, same order of
//! effects.
//!
//! Each file of cases (`case.h` says how they are written) is run natively and under each of the
//! tool's commands, and what each case says and how it ends is compared byte for byte. A difference
//! is a bug of the tool.

#[path = "../e2e/harness.rs"]
#[allow(dead_code, reason = "the end-to-end tests need more of it")]
mod harness;

/// The tool.
const TOOL: &str = env!("CARGO_BIN_EXE_lockwright");

mod chained;
mod control;
mod differences;
mod family;
mod functions;
mod pitfalls;
mod swapped;

use family::Family;

/// A variable of the environment, and its value.
type Variable = (&'static str, &'static str);

/// Has glibc elide locks where the processor can (Intel's TSX); elsewhere it changes nothing.
const ELISION: Variable = ("GLIBC_TUNABLES", "glibc.elision.enable=1");

/// A test for each file of cases, and the list of them. A file is also run with each of the
/// variables.
macro_rules! families {
    ($($name:ident $(with $variable:expr)*;)*) => {
        /// Every file of cases.
        const FAMILIES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                let family = Family::build(stringify!($name));
                family.conforms(&[]);
                $(family.conforms(&[$variable]);)*
            }
        )*
    };
}

families! {
    attributes;
    cancellation;
    c11 with ELISION;
    condition with ELISION;
    condition_old;
    execute;
    futex;
    limits;
    loading;
    mutex with ELISION;
    other_names;
    pointers;
    process;
    robust with ELISION;
    rwlock with ELISION;
    scheduling;
    semaphore;
    signals;
    signals_old;
    spawn_old;
    streams;
    sync;
    thread;
    timer;
    timer_old;
}

#[test]
fn every_file_of_cases_is_a_test() {
    let folder = harness::tests_dir().join("conformance");
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "c") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(FAMILIES.contains(&name), "{name} is in no test");
        }
    }
}
