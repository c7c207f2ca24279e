//! The second lane: a process of this program that runs its checks while the first lane runs here. A file for each check
//! says that a lane has begun it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::workspace::target_dir;

/// What came of a check.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub name: String,
    pub seconds: f64,
    /// Seconds of processor time of all its processes.
    pub processors: f64,
    /// Why it failed, if it did: a line, and details below it.
    pub failed: Option<String>,
}

/// The process, and where its output and its outcomes go. It ends with this value.
pub struct Background {
    child: Child,
    output: PathBuf,
    outcomes: PathBuf,
}

impl Background {
    /// Starts it. `all`: every check runs whole.
    ///
    /// # Errors
    /// If the process cannot be started, or its output cannot be written.
    pub fn start(all: bool) -> Result<Self, String> {
        let dir = folder();
        let [output, outcomes] = ["output.txt", "outcomes.json"].map(|name| dir.join(name));
        let error = |error: io::Error| format!("{}: {error}", dir.display());
        fs::create_dir_all(&dir).map_err(error)?;
        // Those of an earlier run are not taken for this one's.
        let _ = fs::remove_file(&outcomes);
        let file = File::create(&output).map_err(error)?;
        let both = file.try_clone().map_err(error)?;
        let mut command = Command::new(std::env::current_exe().map_err(error)?);
        command.arg("test").arg("--second-lane").arg(&outcomes);
        if all {
            command.arg("--all");
        }
        command.stdin(Stdio::null()).stdout(file).stderr(both);
        let child = command.spawn().map_err(error)?;
        Ok(Self { child, output, outcomes })
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Self {
        // Where that cannot be waited for, `join` says so.
        let _ = self.child.wait();
        self
    }

    /// Waits for its end, prints what it printed, and returns the outcomes.
    ///
    /// # Errors
    /// If it ended without outcomes.
    pub fn join(mut self) -> Result<Vec<Outcome>, String> {
        let status = self.child.wait().map_err(|e| format!("the second lane: {e}"))?;
        if let Ok(mut output) = File::open(&self.output) {
            // Where nobody reads it, the outcomes still count.
            let _ = io::copy(&mut output, &mut io::stdout());
        }
        read(&self.outcomes).map_err(|why| format!("the second lane: {status}: {why}"))
    }
}

impl Drop for Background {
    /// After an error in the first lane nobody waits for the second. Where it has ended already, this does nothing.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where its files are.
fn folder() -> PathBuf {
    target_dir().join("second-lane")
}

/// Which checks have begun, in whichever lane.
pub struct Turns;

impl Turns {
    /// Forgets those of an earlier run.
    ///
    /// # Errors
    /// If their folder cannot be made.
    pub fn forget() -> Result<(), String> {
        let _ = fs::remove_dir_all(Self::begun());
        fs::create_dir_all(Self::begun()).map_err(|e| format!("{}: {e}", Self::begun().display()))
    }

    /// Begins a check. False: the other lane has begun it.
    ///
    /// # Errors
    /// If that cannot be noted.
    pub fn take(check: &str) -> Result<bool, String> {
        Self::take_in(&Self::begun(), check)
    }

    fn take_in(folder: &Path, check: &str) -> Result<bool, String> {
        let file = folder.join(check);
        match File::create_new(&file) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    }

    fn begun() -> PathBuf {
        folder().join("begun")
    }
}

/// Writes outcomes for the process that waits for them.
///
/// # Errors
/// If the file cannot be written.
pub fn write(file: &Path, outcomes: &[Outcome]) -> Result<(), String> {
    let outcomes = outcomes.iter().map(|Outcome { name, seconds, processors, failed }| {
        json!({ "name": name, "seconds": seconds, "processors": processors, "failed": failed })
    });
    let text = Value::from_iter(outcomes).to_string();
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Result<Vec<Outcome>, String> {
    let error = |error: String| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|e| error(e.to_string()))?;
    let outcomes: Value = serde_json::from_str(&text).map_err(|e| error(e.to_string()))?;
    let outcome = |value: &Value| {
        let failed = match &value["failed"] {
            Value::Null => None,
            why => Some(why.as_str()?.to_owned()),
        };
        let name = value["name"].as_str()?.to_owned();
        let [seconds, processors] = [value["seconds"].as_f64()?, value["processors"].as_f64()?];
        Some(Outcome { name, seconds, processors, failed })
    };
    let outcomes = outcomes.as_array().and_then(|all| all.iter().map(outcome).collect());
    outcomes.ok_or_else(|| error("these are no outcomes".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_is_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let take = |check: &str| Turns::take_in(dir.path(), check);
        assert_eq!([take("a"), take("b"), take("a")], [Ok(true), Ok(true), Ok(false)]);
        assert!(Turns::take_in(&dir.path().join("gone"), "a").is_err());
    }

    #[test]
    fn outcomes_are_read_as_they_were_written() {
        let outcomes = || {
            let outcome = |name: &str, failed: Option<&str>| Outcome {
                name: name.to_owned(),
                seconds: 1.5,
                processors: 2.5,
                failed: failed.map(str::to_owned),
            };
            vec![outcome("passes", None), outcome("fails", Some("a line\nand details"))]
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("outcomes");
        write(&file, &outcomes()).unwrap();
        assert_eq!(read(&file), Ok(outcomes()));
        fs::write(&file, "[{\"name\": \"no seconds\"}]").unwrap();
        assert!(read(&file).unwrap_err().contains("no outcomes"));
        fs::remove_file(&file).unwrap();
        assert!(read(&file).is_err(), "a process that was killed has written none");
    }
}
