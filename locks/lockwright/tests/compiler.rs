//! Faults of the pinned compiler that the code avoids.

#![cfg(feature = "std")]

use std::path::Path;
use std::process::Command;

/// Whether `tests/compiler/<source>` does what it says when it is compiled at this optimisation
/// level.
fn is_compiled_right(source: &str, opt_level: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiler").join(source);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{opt_level}"));
    let mut rustc = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    rustc.args(["--edition=2024", "-C", &format!("opt-level={opt_level}")]);
    let status = rustc.arg(path).arg("-o").arg(&program).status().expect("rustc");
    assert!(status.success(), "{rustc:?}: {status}");
    Command::new(&program).status().expect("it has just been built").success()
}

/// An optimisation of MIR (SimplifyComparisonIntegral) removes a comparison that a branch no longer
/// needs, though it is subtracted before. A semaphore written so did not exclude in release builds.
#[test]
fn rustc_loses_the_subtraction_of_a_comparison() {
    const SOURCE: &str = "subtracts_a_comparison.rs";
    assert!(is_compiled_right(SOURCE, "0"), "the program itself is wrong");
    assert!(
        !is_compiled_right(SOURCE, "3"),
        "good news: this compiler is mended. Remove this test with its program, and the remark at `take` in \
         locks/lockwright/src/sleeping/semaphore.rs"
    );
}
