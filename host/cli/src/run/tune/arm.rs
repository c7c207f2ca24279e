//! The arms of a comparison, and how each is run.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The name of the C library's own locks.
pub const NATIVE: &str = "native";

/// What the command runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The C library's locks.
    Native,
    /// The same once more: by how much it differs is chance.
    Again,
    /// A lock of the family, by its name.
    Lock(String),
}

impl Arm {
    /// Those of a comparison: the two native ones first, then the locks as they were named, each
    /// once.
    pub fn all(locks: &[String]) -> Vec<Self> {
        let mut arms = vec![Self::Native, Self::Again];
        for lock in locks.iter().filter(|lock| *lock != NATIVE) {
            let arm = Self::Lock(lock.clone());
            if !arms.contains(&arm) {
                arms.push(arm);
            }
        }
        arms
    }

    /// The lock's name; none for the C library's own.
    pub fn lock(&self) -> Option<&str> {
        match self {
            Self::Native | Self::Again => None,
            Self::Lock(name) => Some(name),
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str(NATIVE),
            Self::Again => write!(f, "{NATIVE}, again"),
            Self::Lock(name) => f.write_str(name),
        }
    }
}

/// The command, and what runs it with another lock.
#[derive(Debug)]
pub struct Runner {
    /// The file of the command.
    pub file: PathBuf,
    /// Its name and arguments, as typed.
    pub argv: Vec<OsString>,
    /// What has the command `swap`: lockwright's own executable.
    pub tool: PathBuf,
}

impl Runner {
    /// What is to be started for this arm.
    pub fn command(&self, arm: &Arm) -> Command {
        let (name, rest) = self.argv.split_first().expect("a command has a name");
        match arm.lock() {
            None => {
                let mut command = Command::new(&self.file);
                command.arg0(name).args(rest);
                command
            }
            Some(lock) => {
                let mut command = Command::new(&self.tool);
                // What it notes of the run is no output of the command.
                command.args(["swap", "--lock", lock, "-o", "/dev/null", "--"]).args(&self.argv);
                command
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<&str> {
        let all = std::iter::once(command.get_program()).chain(command.get_args());
        all.map(|word| word.to_str().unwrap()).collect()
    }

    #[test]
    fn native_is_there_twice_and_each_lock_once() {
        let locks = ["b", "native", "a", "b"].map(String::from);
        let names: Vec<String> = Arm::all(&locks).iter().map(Arm::to_string).collect();
        assert_eq!(names, ["native", "native, again", "b", "a"]);
    }

    #[test]
    fn a_lock_is_swapped_in_and_native_runs_as_it_is() {
        let runner = Runner {
            file: "/bin/server".into(),
            argv: vec!["server".into(), "--port".into(), "1".into()],
            tool: "/bin/lockwright".into(),
        };
        for arm in [Arm::Native, Arm::Again] {
            assert_eq!(words(&runner.command(&arm)), ["/bin/server", "--port", "1"]);
        }
        let swapped = runner.command(&Arm::Lock("a".into()));
        let expected = "/bin/lockwright swap --lock a -o /dev/null -- server --port 1";
        assert_eq!(words(&swapped).join(" "), expected);
    }
}
