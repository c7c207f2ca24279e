//! Debug files and sources from debuginfod servers, if the user names some in `DEBUGINFOD_URLS`: nothing is asked
//! of any server otherwise. The client is elfutils' `debuginfod-find`, which keeps a cache, and follows
//! the user's other settings (debuginfod_find_debuginfo(3)).

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::debug_file::own_build_id;

/// The variable that names the servers.
const URLS: &str = "DEBUGINFOD_URLS";

/// How long a server may say nothing, s, if the user does not say: its own default is 90, for each
/// module.
const TIMEOUT: (&str, &str) = ("DEBUGINFOD_TIMEOUT", "15");

/// The variable that has the client tell how far it is.
const PROGRESS: &str = "DEBUGINFOD_PROGRESS";

/// The client.
const CLIENT: &str = "debuginfod-find";

/// What the client says of a file that no server has: whoever says so has answered.
const NOT_THERE: &str = "No such file or directory";

/// A server did not answer, so none is asked again, for whatever report. Relaxed: it says nothing of
/// other memory.
static SILENT: AtomicBool = AtomicBool::new(false);

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
        if SILENT.load(Relaxed) || build_id.is_empty() {
            return None;
        }
        let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut find = Command::new(&self.client);
        find.args([kind, &id]).args(of).stdin(Stdio::null());
        find.stdout(Stdio::piped()).stderr(Stdio::piped());
        if std::env::var_os(TIMEOUT.0).is_none() {
            find.env(TIMEOUT.0, TIMEOUT.1);
        }
        let shows = io::stderr().is_terminal();
        if shows {
            find.env(PROGRESS, "1");
        }
        let mut child = find.spawn().ok()?;
        // It says how far it is before it says where the file is.
        let said = child.stderr.take().map(|stderr| pass_on(stderr, shows)).unwrap_or_default();
        let out = child.wait_with_output().ok()?;
        if !out.status.success() {
            if !said.contains(NOT_THERE) {
                SILENT.store(true, Relaxed);
            }
            return None;
        }
        let path = out.stdout.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Some(PathBuf::from(OsString::from_vec(path.to_vec())))
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

/// What the client says, which a user at a terminal sees, too.
fn pass_on(mut stderr: ChildStderr, shows: bool) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        let part = &buffer[..length];
        if shows {
            let _ = io::stderr().write_all(part);
        }
        // Only the end matters, and that is short.
        said.extend_from_slice(part);
        let from = said.len().saturating_sub(buffer.len());
        said.drain(..from);
    }
    String::from_utf8_lossy(&said).into_owned()
}
