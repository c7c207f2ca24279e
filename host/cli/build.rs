//! Builds what the binary carries inside: the preload library, the swap library and the demo
//! program.
//!
//! A packager that builds the libraries separately names them in `LOCKWRIGHT_PRELOAD_LIBRARY` and
//! `LOCKWRIGHT_SWAP_LIBRARY`.
//!
//! `LOCKWRIGHT_SYSROOT` names a directory with an older system's C library. The binary and what it
//! carries are linked with that library, and run with it and with every later one.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// What the demo's debug information calls the directory of its source: as long as a path may be,
/// for the demo overwrites it with the directory it is unpacked to.
fn demo_dir() -> String {
    format!("/lockwright-demo{}", "-to-be-unpacked".repeat(16))
}

fn main() {
    let out = PathBuf::from(var("OUT_DIR"));
    let here = PathBuf::from(var("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={SYSROOT}");
    for option in sysroot() {
        println!("cargo::rustc-link-arg={option}");
    }
    let shared = BuildDir::open(&here, &out);
    for library in LIBRARIES {
        let built = library.build(&here, &shared, &out);
        println!("cargo::rustc-env={}={}", library.tells, built.display());
        println!("cargo::rustc-env={}_ID={}", library.tells, id_of(&built));
    }
    drop(shared);
    if let Some(commit) = commit(&here) {
        println!("cargo::rustc-env=LOCKWRIGHT_COMMIT={commit}");
    }
    for (program, tells) in [("demo", "LOCKWRIGHT_DEMO"), ("trial", "LOCKWRIGHT_TRIAL")] {
        let built = demo(&here.join("demo"), &out, program);
        println!("cargo::rustc-env={tells}={}", built.display());
    }
    println!("cargo::rustc-env=LOCKWRIGHT_DEMO_DIR={}", demo_dir());
}

/// What tells a library from those of other versions: 16 hexadecimal digits.
fn id_of(library: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    fs::read(library).unwrap_or_else(|error| give_up(library, &error)).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The commit that this is built from: as the package notes it, or as git says for a checkout. Only
/// release builds of a checkout have it: other builds would be rebuilt after each commit.
fn commit(here: &Path) -> Option<String> {
    let noted = here.join(".cargo_vcs_info.json");
    if noted.exists() {
        println!("cargo::rerun-if-changed={}", noted.display());
        let noted = fs::read_to_string(noted).ok()?;
        let (_, rest) = noted.split_once("\"sha1\": \"")?;
        return rest.get(..COMMIT_DIGITS).map(str::to_owned);
    }
    if var("PROFILE") != "release" {
        return None;
    }
    // A package without a note may lie in somebody else's repository.
    git(here, &["ls-files", "--error-unmatch", "build.rs"])?;
    for path in ["HEAD", "logs/HEAD"] {
        let path = here.join(git(here, &["rev-parse", "--git-path", path])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(here, &["rev-parse", &format!("--short={COMMIT_DIGITS}"), "HEAD"])
}

/// Names the directory with the C library to link with.
const SYSROOT: &str = "LOCKWRIGHT_SYSROOT";

/// The compiler's options for it; none where the machine's own C library is used.
fn sysroot() -> Vec<String> {
    let dir = env::var(SYSROOT).unwrap_or_default();
    if dir.is_empty() {
        return Vec::new();
    }
    // gcc finds its start files, and the libraries next to itself, regardless of a sysroot. Those of a later glibc
    // leave it to the C library to call constructors, which an older one does not.
    vec![format!("--sysroot={dir}"), format!("-B{dir}/usr/lib/x86_64-linux-gnu")]
}

/// Digits of a commit's name that tell it from all others.
const COMMIT_DIGITS: usize = 12;

fn git(here: &Path, arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).current_dir(here).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn var(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

/// A library that the binary carries.
struct Library {
    /// Its package.
    package: &'static str,
    /// What the package makes.
    file: &'static str,
    /// The variable that names it where it is built separately.
    built: &'static str,
    /// The variable that tells the binary's sources where it is.
    tells: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        package: "lockwright-preload",
        file: "liblockwright_preload.so",
        built: "LOCKWRIGHT_PRELOAD_LIBRARY",
        tells: "LOCKWRIGHT_PRELOAD_SO",
    },
    Library {
        package: "lockwright-swap",
        file: "liblockwright_swap.so",
        built: "LOCKWRIGHT_SWAP_LIBRARY",
        tells: "LOCKWRIGHT_SWAP_SO",
    },
];

impl Library {
    /// Builds it by a cargo of its own: it is always optimised, whatever this build is, and none
    /// of this build's flags (coverage, sanitizers) may get into other people's programs.
    fn build(&self, here: &Path, shared: &BuildDir, out: &Path) -> PathBuf {
        println!("cargo::rerun-if-env-changed={}", self.built);
        if let Some(library) = env::var_os(self.built) {
            println!("cargo::rerun-if-changed={}", Path::new(&library).display());
            return library.into();
        }
        let target = var("TARGET");
        let workspace = preload_workspace(&here.join("preload"), &shared.dir.join("workspace"));
        let mut cargo = Command::new(var("CARGO"));
        cargo
            .args(["build", "--profile", LIBRARY, "--package", self.package, "--lib"])
            .arg("--manifest-path")
            .arg(workspace.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&shared.dir)
            // Always, so that the result lies in one place whatever the configuration says.
            .arg("--target")
            .arg(&target)
            // Where crates come from, if not from crates.io, is configured above this package.
            .current_dir(here);
        for (name, _) in env::vars_os() {
            if leaks(&name.to_string_lossy()) {
                cargo.env_remove(name);
            }
        }
        // Empty is not unset: it also overrides flags from configuration files.
        let flags =
            sysroot().iter().map(|option| format!("-Clink-arg={option}")).collect::<Vec<_>>();
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        run(cargo, &format!("build the package {}", self.package), "see cargo's messages above");
        let (built, library) =
            (shared.dir.join(target).join(LIBRARY).join(self.file), out.join(self.file));
        fs::copy(&built, &library).unwrap_or_else(|error| give_up(&built, &error));
        library
    }
}

/// Where the libraries are built: one place for all profiles of this package, as they are the same in
/// each.
struct BuildDir {
    dir: PathBuf,
    /// Locked, until it is dropped: another profile may be built at the same time.
    _locked: File,
}

impl BuildDir {
    fn open(here: &Path, out: &Path) -> Self {
        // Above `PROFILE/build/PACKAGE/out`, if cargo still calls it so.
        let above = out
            .ancestors()
            .find(|dir| dir.ends_with("build"))
            .and_then(|dir| dir.ancestors().nth(2));
        // Another checkout may be built to the same place: its libraries are others.
        let mut checkout = DefaultHasher::new();
        here.hash(&mut checkout);
        let dir = above.unwrap_or(out).join(format!("libraries-{:016x}", checkout.finish()));
        let locked = fs::create_dir_all(&dir)
            .and_then(|()| File::create(dir.join("lock")))
            .and_then(|file| file.lock().map(|()| file));
        Self { _locked: locked.unwrap_or_else(|error| give_up(&dir, &error)), dir }
    }
}

/// The profile of the workspace that is for them.
const LIBRARY: &str = "library";

/// What the libraries are made of: directories of the workspace. This package has them all in its
/// directory `preload`, as links in a checkout, as copies in a package.
const PRELOAD_CRATES: [&str; 8] = [
    "cpython",
    "glibc",
    "ledger",
    "guest/engines",
    "guest/exec",
    "guest/preload",
    "guest/swap",
    "locks/lockwright",
];

/// Lays them out at `to` as the workspace that they come from, without its other members. Returns
/// where that is.
fn preload_workspace(from: &Path, to: &Path) -> PathBuf {
    let read = |path: PathBuf| {
        // The original: a link does not change with it. What does not exist would make cargo run
        // this every time.
        let path = path.canonicalize().unwrap_or_else(|error| give_up(&path, &error));
        println!("cargo::rerun-if-changed={}", path.display());
        path
    };
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| give_up(path, &error));
    for name in PRELOAD_CRATES {
        let (from, to) = (from.join(name), to.join(name));
        let manifest = text(&read(from.join("manifest.toml")));
        write(&to.join("Cargo.toml"), &without_tests(&manifest));
        let (src, link) = (read(from.join("src")), to.join("src"));
        if fs::read_link(&link).ok().as_ref() != Some(&src) {
            let _ = fs::remove_file(&link);
            symlink(&src, &link).unwrap_or_else(|error| give_up(&link, &error));
        }
    }
    let root = read(from.join("workspace.toml"));
    let members = PRELOAD_CRATES.map(|name| format!("\"{name}\"")).join(", ");
    let manifest = with_array(&text(&root), "members", &members);
    write(&to.join("Cargo.toml"), &with_array(&manifest, "default-members", &members));
    // A package has its own next to its manifest, with the same versions.
    let own = from.with_file_name("Cargo.lock");
    let lock = if own.exists() { own } else { root.with_file_name("Cargo.lock") };
    write(&to.join("Cargo.lock"), &text(&read(lock)));
    to.to_owned()
}

/// A manifest without what only tests need, which a package's lock file does not know.
fn without_tests(manifest: &str) -> String {
    let Some((before, rest)) = manifest.split_once("\n[dev-dependencies]\n") else {
        return manifest.to_owned();
    };
    let after = rest.split_once("\n[").map_or("", |(_, after)| after);
    format!("{before}\n[{after}")
}

/// A manifest in which the array `key` has these elements.
fn with_array(manifest: &str, key: &str, elements: &str) -> String {
    let (before, rest) = manifest
        .split_once(&format!("\n{key} = ["))
        .unwrap_or_else(|| panic!("the workspace's manifest has no `{key}`"));
    let (_, after) = rest.split_once(']').expect("an array ends");
    format!("{before}\n{key} = [{elements}]{after}")
}

fn write(path: &Path, text: &str) {
    let dir = path.parent().expect("a file lies in a directory");
    let written = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
    written.unwrap_or_else(|error| give_up(path, &error));
}

fn give_up(path: &Path, error: &io::Error) -> ! {
    eprintln!(
        "error: cannot prepare the libraries that are loaded into programs: {}: {error}",
        path.display()
    );
    std::process::exit(1);
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
fn demo(dir: &Path, out: &Path, program: &str) -> PathBuf {
    let source = format!("{program}.c");
    println!("cargo::rerun-if-changed={}", dir.join(&source).display());
    println!("cargo::rerun-if-env-changed=CC");
    let built = out.join(program);
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=gnu11", "-g", "-gdwarf-4", "-O1", "-fno-inline", "-pthread", "-gz=none"])
        // No flags of the environment in here: what they would change is shown to users.
        .arg(format!("-fdebug-prefix-map={}={}", dir.display(), demo_dir()))
        .args(sysroot())
        .args(["-o".as_ref(), built.as_os_str(), source.as_ref()])
        .current_dir(dir);
    run(cc, "compile the demo program", "install a C compiler, or name one in the variable CC");
    built
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
