//! What builds and runs programs of 64-bit Arm on this machine: a compiler of Rust, one of C, and an emulator.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{cargo_command, root, succeeds, target_dir};

/// The machine, as Rust calls it.
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The folder of them.
pub struct Tools(PathBuf);

impl Tools {
    /// Those that there are, or can be made.
    ///
    /// # Errors
    /// Why there are none.
    pub fn make() -> Result<Self, String> {
        let mut make = Command::new(root().join("tools/xtask/src/aarch64/make.sh"));
        let out = make.output().map_err(|e| format!("{make:?}: {e}"))?;
        match out.status.success() {
            true => Ok(Self(String::from_utf8_lossy(&out.stdout).trim().into())),
            false => Err(String::from_utf8_lossy(&out.stderr).trim().to_owned()),
        }
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }

    /// The compiler of C.
    pub fn gcc(&self) -> PathBuf {
        self.tool("aarch64-linux-gnu-gcc")
    }

    /// The emulator, of this processor.
    pub fn emulator(&self, processor: &str) -> Command {
        let mut emulator = Command::new(self.tool("qemu-aarch64"));
        emulator.env("QEMU_CPU", processor);
        emulator
    }

    /// The emulator alone, which finds libraries only if it is given the place of them.
    pub fn emulator_itself(&self) -> PathBuf {
        self.0.join("usr/bin/qemu-aarch64-static")
    }

    /// The folder whose `lib` has the libraries of that machine.
    pub fn libraries(&self) -> PathBuf {
        self.0.join("usr/aarch64-linux-gnu")
    }

    /// Compiles a Rust program of tests/programs, with options for the linker.
    ///
    /// # Errors
    /// When that fails.
    pub fn rustc(&self, source: &str, options: &[String], program: &Path) -> Result<(), String> {
        let mut rustc = Command::new(self.tool("rustc"));
        rustc.args(["--target", TARGET, "--edition", "2024", "-O"]);
        rustc.arg("-C").arg(format!("linker={}", self.gcc().display()));
        rustc.args(
            options.iter().flat_map(|option| ["-C".to_owned(), format!("link-arg={option}")]),
        );
        rustc.arg("-o").arg(program).arg(root().join("tests/programs").join(source));
        succeeds(&mut rustc)
    }

    /// Builds the command, with the libraries that have been built for it.
    ///
    /// # Errors
    /// When that fails.
    pub fn build_command(&self) -> Result<(), String> {
        let mut cargo = self.cargo_for("max");
        cargo.args(["build", "--package", "lockwright-cli", "--bin", "lockwright"]);
        for (variable, library) in [
            ("LOCKWRIGHT_PRELOAD_LIBRARY", "liblockwright_preload.so"),
            ("LOCKWRIGHT_SWAP_LIBRARY", "liblockwright_swap.so"),
        ] {
            cargo.env(variable, Self::built("library", library));
        }
        // The demo is compiled by it.
        cargo.env("CC", self.gcc());
        succeeds(&mut cargo)
    }

    /// Runs cargo for that machine, its programs in an emulator of `processor`.
    ///
    /// # Errors
    /// When it fails.
    pub fn cargo(&self, arguments: &[&str], processor: &str) -> Result<(), String> {
        let mut cargo = self.cargo_for(processor);
        cargo.args(arguments);
        succeeds(&mut cargo)
    }

    fn cargo_for(&self, processor: &str) -> Command {
        let mut cargo = cargo_command();
        cargo.env("CARGO_BUILD_TARGET", TARGET);
        cargo.env("CARGO_TARGET_DIR", Self::target_dir());
        // The compiler is another than that of the rest, and so is the C library: what names either is of no use here.
        cargo.env("RUSTC", self.tool("rustc")).env_remove("RUSTUP_TOOLCHAIN");
        cargo.env_remove(crate::builds::SYSROOT).env("QEMU_CPU", processor);
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", self.gcc());
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", self.tool("qemu-aarch64"));
        cargo.env("CC_aarch64_unknown_linux_gnu", self.gcc());
        cargo
    }

    fn target_dir() -> PathBuf {
        target_dir().join("aarch64")
    }

    /// A file that was built for that machine with this profile.
    pub fn built(profile: &str, file: &str) -> PathBuf {
        Self::target_dir().join(TARGET).join(profile).join(file)
    }
}

/// An entry of an environment.
pub fn variable(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

/// Compiles a C program of tests/programs by `compiler`.
///
/// # Errors
/// When that fails.
pub fn compile(
    compiler: &Path,
    options: &[&str],
    source: &str,
    program: &Path,
) -> Result<(), String> {
    let mut compile = Command::new(compiler);
    compile.args(["-g", "-O0", "-pthread"]).args(options).arg("-o").arg(program);
    compile.arg(root().join("tests/programs").join(source));
    succeeds(&mut compile)
}
