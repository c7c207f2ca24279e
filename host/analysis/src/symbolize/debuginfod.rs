//! Debug files and sources from debuginfod servers, if the user names some in `DEBUGINFOD_URLS`: nothing is asked
//! of any server otherwise. The client is elfutils' `debuginfod-find`, which keeps a cache, and follows
//! the user's other settings (debuginfod_find_debuginfo(3)).

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::elf::own_build_id;

/// The variable that names the servers.
const URLS: &str = "DEBUGINFOD_URLS";

/// How long a server may say nothing, s, if the user does not say: its own default is 90, for each
/// module.
const TIMEOUT: (&str, &str) = ("DEBUGINFOD_TIMEOUT", "15");

/// How long a file may take in all, s, if the user does not say. The client follows redirects for as
/// long, so a circle of them ends, too.
const MAX_TIME: (&str, Duration) = ("DEBUGINFOD_MAXTIME", Duration::from_secs(60));

/// How large a file may be, if the user does not say: no distribution has a larger one.
const MAX_SIZE: (&str, u64) = ("DEBUGINFOD_MAXSIZE", 4 << 30);

/// How long all files of a command may take, and how large they may be, if the user gives no limit
/// for one.
const IN_ALL: Spent = Spent { time: Duration::from_secs(180), bytes: 8 << 30 };

/// The client notices the end of its time itself, unless a server sends without an end.
const GRACE: Duration = Duration::from_secs(5);

/// The variable that has the client tell how far it is.
const PROGRESS: &str = "DEBUGINFOD_PROGRESS";

/// The client.
const CLIENT: &str = "debuginfod-find";

/// The variable that has the client tell what each server answers.
const VERBOSE: &str = "DEBUGINFOD_VERBOSE";

/// The client's message if no server has a file, whatever the servers answered.
const NOT_THERE: &str = "No such file or directory";

/// The client's words before the HTTP status of an answer without a file, if it reports each
/// answer.
const ANSWERED: &str = "The requested URL returned error: ";

/// The HTTP status of a server that does not have a file.
const NOT_FOUND: &str = "404";

/// Part of the client's progress when it fetches a file; otherwise its cache has the file.
const FETCHES: &str = "Downloading";

/// What went wrong first, for whatever report, or what ended the questions.
static FAILURE: Mutex<Option<Failure>> = Mutex::new(None);

/// What went wrong with a server.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it did.
    pub why: String,
    /// No server is asked any more: one failed, or what all files may take is spent.
    pub is_last: bool,
}

/// What has been spent so far.
static SPENT: Mutex<Spent> = Mutex::new(Spent { time: Duration::ZERO, bytes: 0 });

/// Time and bytes.
#[derive(Clone, Copy)]
struct Spent {
    time: Duration,
    bytes: u64,
}

/// What stands behind a lock, also if a thread has panicked with it: each change is complete.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What went wrong, if anything.
pub fn failure() -> Option<Failure> {
    locked(&FAILURE).clone()
}

/// Servers are asked no more.
fn is_over() -> bool {
    locked(&FAILURE).as_ref().is_some_and(|failure| failure.is_last)
}

/// No server is asked again.
fn fail(why: String) {
    let mut failure = locked(&FAILURE);
    if failure.as_ref().is_none_or(|failure| !failure.is_last) {
        *failure = Some(Failure { why, is_last: true });
    }
}

/// A server answered with this HTTP status. Others may have the file, and this one may have others.
fn refuse(status: &str) {
    let why = format!("it answered with HTTP status {status}");
    locked(&FAILURE).get_or_insert(Failure { why, is_last: false });
}

/// The servers that are asked.
#[derive(Clone, Debug)]
pub struct Servers {
    client: PathBuf,
}

impl Servers {
    /// Those that the user names. `None` also where the client is missing: [`is_client_missing`].
    pub fn from_env() -> Option<Self> {
        let client = client().filter(|_| are_named())?;
        Some(Self { client })
    }

