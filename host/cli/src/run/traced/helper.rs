//! `lockwright-bpf`, running.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::Process;
use lockwright_analysis::traced::{Message, Obstacle, Place};
use lockwright_console::error::{Error, Result, exit};

/// Its file, in the same directory as the command.
const NAME: &str = "lockwright-bpf";

/// The running helper.
pub struct Helper {
    child: Child,
    input: Option<ChildStdin>,
    reader: JoinHandle<Option<Message>>,
    met: Arc<Mutex<Met>>,
    so_far: Receiver<Message>,
}

/// What was met so far.
#[derive(Default)]
pub struct Met {
    /// Places, in the order in which they were met.
    pub places: Vec<Place>,
    /// Processes, as they were when they were met.
    pub processes: HashMap<u32, Process>,
}

/// What it counted.
pub struct Counted {
    /// Its last message.
    pub rows: Message,
    /// The places in it.
    pub met: Met,
}

impl Helper {
    /// Starts it, and waits until it counts.
    ///
    /// # Errors
    /// If it is not there, or the kernel does not let it.
    pub fn start(arguments: &[String]) -> Result<Self> {
        Self::start_for(arguments, None)
    }

    /// Starts it to look at this process, if there is one; that may end soon after.
    ///
    /// # Errors
    /// If the helper is not there, or the kernel does not let it.
    pub fn start_for(arguments: &[String], pid: Option<u32>) -> Result<Self> {
        let path = path()?;
        let mut command = Command::new(&path);
        command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| Error::new(format!("cannot run {}: {error}", path.display())))?;
        let input = child.stdin.take();
        let output =
            child.stdout.take().ok_or_else(|| Error::new("lockwright-bpf has no output"))?;
        let (said, so_far) = mpsc::channel();
        let mut met = Met::default();
        met.processes.extend(pid.map(|pid| (pid, Process::of(pid))));
        let met = Arc::new(Mutex::new(met));
        let read_met = Arc::clone(&met);
        let reader = std::thread::spawn(move || read(BufReader::new(output), &read_met, &said));
        let helper = Self { child, input, reader, met, so_far };
        helper.await_ready()?;
        Ok(helper)
    }

    /// The last message with its counts since the previous call, if it was to send more than one. It has the futexes of the
    /// processes, too, that it forgot meanwhile, as they had ended.
    ///
    /// # Errors
    /// If it failed meanwhile.
    pub fn so_far(&self) -> Result<Option<Message>> {
        match self.so_far.try_iter().reduce(with_ended) {
            Some(Message::Refused(refusal)) => Err(refused(refusal.why, &refusal.error)),
            message => Ok(message),
        }
    }

    /// The next message with its counts, if it comes within `patience`.
    ///
    /// # Errors
    /// If it failed meanwhile.
    pub fn next(&self, patience: Duration) -> Result<Option<Message>> {
        match self.so_far.recv_timeout(patience) {
            Ok(Message::Refused(refusal)) => Err(refused(refusal.why, &refusal.error)),
            message => Ok(message.ok()),
        }
    }

    /// What it has met. It stands still as long as this is kept.
    pub fn met(&self) -> MutexGuard<'_, Met> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn await_ready(&self) -> Result<()> {
        match self.so_far.recv() {
            Ok(Message::Ready) => Ok(()),
            Ok(Message::Refused(refusal)) => Err(refused(refusal.why, &refusal.error)),
            _ => Err(Error::new("lockwright-bpf ended before it counted anything")),
        }
    }

    /// Stops it; gives what it counted.
    ///
    /// # Errors
    /// If it failed meanwhile.
    pub fn finish(mut self) -> Result<Counted> {
        drop(self.input.take());
        let last = self.reader.join().map_err(|_| Error::new("the reader of events failed"))?;
        let _ = self.child.wait();
        match last {
            Some(Message::Refused(refusal)) => Err(refused(refusal.why, &refusal.error)),
            Some(rows) => {
                let met =
                    std::mem::take(&mut *self.met.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(Counted { rows, met })
            }
            None => Err(Error::new("lockwright-bpf ended and did not say what it counted")),
        }
    }
}

/// Reads messages to their end, and gives the last; `said` is all but places. A process is looked at when its
/// first place is met: it may end soon.
fn read(output: impl BufRead, met: &Mutex<Met>, said: &Sender<Message>) -> Option<Message> {
    let mut last = None;
    for line in output.lines().map_while(std::io::Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Message::Place(place)) => {
                let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
                let process =
                    met.processes.entry(place.tgid).or_insert_with(|| Process::of(place.tgid));
                process.meet(&place);
                met.places.push(place);
            }
            Ok(message) => {
                // Nobody listens once it is to end.
                let _ = said.send(message.clone());
                if message != Message::Ready {
                    last = Some(message);
                }
            }
            Err(_) => {}
        }
    }
    last
}

