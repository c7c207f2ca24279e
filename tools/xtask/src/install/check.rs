//! The check of an installation: the examples are built against it, by cmake and by pkg-config, and
//! run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skips::skip;
use crate::workspace::{output, root, target_dir};

/// An example, and what it prints.
struct Example {
    dir: &'static str,
    program: &'static str,
    source: &'static str,
    compiler: &'static str,
    says: &'static str,
    /// Ways to build it by cmake, one after the other.
    options: &'static [&'static str],
}

const EXAMPLES: &[Example] = &[
    Example {
        dir: "examples/c",
        program: "accounts",
        source: "accounts.c",
        compiler: "cc",
        says: "2000 in all\n",
        options: &["-DSTATIC=OFF", "-DSTATIC=ON"],
    },
    Example {
        dir: "examples/cpp",
        program: "ledger",
        source: "ledger.cc",
        compiler: "c++",
        says: "4000 entries, locked\n",
        options: &["-DCMAKE_BUILD_TYPE=Release"],
    },
];

/// Installs, moves the whole away, and uses it there.
///
/// # Errors
/// When an example does not build or says something else.
pub fn run() -> Result<(), String> {
    let missing = ["cmake", "pkg-config", "make"]
        .into_iter()
        .find(|program| Command::new(program).arg("--version").output().is_err());
    if let Some(missing) = missing {
        return skip("install", &format!("{missing} is not installed"));
    }
    let dir = target_dir().join("install-check");
    let _ = fs::remove_dir_all(&dir);
    super::install(&dir.join("first"))?;
    let prefix = dir.join("moved");
    fs::rename(dir.join("first"), &prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    for example in EXAMPLES {
        for options in example.options {
            let program = by_cmake(example, options, &prefix, &dir.join("cmake"))?;
            says(&program, example.says, options)?;
        }
        let program = by_pkg_config(example, &prefix, &dir.join("make"))?;
        says(&program, example.says, "pkg-config")?;
    }
    asks_for(&dir.join("make/examples/c/accounts"), super::files::SONAME)?;
    for example in EXAMPLES {
        says(&statically(example, &prefix, &dir.join("make"))?, example.says, "statically")?;
    }
    finds_the_careless(&prefix, &dir.join("make/examples/c/accounts"))
}

/// What was installed elsewhere can be used there: a program is built and runs, and the tool finds
/// what it does wrong.
///
/// # Errors
/// When it does not.
pub fn is_usable(prefix: &Path) -> Result<(), String> {
    let example = &EXAMPLES[0];
    let program = by_pkg_config(example, prefix, &prefix.with_file_name("make"))?;
    says(&program, example.says, "pkg-config")?;
    finds_the_careless(prefix, &program)
}

fn by_cmake(
    example: &Example,
    options: &str,
    prefix: &Path,
    build: &Path,
) -> Result<PathBuf, String> {
    let build = build.join(example.dir).join(options);
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root().join(example.dir)).arg("-B").arg(&build);
    configure.arg(options).arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    configure
        .args(["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"]);
    output(configure)?;
    let mut make = Command::new("cmake");
    make.arg("--build").arg(&build);
    output(make)?;
    Ok(build.join(example.program))
}

/// In a copy: a Makefile builds where it lies.
fn by_pkg_config(example: &Example, prefix: &Path, copies: &Path) -> Result<PathBuf, String> {
    let copy = copies.join(example.dir);
    let copied = fs::create_dir_all(&copy).and_then(|()| {
        for entry in fs::read_dir(root().join(example.dir))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), copy.join(entry.file_name()))?;
            }
        }
        Ok(())
    });
    copied.map_err(|e| format!("{}: {e}", copy.display()))?;
    let mut make = Command::new("make");
    make.arg("-C").arg(&copy).env("CFLAGS", "-Werror").env("CXXFLAGS", "-Werror");
    make.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    output(make)?;
    Ok(copy.join(example.program))
}

/// With no shared library at all, by what pkg-config has for that.
fn statically(example: &Example, prefix: &Path, copies: &Path) -> Result<PathBuf, String> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--static", "--cflags", "--libs", "lockwright"]);
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = output(pkg_config)?;
    let program = copies.join(example.dir).join(format!("{}-static", example.program));
    let mut compile = Command::new(example.compiler);
    compile.args(["-static", "-pthread", "-D_POSIX_C_SOURCE=200809L", "-o"]).arg(&program);
    compile.arg(root().join(example.dir).join(example.source)).args(flags.split_whitespace());
    output(compile)?;
    Ok(program)
}

fn says(program: &Path, expected: &str, how: &str) -> Result<(), String> {
    let said = output(Command::new(program))?;
    if said == expected {
        Ok(())
    } else {
        Err(format!("{} ({how}) says {said:?}, not {expected:?}", program.display()))
    }
}

/// The program was linked with the library by its soname.
fn asks_for(program: &Path, soname: &str) -> Result<(), String> {
    let mut readelf = Command::new("readelf");
    readelf.arg("--dynamic").arg(program);
    let needed = output(readelf)?;
    if needed.contains(&format!("[{soname}]")) {
        Ok(())
    } else {
        Err(format!("{} does not ask for {soname}:\n{needed}", program.display()))
    }
}

/// The installed tool finds what the example does wrong if told to.
fn finds_the_careless(prefix: &Path, program: &Path) -> Result<(), String> {
    let mut check = Command::new(prefix.join("bin/lockwright"));
    check.args(["check", "--"]).arg(program).arg("careless");
    let out = check.output().map_err(|e| format!("{check:?}: {e}"))?;
    let report = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() && report.contains("error[circular-dependency]") {
        Ok(())
    } else {
        Err(format!("{check:?} finds nothing, {}:\n{report}", out.status))
    }
}
