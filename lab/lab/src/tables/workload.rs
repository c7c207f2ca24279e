//! The builds and programs that the tables run.

use std::path::PathBuf;
use std::process::Command;

use super::Options;
use super::programs::{self, Run};

/// The build-like driver (examples/build_driver): lock-rich.
const DRIVER: &str = "build_driver";
/// The same, linked with lockwright's locks.
const DRIVER_WITH_LOCKS: &str = "build_driver-lockwright";
/// The sources of Lua, whose build is a real one: the compiler is poor in locks.
const LUA: &str = "lua";
/// A program that has many locks for a short time.
const FUTURES: &str = "futures.py";

/// What is run.
pub struct Workload {
    /// In the page.
    pub name: String,
    /// Whether all runs must print the same.
    checksum: bool,
    program: PathBuf,
    arguments: Vec<String>,
    /// What is to be done before each run.
    before: Option<Vec<String>>,
}

/// The driver with so many threads, and further options.
///
/// # Errors
/// Why it is not there.
pub fn driver(options: &Options, threads: usize, more: &[&str]) -> Result<Workload, String> {
    driver_at(options.parts.find(DRIVER)?, options, threads, more)
}

/// The same with lockwright's locks to choose from; its library is to be found by the loader.
///
/// # Errors
/// Why it is not there.
pub fn driver_with_locks(
    options: &Options,
    threads: usize,
    more: &[&str],
) -> Result<Workload, String> {
    driver_at(options.parts.find(DRIVER_WITH_LOCKS)?, options, threads, more)
}

fn driver_at(
    program: PathBuf,
    options: &Options,
    threads: usize,
    more: &[&str],
) -> Result<Workload, String> {
    let plural = if threads == 1 { "" } else { "s" };
    let mut arguments = vec!["--threads".to_owned(), threads.to_string()];
    arguments.extend(more.iter().map(|&option| option.to_owned()));
    if options.smoke {
        arguments.extend(["--units", "40"].map(str::to_owned));
    }
    Ok(Workload {
        name: format!("driver, {threads} thread{plural}"),
        checksum: true,
        program,
        arguments,
        before: None,
    })
}

/// `make` of Lua, with as many jobs as there are CPUs.
///
/// # Errors
/// Why it is not there.
pub fn make(options: &Options, jobs: usize) -> Result<Workload, String> {
    let dir = options.parts.find(LUA)?.join("src").display().to_string();
    let of = |more: &[&str]| -> Vec<String> {
        ["-s", "-C", dir.as_str()].iter().chain(more).map(|&word| word.to_owned()).collect()
    };
    let target = if options.smoke { "lzio.o" } else { "linux" };
    Ok(Workload {
        name: format!("make -j{jobs} of Lua"),
        checksum: false,
        program: "make".into(),
        arguments: of(&[&format!("-j{jobs}"), target]),
        before: Some(of(&["clean"])),
    })
}

/// CPython with thousands of futures at once.
///
/// # Errors
/// Why it is not there.
pub fn futures(options: &Options) -> Result<Workload, String> {
    // Not the first in PATH, which may be a script that finds another.
    let python = PathBuf::from("/usr/bin/python3");
    if !python.exists() {
        return Err("there is no /usr/bin/python3: install the package python3".to_owned());
    }
    let script = options.parts.find(FUTURES)?.display().to_string();
    let [batches, size] = if options.smoke { ["2", "1500"] } else { ["30", "3000"] };
    Ok(Workload {
        name: "CPython, 4 threads, 3000 futures at once".to_owned(),
        checksum: true,
        program: python,
        arguments: vec![script, batches.to_owned(), size.to_owned()],
        before: None,
    })
}

impl Workload {
    /// Runs it; `prepare` may change how.
    ///
    /// # Errors
    /// If it fails.
    pub fn run(&self, prepare: impl FnOnce(&mut Command)) -> Result<Run, String> {
        if let Some(arguments) = &self.before {
            programs::run(Command::new(&self.program).args(arguments))?;
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // What would have make's jobs wait for another one's.
        command.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
        prepare(&mut command);
        programs::run(&mut command)
    }

    /// Whether all runs came to the same result.
    ///
    /// # Errors
    /// If not: what was measured is void.
    pub fn same_results<'r>(&self, runs: impl Iterator<Item = &'r Run>) -> Result<(), String> {
        let mut results =
            runs.map(|run| run.text.lines().next().unwrap_or_default()).filter(|_| self.checksum);
        let first = results.next().unwrap_or_default();
        match results.find(|result| *result != first) {
            None => Ok(()),
            Some(other) => Err(format!("{}: {first}, but also {other}", self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(checksum: bool) -> Workload {
        let program = "true".into();
        Workload { name: "w".into(), checksum, program, arguments: Vec::new(), before: None }
    }

    #[test]
    fn a_planted_difference_of_results_is_found() {
        let run = |text: &str| Run { elapsed: 1.0, user: 1.0, system: 0.0, text: text.to_owned() };
        let (same, other) = (run("checksum 1\nseconds 1\n"), run("checksum 2\nseconds 1\n"));
        let again = run("checksum 1\nseconds 2\n");
        assert_eq!(of(true).same_results([&same, &again].into_iter()), Ok(()));
        assert!(of(true).same_results([&same, &again, &other].into_iter()).is_err());
        assert_eq!(of(false).same_results([&same, &other].into_iter()), Ok(()));
    }
}
