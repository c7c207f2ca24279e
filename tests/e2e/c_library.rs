//! liblockwright (locks/capi), built for programs of these tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::tests_dir;

/// Where the library is, built by a cargo of its own.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capi");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "--package", "lockwright-capi"]);
        cargo.arg("--manifest-path").arg(tests_dir().join("../Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        assert!(cargo.status().expect("cargo").success(), "{cargo:?} failed");
        let dir = target.join("release");
        // The name that programs ask for. It may be there, and is the same then.
        let _ = std::os::unix::fs::symlink("liblockwright.so", dir.join("liblockwright.so.0"));
        dir
    })
}