/// The `last` message, with the rows of the message before of processes that it has none of.
fn with_ended(before: Message, last: Message) -> Message {
    match (before, last) {
        (Message::Futexes(before), Message::Futexes(mut last)) => {
            let has: HashSet<u32> = last.rows.iter().map(|row| row.tgid).collect();
            last.rows.extend(before.rows.into_iter().filter(|row| !has.contains(&row.tgid)));
            Message::Futexes(last)
        }
        (_, last) => last,
    }
}

fn path() -> Result<PathBuf> {
    let own = std::env::current_exe()
        .map_err(|error| Error::new(format!("cannot find lockwright's own file: {error}")))?;
    let path = own.with_file_name(NAME);
    if path.is_file() {
        return Ok(path);
    }
    let message = format!("{NAME} is not there, which loads BPF programs: {}", path.display());
    Err(Error::with_code(exit::OWN_FAILURE, message).help(
        "`cargo install` and the Debian package put both into one directory: install lockwright again, \
         or, in a checkout, run `cargo build -p lockwright-cli`",
    ))
}

fn refused(why: Obstacle, error: &str) -> Error {
    let text = match why {
        Obstacle::Privilege => "the kernel does not let this user load BPF programs",
        Obstacle::NoBpf => "this kernel has no BPF",
        Obstacle::NoTracepoint => "this kernel lacks a tracepoint",
        Obstacle::Other => "the BPF programs cannot be used",
    };
    let help = match why {
        Obstacle::Privilege => {
            "run it as root, or with the capabilities CAP_BPF and CAP_PERFMON; in a container the \
             host must allow bpf(2)"
        }
        Obstacle::NoBpf => "a kernel with CONFIG_BPF_SYSCALL is needed",
        Obstacle::NoTracepoint => {
            "lock:contention_begin and contention_end are there from Linux 5.19 on; system calls are \
             traced with CONFIG_FTRACE_SYSCALLS"
        }
        Obstacle::Other => "Linux 5.19 or later on x86-64 is needed",
    };
    let code = if why == Obstacle::Other { exit::OWN_FAILURE } else { exit::NOT_RUNNABLE };
    let mut error = error.to_owned();
    // A verifier's log is long.
    error.truncate(error.floor_char_boundary(2000));
    Error::with_code(code, text).note(error).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::traced::Futexes;
    use lockwright_bpf::messages::FutexRow;

    #[test]
    fn a_refusal_names_its_remedy() {
        let error = refused(Obstacle::Privilege, "Operation not permitted");
        assert_eq!(error.code(), exit::NOT_RUNNABLE);
        assert!(error.to_string().contains("as root"), "{error}");
        let error = refused(Obstacle::NoTracepoint, "No such file or directory");
        assert!(error.to_string().contains("5.19"), "{error}");
    }

    /// On a busy machine a process may end, and be forgotten, between two looks.
    #[test]
    fn processes_that_ended_between_two_looks_are_in_the_later_one() {
        let of = |rows: &[(u32, u64)]| {
            let row = |&(tgid, count)| FutexRow { tgid, count, ..FutexRow::default() };
            Message::Futexes(Futexes { rows: rows.iter().map(row).collect(), ..Futexes::default() })
        };
        let messages = [of(&[(1, 5), (2, 7)]), of(&[(1, 6), (2, 8)]), of(&[(1, 9)])];
        assert_eq!(messages.into_iter().reduce(with_ended), Some(of(&[(1, 9), (2, 8)])));
    }

    #[test]
    fn messages_are_read_to_their_end_and_others_left_out() {
        let (begin, begun) = mpsc::channel();
        let lines = "\"ready\"\nnot JSON\n{\"kernel\":{\"elapsed_ns\":5,\"cpus\":2,\"rows\":[],\"owners\":[],\"waits\":0,\
                     \"waited_ns\":0,\"lost\":{\"rows\":0,\"rows_ns\":0,\"begins\":0,\"stacks\":0,\
                     \"unmatched\":0,\"missed\":0,\"waitv\":0}}}\n";
        let last = read(lines.as_bytes(), &Mutex::default(), &begin);
        assert_eq!(begun.recv().unwrap(), Message::Ready);
        assert!(matches!(last, Some(Message::Kernel(rows)) if rows.elapsed_ns == 5));
    }
}