    /// The debug file of the module with this build id.
    pub fn debug_file(&self, build_id: &[u8]) -> Option<PathBuf> {
        let path = self.find("debuginfo", build_id, None)?;
        own_build_id(&path).is_some_and(|found| found == build_id).then_some(path)
    }

    /// The file of source that the debug information of the module with this build id has at `path`, which
    /// must be absolute.
    pub fn source(&self, build_id: &[u8], path: &Path) -> Option<PathBuf> {
        if path.is_absolute() { self.find("source", build_id, Some(path)) } else { None }
    }

    /// What the client finds of this kind.
    fn find(&self, kind: &str, build_id: &[u8], of: Option<&Path>) -> Option<PathBuf> {
        if build_id.is_empty() || is_over() {
            return None;
        }
        let limits = Limits::of_user();
        let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut find = Command::new(&self.client);
        find.args([kind, &id]).args(of).stdin(Stdio::null());
        find.stdout(Stdio::piped()).stderr(Stdio::piped());
        find.env(PROGRESS, "1");
        let wants_all = std::env::var_os(VERBOSE).is_some();
        if !wants_all {
            find.env(VERBOSE, "1");
        }
        if std::env::var_os(TIMEOUT.0).is_none() {
            find.env(TIMEOUT.0, TIMEOUT.1);
        }
        limits.set(&mut find);
        let begin = Instant::now();
        let mut child = find.spawn().ok()?;
        let killer = limits.time.map(|time| Killer::new(&child, time + GRACE));
        // It says how far it is before it says where the file is.
        let shows = match io::stderr().is_terminal() {
            false => Shows::Nothing,
            true if wants_all => Shows::All,
            true => Shows::Progress,
        };
        let said = child.stderr.take().map(|stderr| pass_on(stderr, shows)).unwrap_or_default();
        let mut place = Vec::new();
        if let Some(stdout) = &mut child.stdout {
            let _ = stdout.read_to_end(&mut place);
        }
        // Both streams have ended, and so has the client.
        drop(killer);
        let status = child.wait().ok()?;
        if !status.success() {
            if let Some(status) = refusal(&said) {
                refuse(status);
            } else if !said.contains(NOT_THERE) {
                fail(why_it_failed(&said, status.signal().is_some()));
            }
            spend(begin.elapsed(), 0, limits);
            return None;
        }
        let path = place.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let is_fetched = said.contains(FETCHES);
        let bytes = if is_fetched { path.metadata().map_or(0, |meta| meta.len()) } else { 0 };
        spend(begin.elapsed(), bytes, limits);
        Some(path)
    }
}

/// The HTTP status of a server that answered, but neither with the file nor that it has none.
fn refusal(said: &str) -> Option<&str> {
    let answers = said.split(ANSWERED).skip(1);
    let mut all = answers
        .map(|answer| answer.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    all.find(|status| *status != NOT_FOUND)
}

/// The client's last line, which describes its failure.
fn why_it_failed(said: &str, is_killed: bool) -> String {
    if is_killed {
        return "it sends a file without an end".to_owned();
    }
    let last = said.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty());
    let last = last.unwrap_or("debuginfod-find failed and did not say why");
    last.strip_prefix("Server query failed: ").unwrap_or(last).to_owned()
}

/// What a file may take, where the user has not said.
#[derive(Clone, Copy)]
struct Limits {
    time: Option<Duration>,
    bytes: Option<u64>,
}

impl Limits {
    fn of_user() -> Self {
        let is_free = |name: &str| std::env::var_os(name).is_none();
        Self {
            time: is_free(MAX_TIME.0).then_some(MAX_TIME.1),
            bytes: is_free(MAX_SIZE.0).then_some(MAX_SIZE.1),
        }
    }

