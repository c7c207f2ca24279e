//! Programs from begin to end, alone or watched, with what they took.

use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use lockwright_measure::stats::{self, Estimate};
use tempfile::TempDir;

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Seconds by the clock.
    pub elapsed: f64,
    /// Seconds of processor time, with all descendants that were waited for: in the program, and in
    /// the kernel.
    pub user: f64,
    /// See `user`.
    pub system: f64,
    /// What it printed.
    pub text: String,
}

impl Run {
    /// Seconds of processor time in all.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Runs a program to its end.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn run(command: &mut Command) -> Result<Run, String> {
    let (program, begin) = (format!("{command:?}"), Instant::now());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{program}: {error}"))?;
    let stderr = child.stderr.take().map(|stderr| thread::spawn(move || text_of(stderr)));
    let text = child.stdout.take().map(text_of).unwrap_or_default();
    let said = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let (status, used) =
        wait(child.id()).ok_or_else(|| format!("{program}: is not there any more"))?;
    let elapsed = begin.elapsed().as_secs_f64();
    if status != 0 {
        return Err(format!("{program}: wait status {status:#x}\n{said}"));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Run { elapsed, user: seconds(used.ru_utime), system: seconds(used.ru_stime), text })
}

fn text_of(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is not there.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A child's wait status, and what it used.
fn wait(id: u32) -> Option<(i32, libc::rusage)> {
    let (mut status, id) = (0, libc::pid_t::try_from(id).ok()?);
    loop {
        // SAFETY: all zero is a rusage, which the call fills in; the child is ours, and nobody else
        // waits for it.
        let (waited, used) = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            (libc::wait4(id, &raw mut status, 0, &raw mut used), used)
        };
        if waited == id {
            return Some((status, used));
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

/// A directory for the ledgers of a run, gone with this: in memory where there is such a place, as
/// the command's own are.
#[derive(Debug)]
pub struct Ledgers(TempDir);

impl Ledgers {
    /// A new one.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Self, String> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        // Leftovers of a killed process lie in memory, and the name says whose they are.
        let name = format!("lockwright-tables-{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(&name).permissions(Permissions::from_mode(0o700));
        builder.tempdir_in(&base).map(Self).map_err(|error| format!("{}: {error}", base.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Has `library` watch what the command runs, all its descendants included: as the tool does,
    /// but without the tool, which carries but one library.
    pub fn watch(&self, command: &mut Command, library: &Path, engines: &str) {
        command.env("LD_PRELOAD", library);
        command.env("LOCKWRIGHT_DIR", self.path()).env("LOCKWRIGHT_ENGINES", engines);
    }
}

/// Runs each arm once a round, in alternating order: the second may find warmer caches, or a hotter
/// processor. Returns the outcomes by arm.
///
/// # Errors
/// The first of `run`'s.
pub fn in_turns<A, O>(
    arms: &[A],
    rounds: usize,
    mut run: impl FnMut(usize, &A) -> Result<O, String>,
) -> Result<Vec<Vec<O>>, String> {
    let mut outcomes: Vec<Vec<O>> = arms.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        let mut order: Vec<usize> = (0..arms.len()).collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for arm in order {
            outcomes[arm].push(run(round, &arms[arm])?);
        }
    }
    Ok(outcomes)
}

/// The estimate of the ratio of two arms' figures in the same rounds.
pub fn ratio<O>(of: &[O], base: &[O], figure: impl Fn(&O) -> f64) -> Estimate {
    of_pairs(of, base, |of, base| figure(of) / figure(base))
}

/// The same as hundredths more.
pub fn more<O>(of: &[O], base: &[O], figure: impl Fn(&O) -> f64) -> Estimate {
    of_pairs(of, base, |of, base| 100.0 * (figure(of) / figure(base) - 1.0))
}

fn of_pairs<O>(of: &[O], base: &[O], figure: impl Fn(&O, &O) -> f64) -> Estimate {
    stats::estimate(&of.iter().zip(base).map(|(of, base)| figure(of, base)).collect::<Vec<_>>())
}

/// The median of a figure.
pub fn median<O>(of: &[O], figure: impl Fn(&O) -> f64) -> f64 {
    stats::median(&of.iter().map(figure).collect::<Vec<_>>())
}

/// The number in the line that begins with `name`.
///
/// # Errors
/// If there is no such line.
pub fn number(text: &str, name: &str) -> Result<f64, String> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let value = lines.find_map(|rest| rest.trim_start_matches([' ', ':']).trim().parse().ok());
    value.ok_or_else(|| format!("no {name:?} in: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_first_alternates() {
        let mut order = String::new();
        let outcomes = in_turns(&['a', 'b'], 2, |round, arm| {
            order.push(*arm);
            Ok(format!("{arm}{round}"))
        });
        assert_eq!(order, "abba");
        assert_eq!(outcomes.unwrap(), [["a1", "a2"], ["b1", "b2"]]);
    }

    #[test]
    fn a_program_is_run_to_its_end() {
        let run = run(Command::new("sh").args(["-c", "echo said; echo more >&2"])).unwrap();
        assert_eq!(run.text, "said\n");
        assert!(run.elapsed > 0.0 && run.cpu() >= 0.0, "{run:?}");
    }

    #[test]
    fn a_failure_is_told_with_its_words() {
        let why = run(Command::new("sh").args(["-c", "echo because >&2; exit 3"])).unwrap_err();
        assert!(why.contains("because") && why.contains("0x300"), "{why}");
        assert!(run(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn numbers_are_found_by_name() {
        let text = "locks taken 12\nseconds 1.5\npool_free     :1172\n";
        assert_eq!(number(text, "seconds"), Ok(1.5));
        assert_eq!(number(text, "pool_free"), Ok(1172.0));
        assert!(number(text, "user").is_err());
    }

    #[test]
    fn ledgers_go_with_their_directory() {
        let ledgers = Ledgers::new().unwrap();
        let dir = ledgers.path().to_owned();
        assert!(dir.is_dir());
        drop(ledgers);
        assert!(!dir.exists());
    }
}
