//! All models, and their own test: each ordering weakened, each fence and each wake left out, one
//! at a time. Every such mutant must fail some model of its lock, or stand in `redundant.txt` with the reason
//! why it cannot.
//!
//! Mutants run in processes of their own: a failed model may leave anything behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::mutant::Mutant;

/// How long a mutant's model may take. A fault that turns the end of a model into endless
/// interleavings is noticed, too.
const LIMIT: Duration = Duration::from_secs(120);

/// The names of all models: all tests of this program but this file's.
fn models() -> Vec<String> {
    let output = command().arg("--list").output().expect("this program runs");
    let text = String::from_utf8(output.stdout).expect("names");
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    names.filter(|name| !name.starts_with("mutants::")).map(str::to_owned).collect()
}

fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
        .env_remove("LOCKWRIGHT_MUTANTS")
        .env_remove("LOCKWRIGHT_MUTANT")
        .env("RUST_BACKTRACE", "0");
    command
}

/// Whether the model still holds with the variable set.
fn holds(model: &str, variable: &str, value: &Path) -> bool {
    let mut child = command()
        .args([model, "--exact"])
        .env(variable, value)
        .stdout(Stdio::null())
        .spawn()
        .expect("this program runs");
    let begin = Instant::now();
    loop {
        match child.try_wait().expect("our child") {
            Some(status) => return status.success(),
            None if begin.elapsed() > LIMIT => {
                child.kill().expect("our child");
                child.wait().expect("our child");
                return false;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// By mutant, the models that come through its place, those first that end soonest. The models hold without any.
fn faults(models: &[String]) -> BTreeMap<String, Vec<String>> {
    let faults = Mutex::new(BTreeMap::<String, Vec<(Duration, String)>>::new());
    on_all_cpus(models.iter(), |model| {
        let place = tempfile(model);
        let _ = std::fs::remove_file(&place);
        let begin = Instant::now();
        assert!(holds(model, "LOCKWRIGHT_MUTANTS", &place), "{model} fails without any fault");
        let took = begin.elapsed();
        let text = std::fs::read_to_string(&place).unwrap_or_default();
        let _ = std::fs::remove_file(&place);
        let mut faults = faults.lock().unwrap();
        for line in text.lines() {
            faults.entry(line.to_owned()).or_default().push((took, model.clone()));
        }
    });
    let by_time = |mut models: Vec<(Duration, String)>| {
        models.sort_unstable();
        models.into_iter().map(|(_, model)| model).collect()
    };
    let faults = faults.into_inner().unwrap();
    faults.into_iter().map(|(fault, models)| (fault, by_time(models))).collect()
}

/// Does it to each of them, one at a time on each CPU.
fn on_all_cpus<T: Send>(all: impl Iterator<Item = T> + Send, does: impl Fn(T) + Sync) {
    let work = Mutex::new(all);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(next) = work.lock().unwrap().next() else { return };
                    does(next);
                }
            });
        }
    });
}

fn tempfile(model: &str) -> PathBuf {
    let name = model.replace("::", "-");
    std::env::temp_dir().join(format!("lockwright-mutants-{}-{name}", std::process::id()))
}

/// A mutant as `redundant.txt` has it: file, fault and the text of its line, which outlive other
/// lines' changes.
fn described(mutant: &Mutant) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(&mutant.file))
        .unwrap_or_else(|error| panic!("{}: {error}", mutant.file));
    let line = text.lines().nth(mutant.line as usize - 1).expect("a line of the file");
    let file = Path::new(&mutant.file).file_name().expect("a file").to_string_lossy();
    format!("{file} {}: {}", mutant.fault, line.trim())
}

/// The mutants of `redundant.txt`: lines `FILE FAULT: SOURCE LINE`, each followed by its reason,
/// indented.
fn redundant() -> BTreeSet<String> {
    let lines = include_str!("redundant.txt").lines();
    let mut found = BTreeSet::new();
    let mut unproved = None;
    for line in lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if line.starts_with(' ') {
            unproved = None;
        } else {
            assert!(unproved.is_none(), "no reason is given for: {unproved:?}");
            unproved = Some(line);
            found.insert(line.to_owned());
        }
    }
    assert!(unproved.is_none(), "no reason is given for: {unproved:?}");
    found
}

/// Which mutants are tested, and in how many parts they take turns: `LOCKWRIGHT_MUTANTS_PART`, as `2/6`; all without it.
fn part() -> (usize, usize) {
    let Ok(part) = std::env::var("LOCKWRIGHT_MUTANTS_PART") else { return (0, 1) };
    let numbers = part.split_once('/').and_then(|(part, parts)| {
        let numbers: (usize, usize) = (part.parse().ok()?, parts.parse().ok()?);
        Some(numbers).filter(|(part, parts)| part < parts)
    });
    numbers.unwrap_or_else(|| panic!("LOCKWRIGHT_MUTANTS_PART={part} is no part as 2/6 is"))
}

#[test]
#[ignore = "takes minutes: cargo xtask test models"]
fn every_mutant_dies() {
    let only = std::env::var("LOCKWRIGHT_MUTANTS_OF").unwrap_or_default();
    let models: Vec<_> = models().into_iter().filter(|model| model.starts_with(&only)).collect();
    let faults = faults(&models);
    assert!(!faults.is_empty(), "no operation of any lock was seen");
    let (part, parts) = part();
    let survivors = Mutex::new(Vec::new());
    let due = faults.iter().enumerate().filter(|(number, _)| number % parts == part);
    on_all_cpus(due, |(_, (fault, models))| {
        let is_killer = |model: &&String| !holds(model, "LOCKWRIGHT_MUTANT", Path::new(fault));
        match models.iter().find(is_killer) {
            Some(model) => println!("{fault}: dies in {model}"),
            None => survivors.lock().unwrap().push(fault.parse::<Mutant>().expect("our own text")),
        }
    });
    let survivors: BTreeMap<_, _> = survivors
        .into_inner()
        .unwrap()
        .iter()
        .map(|mutant| (described(mutant), mutant.to_string()))
        .collect();
    let redundant = redundant();
    let unexplained: Vec<_> =
        survivors.iter().filter(|(line, _)| !redundant.contains(*line)).collect();
    // Mutants of the same line are described alike: a part of them may die where another survives.
    let not_tested = |line: &str| {
        let mut mutants = faults.keys().enumerate();
        mutants.any(|(number, fault)| {
            number % parts != part && described(&fault.parse().expect("our own text")) == line
        })
    };
    let is_dead = |line: &&String| !survivors.contains_key(*line) && !not_tested(line);
    let dead: Vec<_> = redundant.iter().filter(is_dead).collect();
    println!(
        "{} models hold; part {part} of {parts} of {} mutants: {} survive; {} are proved redundant",
        models.len(),
        faults.len(),
        survivors.len(),
        redundant.len()
    );
    assert!(unexplained.is_empty(), "survive, and nothing says why they may: {unexplained:#?}");
    assert!(
        !only.is_empty() || dead.is_empty(),
        "said to be redundant, but die or are gone: {dead:#?}"
    );
}
