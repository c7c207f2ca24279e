//! `cargo xtask bench peers`: builds the locks of C and C++ that `lockwright-lab bench locks` compares
//! with ours, and runs it with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::apt::{Apt, Kind};
use super::arm::said;
use super::parts::or_why;
use crate::builds::lab_build;
use crate::workspace::{read, root, succeeds, target_dir};

/// Where the pages are, among the sources.
const PAGES: &str = "docs/lab/bench";

/// Columns of what the page says besides tables.
const WIDTH: usize = 116;

/// How the locks are compared.
#[derive(Debug, Args)]
pub struct PeersOptions {
    /// Two short rounds of all of `lockwright-lab bench locks`: does it still run? The figures mean
    /// nothing.
    #[arg(long, conflicts_with_all = ["write", "arguments"])]
    pub smoke: bool,

    /// Write docs/lab/bench/peers.md and its plots instead of standard output; of anything but mutexes,
    /// a page of its own: peers-rwlocks.md with `-- --only rwlocks`.
    #[arg(long)]
    pub write: bool,

    /// The tool that measures, instead of one built here for release.
    #[arg(long, value_name = "FILE")]
    pub lockwright: Option<PathBuf>,

    /// Options of `lockwright-lab bench locks`; without any, `--only mutexes`.
    #[arg(last = true, value_name = "OPTION")]
    pub arguments: Vec<String>,
}

impl PeersOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { smoke: true, write: false, lockwright: None, arguments: Vec::new() }
    }
}

/// A shared object of locks.
struct Library {
    name: &'static str,
    /// In lab/lab/peers.
    source: &'static str,
    compiler: [&'static str; 2],
    /// Debian's package.
    package: &'static str,
    /// What it is linked with; Concurrency Kit's locks are in its headers.
    linked: &'static [&'static str],
}

const C: [&str; 2] = ["cc", "-std=gnu11"];
const CXX: [&str; 2] = ["c++", "-std=c++17"];

const LIBRARIES: [Library; 4] = [
    Library {
        name: "absl.so",
        source: "absl.cc",
        compiler: CXX,
        package: "libabsl-dev",
        linked: &["-labsl_synchronization"],
    },
    Library {
        name: "nsync.so",
        source: "nsync.c",
        compiler: C,
        package: "libnsync-dev",
        linked: &["-lnsync"],
    },
    Library { name: "ck.so", source: "ck.c", compiler: C, package: "libck-dev", linked: &[] },
    Library {
        name: "tbb.so",
        source: "tbb.cc",
        compiler: CXX,
        package: "libtbb-dev",
        linked: &["-ltbb"],
    },
];

/// Builds and measures.
///
/// # Errors
/// If something cannot be built, does not run to its end, or, in CI, is missing.
pub fn run(options: &PeersOptions) -> Result<(), String> {
    let lockwright = match &options.lockwright {
        Some(file) => file.canonicalize().map_err(|e| format!("{}: {e}", file.display()))?,
        None => lab_build(options.smoke)?,
    };
    let dir = target_dir().join("bench/peers");
    build(&dir)?;
    let page = target_dir().join("bench/peers.txt");
    let mut command = Command::new(lockwright);
    command.args(["bench", "locks", "--peers"]).arg(&dir).arg("--output").arg(&page);
    if options.smoke {
        command.arg("--smoke");
    } else if options.arguments.is_empty() {
        command.args(["--only", "mutexes"]);
    }
    let name = page_name(&options.arguments);
    let plots = root().join(PAGES).join(&name);
    // With some cells only, no line has all its points.
    let has_plots = options.write && !is_sampled(&options.arguments);
    if has_plots {
        // Plots of cells that are no longer measured shall go.
        let _ = fs::remove_dir_all(&plots);
        command.arg("--plot").arg(&plots);
    }
    if std::env::var_os("LOCKWRIGHT_CI").is_some() {
        command.arg("--complete");
    }
    succeeds(command.args(&options.arguments))?;
    let text = read(&page)?;
    if !options.write {
        print!("{text}");
        return Ok(());
    }
    let file = root().join(PAGES).join(format!("{name}.md"));
    let images = if has_plots { images(&plots, &name)? } else { String::new() };
    let text = heading(&options.arguments) + &images + &indented(&text);
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// The name of the page of what is measured with these options, and of its plots' directory.
fn page_name(arguments: &[String]) -> String {
    let only = arguments.iter().skip_while(|argument| *argument != "--only").nth(1);
    let name = match only.map(String::as_str) {
        None | Some("mutexes") => "peers".to_owned(),
        Some(section) => format!("peers-{}", section.replace(|c: char| !c.is_alphanumeric(), "-")),
    };
    if is_sampled(arguments) { name + "-sampled" } else { name }
}

/// Whether some cells of a sweep are measured instead of all.
fn is_sampled(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "--cells")
}

/// Markdown that shows the plots, which are in the directory that is called `name` from the page.
pub(super) fn images(plots: &Path, name: &str) -> Result<String, String> {
    let files = fs::read_dir(plots).map_err(|e| format!("{}: {e}", plots.display()))?;
    let mut names: Vec<_> =
        files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names.iter().map(|plot| format!("![{plot}]({name}/{plot})\n\n")).collect())
}

/// What the page is, and how to make it again.
fn heading(arguments: &[String]) -> String {
    let options = arguments.join(" ");
    let options = if options.is_empty() { options } else { format!(" -- {options}") };
    format!(
        "# The locks compared with all others\n\nMade by `cargo xtask bench peers --write{options}`:\n\n"
    )
}

