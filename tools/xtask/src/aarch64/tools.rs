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

    /// Runs cargo for that machine, its programs in an emulator of `processor`.
    ///
    /// # Errors
    /// When it fails.
    pub fn cargo(&self, arguments: &[&str], processor: &str) -> Result<(), String> {
        let mut cargo = cargo_command();
        cargo.args(arguments).args(["--target", TARGET]);
        cargo.arg("--target-dir").arg(Self::target_dir());
        // The compiler is another than that of the rest, and so is the C library: what names either is of no use here.
        cargo.env("RUSTC", self.tool("rustc")).env_remove("RUSTUP_TOOLCHAIN");
        cargo.env_remove(crate::roots::SYSROOT).env("QEMU_CPU", processor);
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", self.gcc());
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", self.tool("qemu-aarch64"));
        cargo.env("CC_aarch64_unknown_linux_gnu", self.gcc());
        succeeds(&mut cargo)
    }

    fn target_dir() -> PathBuf {
        target_dir().join("aarch64")
    }

    /// A file that was built for that machine with this profile.
    pub fn built(profile: &str, file: &str) -> PathBuf {
        Self::target_dir().join(TARGET).join(profile).join(file)
    }
}

/// Compiles a C program by `compiler`.
///
/// # Errors
/// When that fails.
pub fn compile(compiler: &Path, source: &str, program: &Path) -> Result<(), String> {
    let mut compile = Command::new(compiler);
    compile.args(["-g", "-O0", "-pthread", source, "-o"]).arg(program);
    succeeds(&mut compile)
}
