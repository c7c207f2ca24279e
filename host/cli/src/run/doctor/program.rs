//! A program file and its libraries: which locks of theirs can be seen.

use std::path::{Path, PathBuf};

use lockwright_analysis::symbolize::is_runtime;

use super::diagnosis::{Diagnosis, Effect, Finding};
use super::hidden::{Hidden, sorts_in};
use super::modules::Modules;
use super::source_lines;
use crate::run::target::contents::{Contents, Mark};
use crate::run::target::{Obstacle, Target};

/// How the names of further libraries of the C library and of lockwright begin.
const SYSTEM: &[&str] = &["libresolv.so", "libresolv-2.", "libnss_", "liblockwright.so"];

/// Whether a library is the C library's, the compilers', the kernel's or ours: what they lock is not
/// the program's business.
pub fn is_of_system(library: &Path) -> bool {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    is_runtime(&name) || SYSTEM.iter().any(|system| name.starts_with(system))
}

/// Diagnoses a program that does not run yet.
pub fn diagnose(name: String, target: &Target) -> Diagnosis {
    let mut findings = Vec::new();
    let mut modules = Modules::default();
    if let Some(obstacle) = &target.obstacle {
        findings.push(of_obstacle(obstacle, &target.file));
    }
    let file = target.file.canonicalize().unwrap_or_else(|_| target.file.clone());
    if target.obstacle.is_none()
        && let Some(loader) = &target.loader
    {
        match Modules::of_file(&file, loader) {
            Some(found) => modules = found,
            None => findings.push(
                Finding::new(
                    "other-loader",
                    Effect::Note,
                    format!(
                        "its loader, {}, is not this system's: its C library and other libraries were not looked at",
                        loader.display()
                    ),
                )
                .help("if lockwright reports no ledger: build the program for this system's glibc"),
            ),
        }
    }
    if !modules.missing.is_empty() {
        let what = format!("the program does not start: {} not found", modules.missing.join(", "));
        findings.push(
            Finding::new("missing-library", Effect::Blocks, what)
                .help("install what has it, or name its directory in LD_LIBRARY_PATH"),
        );
    }
    let is_blocked = target.obstacle.is_some();
    findings.extend(of_modules(&file, &modules.files, is_blocked));
    if !target.scripts.is_empty() || is_launcher(&file) {
        findings.push(
            Finding::new(
                "starts-others",
                Effect::Note,
                "this is about the interpreter; each program that it starts is watched, or not, by itself",
            )
            .help("ask about those: `lockwright doctor PROGRAM`"),
        );
    }
    Diagnosis {
        name,
        file,
        scripts: target.scripts.clone(),
        libraries: modules.files.len(),
        process: None,
        findings,
    }
}

/// Shells and the like, which lock nothing and start what does.
fn is_launcher(file: &Path) -> bool {
    const NAMES: &[&str] = &["sh", "dash", "bash", "zsh", "env", "make", "nice", "timeout"];
    file.file_name().and_then(|name| name.to_str()).is_some_and(|name| NAMES.contains(&name))
}

/// What stands in the way of the preload library.
pub fn of_obstacle(obstacle: &Obstacle, file: &Path) -> Finding {
    let why = obstacle.why();
    let what = match why.as_str() {
        "" => obstacle.what(),
        why => format!("{}: {why}", obstacle.what()),
    };
    let finding = Finding::new(obstacle.id(), Effect::Blocks, what);
    obstacle.help(file).into_iter().fold(finding, Finding::help)
}

/// What the executable and its libraries hide, and what they lack. If the program is `blocked`,
/// what it hides beyond that is reported without weight.
pub fn of_modules(file: &Path, libraries: &[PathBuf], blocked: bool) -> Vec<Finding> {
    let Some(program) = Contents::read(file) else { return Vec::new() };
    let is_own = |library: &&PathBuf| library.as_path() != file && !is_of_system(library);
    let libraries: Vec<Contents> =
        libraries.iter().filter(is_own).filter_map(|path| Contents::read(path)).collect();
    let mut findings = Vec::new();

    let own_sorts = sorts_in(&program);
    // A program in whose own code no lock can be seen, nor in its libraries.
    let takes = |module: &Contents| module.has(Mark::TakesLocks) || module.has(Mark::Tells);
    let is_blind = !blocked
        && own_sorts.iter().all(|sort| !sort.waits)
        && !takes(&program)
        && !program.has(Mark::Opens)
        && !libraries.iter().any(takes);
    for sort in &own_sorts {
        let effect = match sort.is_certain {
            _ if blocked => Effect::Note,
            true if is_blind => Effect::Blocks,
            _ => Effect::Hides,
        };
        findings.push(of_sort(sort, effect));
    }
    for library in &libraries {
        for sort in sorts_in(library).into_iter().filter(|sort| sort.id != "futex") {
            match findings.iter_mut().find(|finding| finding.id == sort.id) {
                Some(known) if !known.files.is_empty() => {
                    known.files.push(library.file.display().to_string())
                }
                Some(_) => {}
                None => {
                    findings.push(of_sort(sort, Effect::Hides).file(&library.file));
                }
            }
        }
    }
    if blocked {
        return findings;
    }

    if program.has(Mark::OwnHeap) && !program.has(Mark::Sanitizer) {
        findings.push(own_heap());
    }
    let seen: Vec<&Contents> = libraries.iter().filter(|library| takes(library)).collect();
    if own_sorts.is_empty() && !takes(&program) {
        findings.push(locks_elsewhere(&seen, program.has(Mark::Opens)));
    }
    if program.has(Mark::Rust) && program.has(Mark::Tells) {
        let what = "it tells lockwright of locks of its own; those of std::sync and parking_lot that it also uses are not seen";
        findings.push(
            Finding::new("tells", Effect::Note, what)
                .help("use `lockwright::sync`, or `Traced`, for those too: docs/locks.md"),
        );
    }
    findings.extend(source_lines::examine(&program));
    findings
}

fn of_sort(sort: &Hidden, effect: Effect) -> Finding {
    let finding = Finding::new(sort.id, effect, sort.said());
    sort.help.iter().fold(finding, |finding, help| finding.help(*help))
}

/// malloc and free of the executable come before those of any library.
fn own_heap() -> Finding {
    Finding::new(
        "own-heap",
        Effect::Hides,
        "it has malloc and free itself, so it is not seen that memory with a held lock is freed, and --track-allocations has no effect",
    )
    .help("link jemalloc, tcmalloc or mimalloc as a shared library, or not at all, while you check")
}

/// The program itself takes no locks that could be seen, and has no others that are known.
fn locks_elsewhere(seen: &[&Contents], opens: bool) -> Finding {
    let names: Vec<String> = seen.iter().map(|library| library.name()).collect();
    let what = match (names.as_slice(), opens) {
        ([], true) => "neither the program nor its libraries call a function that takes locks; those that it opens while it runs may".to_owned(),
        ([], false) => "neither the program nor its libraries call a function that takes locks".to_owned(),
        (names, _) => format!("the program itself calls no function that takes locks; of its libraries these do: {}", names.join(", ")),
    };
    Finding::new("no-locks", Effect::Note, what)
}
