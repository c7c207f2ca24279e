//! The check of the Promela models: Spin searches all their states and finds no error, and it finds
//! each fault that a model can be built with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::skips::skip;
use crate::test::Extent;
use crate::workspace::{output, read, root, target_dir};

/// The models.
const MODELS: &[&str] = &["locks/lockwright/models/hybrid_mutex.pml"];

/// One way of searching a model.
struct Search {
    name: &'static str,
    /// Definitions for the model.
    model: &'static [&'static str],
    /// Definitions for the verifier that Spin makes of it.
    verifier: &'static [&'static str],
    /// Options of the verifier.
    options: &'static [&'static str],
}

/// Bad states: broken assertions, and states in which nobody can go on. What a fault breaks is mostly
/// seen with the first.
const STATES: &[Search] = &[
    Search {
        name: "3-threads",
        model: &["-DTHREADS=3", "-DROUNDS=2"],
        verifier: &["-DSAFETY", "-DNOCLAIM", MEMORY],
        options: &[DEPTH],
    },
    Search {
        name: "4-threads",
        model: &["-DTHREADS=4", "-DROUNDS=1"],
        verifier: &["-DSAFETY", "-DNOCLAIM", "-DCOLLAPSE", MEMORY],
        options: &[DEPTH],
    },
];

/// Endless runs that get nowhere, though each thread that can go on does.
const PROGRESS: Search = Search {
    name: "progress",
    model: &["-DTHREADS=3", "-DLIVENESS"],
    verifier: &["-DNFAIR=3", "-DCOLLAPSE", MEMORY],
    options: &["-a", "-f", DEPTH],
};

/// Most memory that a search takes, in MiB, of which there are as many as CPUs at once; one that
/// needs more is an error.
const MEMORY: &str = "-DMEMLIM=3072";

/// Most steps of a run; one that has more is an error.
const DEPTH: &str = "-m5000000";

/// The copy of a model, in the folder that Spin runs in.
const MODEL: &str = "model.pml";

/// What a search has come to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// All states were seen, and none is bad.
    Sound,
    /// The first error.
    Error(String),
}

/// Runs the check. Without Spin it is skipped, and says so; not in CI.
///
/// # Errors
/// What Spin finds wrong with a model, with the steps that lead there; a planted fault that it does
/// not find; a search that was not complete.
pub fn run(extent: Extent) -> Result<(), String> {
    if Command::new("spin").arg("-V").output().is_err() {
        return skip("promela", "Spin is not installed (Debian's package spin)");
    }
    MODELS.iter().try_for_each(|model| check(&root().join(model), extent))
}

/// In so many parts the searches and the faults of a model take turns.
const PARTS: usize = 8;

