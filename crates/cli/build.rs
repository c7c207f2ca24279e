//! Builds what the binary carries inside: the preload library and the demo program.
//!
//! A packager who builds the preload library separately names it in `LOCKWRIGHT_PRELOAD_LIBRARY`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the demo's debug information calls the directory of its source: as long as a path may be, for
/// the demo overwrites it with the directory it is unpacked to.
fn demo_dir() -> String {
    format!("/lockwright-demo{}", "-to-be-unpacked".repeat(16))
}

fn main() {
    let out = PathBuf::from(var("OUT_DIR"));
    let here = PathBuf::from(var("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    let library = preload(&here, &out);
    println!("cargo::rustc-env=LOCKWRIGHT_PRELOAD_SO={}", library.display());
    let demo = demo(&here.join("demo"), &out);
    println!("cargo::rustc-env=LOCKWRIGHT_DEMO={}", demo.display());
    println!("cargo::rustc-env=LOCKWRIGHT_DEMO_DIR={}", demo_dir());
}

fn var(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

/// The preload library, built by a cargo of its own: it is always optimised, whatever this build is,
/// and none of this build's flags (coverage, sanitizers) may get into other people's programs.
fn preload(here: &Path, out: &Path) -> PathBuf {
    println!("cargo::rerun-if-env-changed=LOCKWRIGHT_PRELOAD_LIBRARY");
    if let Some(library) = env::var_os("LOCKWRIGHT_PRELOAD_LIBRARY") {
        println!("cargo::rerun-if-changed={}", Path::new(&library).display());
        return library.into();
    }
    let crates = here.parent().expect("crates/cli is in crates");
    for name in ["preload", "engines", "ledger"] {
        let dir = crates.join(name);
        for path in ["Cargo.toml", "build.rs", "src"].map(|path| dir.join(path)) {
            // A path that does not exist would make cargo run this script every time.
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let workspace = crates.parent().expect("crates is in the workspace");
    for path in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }

    let target = var("TARGET");
    let dir = out.join("preload");
    let mut cargo = Command::new(var("CARGO"));
    cargo
        .args(["build", "--release", "--package", "lockwright-preload", "--lib"])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&dir)
        // Always, so that the result lies in one place whatever the configuration says.
        .arg("--target")
        .arg(&target)
        .current_dir(workspace);
    for (name, _) in env::vars_os() {
        if leaks(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    // Empty is not unset: it also overrides flags from configuration files.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    run(cargo, "build the preload library", "see cargo's messages above");
    dir.join(target).join("release/liblockwright_preload.so")
}

/// Whether a variable is about this build rather than about this machine.
fn leaks(name: &str) -> bool {
    const OURS: &[&str] = &[
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
        "LLVM_PROFILE_FILE",
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
    ];
    const MACHINES: &[&str] = &[
        "CARGO_HOME",
        // The job server: the nested build takes its share instead of all processors.
        "CARGO_MAKEFLAGS",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
    ];
    if name.starts_with("CARGO_TARGET_") {
        return !name.ends_with("_LINKER");
    }
    let cargo = name == "CARGO" || name.starts_with("CARGO_");
    OURS.contains(&name) || cargo && !MACHINES.iter().any(|machine| name.starts_with(machine))
}

/// The demo, as an unmodified program of somebody else's: plain C, and the system's compiler.
fn demo(dir: &Path, out: &Path) -> PathBuf {
    println!("cargo::rerun-if-changed={}", dir.join("demo.c").display());
    println!("cargo::rerun-if-env-changed=CC");
    let demo = out.join("demo");
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=gnu11", "-g", "-gdwarf-4", "-O1", "-fno-inline", "-pthread", "-gz=none"])
        // No flags of the environment in here: what they would change is shown to users.
        .arg(format!("-fdebug-prefix-map={}={}", dir.display(), demo_dir()))
        .args(["-o".as_ref(), demo.as_os_str(), "demo.c".as_ref()])
        .current_dir(dir);
    run(cc, "compile the demo program", "install a C compiler, or name one in the variable CC");
    demo
}

fn run(mut command: Command, what: &str, help: &str) {
    let why = match command.status() {
        Ok(status) if status.success() => return,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let program = command.get_program().display();
    eprintln!("error: cannot {what}: {program}: {why}\n  help: {help}");
    std::process::exit(1);
}