    /// Has the client keep to them. A server that does not say how large its file is meets the
    /// kernel's limit: lockwright ignores SIGXFSZ, and so does the client.
    fn set(self, find: &mut Command) {
        if let Some(time) = self.time {
            find.env(MAX_TIME.0, time.as_secs().to_string());
        }
        let Some(bytes) = self.bytes else { return };
        find.env(MAX_SIZE.0, bytes.to_string());
        // SAFETY: between fork and exec it makes two system calls and touches nothing of the parent's.
        unsafe {
            find.pre_exec(move || {
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit);
                limit.rlim_cur = limit.rlim_cur.min(bytes);
                // Where it fails, there is only the client's own limit.
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
                Ok(())
            });
        }
    }
}

/// Adds to what has been spent; where that is too much, no server is asked again.
fn spend(time: Duration, bytes: u64, limits: Limits) {
    let mut spent = locked(&SPENT);
    spent.time += time;
    spent.bytes += bytes;
    if limits.time.is_some() && spent.time > IN_ALL.time {
        let seconds = IN_ALL.time.as_secs();
        fail(format!("all files took more than {seconds} s"));
    }
    if limits.bytes.is_some() && spent.bytes > IN_ALL.bytes {
        fail(format!("all files had more than {} GiB", IN_ALL.bytes >> 30));
    }
}

/// Ends the client after a time, unless it is dropped before.
struct Killer(Option<(Sender<()>, JoinHandle<()>)>);

impl Killer {
    fn new(client: &Child, after: Duration) -> Self {
        let (done, is_done) = mpsc::channel();
        let pid = client.id();
        let wait = move || {
            if is_done.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: a child that is not reaped before this thread has ended. See `drop`.
                unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
            }
        };
        // Where there can be no thread, the client's own limits remain.
        Self(thread::Builder::new().spawn(wait).ok().map(|thread| (done, thread)))
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}

/// The user wants servers to be asked, and there is nothing to ask them with.
pub fn is_client_missing() -> bool {
    are_named() && client().is_none()
}

fn are_named() -> bool {
    std::env::var_os(URLS).is_some_and(|urls| !urls.as_encoded_bytes().trim_ascii().is_empty())
}

fn client() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|dir| dir.join(OsStr::new(CLIENT)));
    all.find(|file| file.is_absolute() && file.is_file())
}

/// What a user sees of what the client says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Stderr is no terminal.
    Nothing,
    /// How far it is.
    Progress,
    /// All, as the user wants it to tell all.
    All,
}

/// What the client says.
fn pass_on(mut stderr: ChildStderr, shows: Shows) -> String {
    let mut said = Vec::new();
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        let part = &buffer[..length];
        if shows == Shows::All {
            let _ = io::stderr().write_all(part);
        }
        for piece in part.split_inclusive(|byte| b"\r\n".contains(byte)) {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\r") || piece.ends_with(b"\n") {
                if shows == Shows::Progress && line.starts_with(FETCHES.as_bytes()) {
                    let _ = io::stderr().write_all(&line);
                }
                line.clear();
            }
        }
        // Only the end matters: what the servers answered, and the failure.
        said.extend_from_slice(part);
        let from = said.len().saturating_sub(MOST_SAID);
        said.drain(..from);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Bytes that are kept of what the client says.
const MOST_SAID: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_why_a_server_failed() {
        let said = "Downloading from http://a/\rDownloading from http://a/ 7\r\nServer query failed: Timer expired\n";
        assert_eq!(why_it_failed(said, false), "Timer expired");
        assert!(why_it_failed("", false).contains("did not say"));
        assert!(why_it_failed("x", true).contains("without an end"));
    }

    #[test]
    fn a_server_that_has_no_file_has_not_failed() {
        let answer = |status| format!("url 0 {ANSWERED}{status}\nnot found {NOT_THERE} (err=-2)\n");
        assert_eq!(refusal(&answer(404)), None);
        assert_eq!(refusal(&answer(503)), Some("503"));
        assert_eq!(refusal(&(answer(404) + &answer(403))), Some("403"));
    }
}