fn check(model: &Path, extent: Extent) -> Result<(), String> {
    let text = read(model)?;
    let faults = faults(&text);
    if faults.is_empty() {
        return Err(format!("{}: no fault can be planted in it", model.display()));
    }
    let searches = STATES.iter().chain([&PROGRESS]).map(Task::Search);
    let all = searches.chain(faults.into_iter().map(Task::Fault)).enumerate();
    let due = all.filter(|(part, _)| extent.has(*part, PARTS)).map(|(_, task)| task);
    let tasks = Mutex::new(due);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(task) = tasks.lock().unwrap().next() else { return };
                    match task.run(model) {
                        Ok(said) => eprintln!("{said}"),
                        Err(why) => failed.lock().unwrap().push(why),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// A run of Spin or two.
enum Task {
    /// A search of the model as it is.
    Search(&'static Search),
    /// With the fault of this number.
    Fault(u32),
}

impl Task {
    /// What came of it, in a line.
    fn run(&self, model: &Path) -> Result<String, String> {
        match *self {
            Self::Search(search) => match searched(model, search, 0)? {
                Outcome::Sound => Ok(format!("{}: no error", search.name)),
                Outcome::Error(error) => {
                    Err(format!("{}: {error}\n{}", search.name, steps(model, search, 0)?))
                }
            },
            Self::Fault(fault) => Ok(format!("fault {fault}: {}", found(model, fault)?)),
        }
    }
}

/// How a planted fault is noticed.
fn found(model: &Path, fault: u32) -> Result<String, String> {
    for search in [&STATES[0], &PROGRESS] {
        if let Outcome::Error(error) = searched(model, search, fault)? {
            return Ok(format!("{}: {error}", search.name));
        }
    }
    Err(format!("{}: Spin does not find fault {fault}", model.display()))
}

/// The numbers of the faults that a model can be built with.
fn faults(text: &str) -> BTreeSet<u32> {
    let numbers = text.split("FAULT ").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("== ").or_else(|| rest.strip_prefix("!= "))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    numbers.filter(|number| *number > 0).collect()
}

/// A folder for what is made of a model: Spin writes where it runs.
fn folder(model: &Path, search: &Search, fault: u32) -> PathBuf {
    let name = model.file_stem().unwrap_or_default();
    target_dir().join("promela").join(name).join(format!("{}-{fault}", search.name))
}

fn searched(model: &Path, search: &Search, fault: u32) -> Result<Outcome, String> {
    let folder = folder(model, search, fault);
    let copied = fs::create_dir_all(&folder).and_then(|()| fs::copy(model, folder.join(MODEL)));
    copied.map_err(|e| format!("{}: {e}", folder.display()))?;
    output(spin(search, fault, &["-a"], &folder))?;
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-w"]).args(search.verifier).args(["-o", "pan", "pan.c"]);
    output(in_folder(compile, &folder))?;
    let mut verify = Command::new("./pan");
    verify.args(search.options);
    let said = output(in_folder(verify, &folder))?;
    // Where a fault is planted, some of the model is not compiled, or not reached.
    outcome(&said, fault == 0 && search.verifier.contains(&"-DSAFETY"))
        .map_err(|why| format!("{}, fault {fault}: {why}\n{said}", search.name))
}

fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}

/// What a verifier's words mean. `whole`: each step of the threads must have been taken.
///
/// # Errors
/// If it has not searched everything, or a step was never taken.
fn outcome(said: &str, whole: bool) -> Result<Outcome, String> {
    let limits = ["max search depth too small", "MEMLIM", "out of memory"];
    if let Some(limit) = limits.iter().find(|limit| said.contains(**limit)) {
        return Err(format!("the search was not complete: {limit}"));
    }
    let errors = said.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    match errors {
        Some("0") => {}
        Some(_) => {
            let first = said.lines().find_map(|line| line.strip_prefix("pan:1: "));
            return first
                .map(|error| Outcome::Error(error.to_owned()))
                .ok_or_else(|| "there is an error, but it does not say which".to_owned());
        }
        None => return Err("it does not say how many errors there are".into()),
    }
    if said.contains("Search not completed") {
        return Err("the search was not complete".into());
    }
    let unreached = said.split("unreached in proctype Thread").nth(1);
    let first = unreached.and_then(|rest| rest.lines().nth(1)).unwrap_or_default().trim();
    if whole && !first.starts_with("(0 of ") {
        return Err(format!("a step is never taken: {first}"));
    }
    Ok(Outcome::Sound)
}

/// The steps that lead to the error.
fn steps(model: &Path, search: &Search, fault: u32) -> Result<String, String> {
    let trail = format!("{MODEL}.trail");
    let options = ["-k", &trail, "-p", "-g", "-l"];
    output(spin(search, fault, &options, &folder(model, search, fault)))
}

/// Spin on the copy of a model in `folder`.
fn spin(search: &Search, fault: u32, options: &[&str], folder: &Path) -> Command {
    let mut spin = Command::new("spin");
    spin.args(search.model).arg(format!("-DFAULT={fault}")).args(options).arg(MODEL);
    in_folder(spin, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_those_of_the_source() {
        let text = "#define FAULT 0\n#if FAULT == 12 /* x */\n#if FAULT != 3\n#if FAULT == 12\n";
        assert_eq!(faults(text), BTreeSet::from([3, 12]));
    }

    #[test]
    fn a_search_is_sound_if_it_is_complete_and_finds_nothing() {
        let sound = "State-vector 76 byte, depth reached 312, errors: 0\n\
                     unreached in proctype Thread\n\t(0 of 98 states)\n";
        assert_eq!(outcome(sound, true), Ok(Outcome::Sound));
        let short = format!("error: max search depth too small\n{sound}");
        assert!(outcome(&short, false).is_err());
        let full = format!("pan: reached -DMEMLIM bound\n{sound}");
        assert!(outcome(&full, false).is_err());
        assert!(outcome("", false).is_err());
        let unreached = sound.replace("\t(0 of", "\tx.pml:3, state 9, \"fair = 1\"\n\t(1 of");
        assert_eq!(outcome(&unreached, false), Ok(Outcome::Sound));
        assert!(outcome(&unreached, true).unwrap_err().contains("fair = 1"));
    }

    #[test]
    fn an_error_is_told_by_its_first_line() {
        let said = "pan:1: invalid end state (at depth 9)\npan: wrote x.trail\n\
                    Warning: Search not completed\nState-vector 9 byte, depth reached 9, errors: 1\n";
        let error = Outcome::Error("invalid end state (at depth 9)".into());
        assert_eq!(outcome(said, false), Ok(error));
    }
}
