//! The locks without std: `bare_metal/` is a library for a platform of its own, linked to a program
//! in C whose threads are its CPUs.

use std::path::{Path, PathBuf};
use std::process::Command;

fn done(command: &mut Command) {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

#[test]
fn locks_run_without_std_on_a_platform_of_ones_own() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bare_metal");
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bare_metal");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--target-dir"]).arg(&target);
    done(cargo.arg("--manifest-path").arg(source.join("Cargo.toml")));

    let program = target.join("program");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-pthread"]).arg(source.join("main.c"));
    done(cc.arg(target.join("debug/libbare_metal.a")).arg("-o").arg(&program));
    done(&mut Command::new(program));
}
