//! The BPF objects that `lockwright-bpf` carries: made by clang from `host/bpf/programs`, checked
//! in, and held to their sources here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::skips::skip;
use crate::workspace::{output, root, target_dir};

/// Rebuilds the BPF objects, from host/bpf/programs into host/bpf/objects.
#[derive(Debug, Args)]
pub struct BpfArgs {}

/// The programs, without `.bpf.c` and `.bpf.o`.
const PROGRAMS: &[&str] = &["futex", "kernel"];

/// Has the first line of `clang --version` that the objects were built with.
const COMPILER: &str = "CLANG";

/// Builds all.
///
/// # Errors
/// If there is no clang or llvm-strip, or a program does not compile.
pub fn run(_: &BpfArgs) -> Result<(), String> {
    let objects = objects();
    for name in PROGRAMS {
        build(name, &objects)?;
    }
    let compiler = objects.join(COMPILER);
    fs::write(&compiler, version()?).map_err(|e| format!("{}: {e}", compiler.display()))
}

/// Whether the objects are what clang makes of the sources. Another version of it makes others:
/// then the sources are only compiled.
///
/// # Errors
/// If an object is out of date, or a program does not compile.
pub fn check() -> Result<(), String> {
    let has = |program| Command::new(program).arg("--version").output().is_ok();
    if !has("clang") || !has("llvm-strip") {
        return skip("bpf", "clang and llvm-strip are not installed");
    }
    let built = target_dir().join("bpf-objects");
    fs::create_dir_all(&built).map_err(|e| format!("{}: {e}", built.display()))?;
    let (own, theirs) = (version()?, read(&objects().join(COMPILER))?);
    let is_same = own.as_bytes() == theirs;
    for name in PROGRAMS {
        let (new, old) = (read(&build(name, &built)?)?, read(&object(name, &objects()))?);
        if is_same && new != old {
            return Err(format!("{name}.bpf.o is out of date: cargo xtask bpf"));
        }
    }
    if !is_same {
        let theirs = String::from_utf8_lossy(&theirs);
        eprintln!("compiled, not compared: the objects are of {} and this is {own}", theirs.trim());
    }
    Ok(())
}

fn build(name: &str, to: &Path) -> Result<PathBuf, String> {
    let object = object(name, to);
    let mut clang = Command::new("clang");
    // BTF is made of debug information, which is to have no path of this machine.
    clang.current_dir(root().join("host/bpf/programs"));
    clang.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
    clang.args(["-Wno-unused-variable", "-Wno-unused-function"]);
    clang.args(["-fdebug-compilation-dir=.", "-c"]);
    clang.arg(format!("{name}.bpf.c")).arg("-o").arg(&object);
    output(clang)?;
    let mut strip = Command::new("llvm-strip");
    strip.arg("-g").arg(&object);
    output(strip)?;
    Ok(object)
}

fn version() -> Result<String, String> {
    let mut clang = Command::new("clang");
    clang.arg("--version");
    let text = output(clang)?;
    Ok(format!("{}\n", text.lines().next().unwrap_or_default()))
}

fn objects() -> PathBuf {
    root().join("host/bpf/objects")
}

fn object(name: &str, dir: &Path) -> PathBuf {
    dir.join(format!("{name}.bpf.o"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