/// As Markdown has what a program printed: rows of tables, which are indented, as they are, and
/// other lines folded.
fn indented(text: &str) -> String {
    let folded = |line: &str| if line.starts_with(' ') { line.to_owned() } else { fold(line) };
    let indent = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    };
    text.lines().map(|line| folded(line).split('\n').map(indent).collect::<String>()).collect()
}

/// Lines of [`WIDTH`] at most, if words allow it.
fn fold(line: &str) -> String {
    let mut folded = String::new();
    let mut width = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if width > 0 {
            let fits = width + 1 + length <= WIDTH;
            folded.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        folded.push_str(word);
        width += length;
    }
    folded
}

/// Builds all libraries into `dir`. What is missing is noted in its place.
fn build(dir: &Path) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut packages = Packages { cache: target_dir().join("bench/packages"), apt: None };
    LIBRARIES.iter().try_for_each(|library| {
        or_why(dir, library.name, |into| library.compile(into, &mut packages))
    })
}

impl Library {
    /// With what is installed, and else with what can be downloaded.
    fn compile(&self, into: &Path, packages: &mut Packages) -> Result<(), String> {
        let installed = ["-s", self.package];
        if said(Command::new("dpkg-query").args(installed)).is_ok_and(|text| is_installed(&text)) {
            return self.compile_with(into, &[]);
        }
        let files = packages.unpacked(self.package)?;
        let libraries = files.join("usr/lib").join(multiarch()?);
        let flags = [
            format!("-I{}", files.join("usr/include").display()),
            format!("-L{}", libraries.display()),
            // Not of this file alone: what it is linked with is itself linked with more of them.
            format!("-Wl,--disable-new-dtags,-rpath,{}", libraries.display()),
        ];
        self.compile_with(into, &flags)
    }

    fn compile_with(&self, into: &Path, flags: &[String]) -> Result<(), String> {
        let sources = root().join("lab/lab/peers");
        let [compiler, standard] = self.compiler;
        let mut compile = Command::new(compiler);
        compile.args([standard, "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-pthread"]);
        compile.args(["-fPIC", "-shared", "-Wl,--no-undefined", "-o"]).arg(into);
        compile.arg(sources.join(self.source)).args(flags).args(self.linked);
        said(&mut compile).map(drop)
    }
}

/// Whether `dpkg-query -s` says that a package is installed.
fn is_installed(text: &str) -> bool {
    text.lines().any(|line| line == "Status: install ok installed")
}

/// Where Debian has libraries of this machine's kind.
fn multiarch() -> Result<String, String> {
    Ok(said(Command::new("cc").arg("-print-multiarch"))?.trim().to_owned())
}

/// Debian's packages, unpacked where they change nothing.
struct Packages {
    cache: PathBuf,
    /// Once it was needed.
    apt: Option<Apt>,
}

impl Packages {
    /// The files of a package and of those that it depends on, but not of what these do.
    fn unpacked(&mut self, package: &str) -> Result<PathBuf, String> {
        let files = self.cache.join(package);
        if files.is_dir() {
            return Ok(files);
        }
        let of = self.cache.join(format!("{package}.unfinished"));
        let _ = fs::remove_dir_all(&of);
        fs::create_dir_all(&of).map_err(|e| format!("{}: {e}", of.display()))?;
        let apt = match &mut self.apt {
            Some(apt) => apt,
            none => none.insert(Apt::new(&self.cache, Kind::Packages)?),
        };
        let wanted = apt.with_dependencies(package).map_err(|why| apt.why(package, &why))?;
        for wanted in wanted {
            apt.get(&["download", &wanted]).map_err(|why| apt.why(&wanted, &why))?;
            let file = downloaded(&self.cache, &wanted)?;
            said(Command::new("dpkg-deb").arg("--extract").arg(file).arg(&of))?;
        }
        fs::rename(&of, &files).map_err(|e| format!("{}: {e}", files.display()))?;
        Ok(files)
    }
}

/// A package's file in `dir`.
fn downloaded(dir: &Path, package: &str) -> Result<PathBuf, String> {
    let files = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let begin = format!("{package}_");
    let is_it = |name: &str| name.starts_with(&begin) && name.ends_with(".deb");
    let found = files.flatten().find(|file| is_it(&file.file_name().to_string_lossy()));
    found.map(|file| file.path()).ok_or(format!("apt-get download {package} has left no file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_was_printed() {
        assert_eq!(indented("a\n\n  b\n"), "    a\n\n      b\n");
        let row = format!("  {}y", "x ".repeat(WIDTH));
        assert_eq!(indented(&row), format!("    {row}\n"));
        let words = "x ".repeat(WIDTH);
        let folded = indented(words.trim_end());
        assert_eq!(folded.lines().map(str::len).max(), Some(4 + WIDTH - 1), "{folded}");
        assert_eq!(folded.split_whitespace().count(), WIDTH);
        let heading = heading(&["--hog".to_owned(), "both".to_owned()]);
        assert!(heading.contains("--write -- --hog both`"), "{heading}");
    }

    #[test]
    fn each_section_has_its_page() {
        let name = |arguments: &[&str]| {
            page_name(&arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(name(&[]), "peers");
        assert_eq!(name(&["--hog", "both", "--only", "mutexes"]), "peers");
        assert_eq!(name(&["--only", "rwlocks"]), "peers-rwlocks");
        assert_eq!(name(&["--only", "many threads"]), "peers-many-threads");
        let some = ["--only", "rwlocks", "--sweep", "full", "--cells", "40"];
        assert_eq!(name(&some), "peers-rwlocks-sampled");
    }

    #[test]
    fn a_package_that_was_removed_is_not_installed() {
        assert!(is_installed("Package: x\nStatus: install ok installed\n"));
        assert!(!is_installed("Package: x\nStatus: deinstall ok config-files\n"));
    }
}
