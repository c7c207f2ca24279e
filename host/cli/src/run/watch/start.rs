//! Starts the program without a copy of this process. fork(2) copies the tables of its pages, and later
//! each page that it writes to, though all of that is gone as soon as the program is executed. With
//! CLONE_VM nothing is copied, and with CLONE_VFORK this thread waits until then. posix_spawn(3)
//! would do the same, but leaves the C library's own signals ignored in the program.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use super::signals::Mask;
use lockwright_console::error::exit;
use lockwright_console::inherited;

/// A child process.
#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
    /// How it ended, once it has been waited for.
    status: Option<ExitStatus>,
}

impl Process {
    /// Its id.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// How it ended; `None` if it still runs.
    ///
    /// # Errors
    /// If the kernel does not let us wait.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = wait(self.pid, libc::WNOHANG)?;
        }
        Ok(self.status)
    }
}

fn wait(pid: libc::pid_t, flags: i32) -> io::Result<Option<ExitStatus>> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes to `status` alone.
        match unsafe { libc::waitpid(pid, &mut status, flags) } {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => return Ok(Some(ExitStatus::from_raw(status))),
        }
    }
}

/// What the child uses of this process's memory. It allocates nothing.
struct Job {
    file: CString,
    argv: Strings,
    environment: Strings,
    /// The signals that the program starts with blocked.
    before: Mask,
    /// Why it could not be executed; 0 if it was.
    error: AtomicI32,
}

/// Texts as C has a list of them.
struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// What they point to.
    _texts: Vec<CString>,
}

impl Strings {
    fn new(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let texts: Vec<CString> =
            texts.map(|text| CString::new(text.into_vec())).collect::<Result<_, _>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Self { pointers, _texts: texts })
    }
}

/// Stack of the child, apart from the list of arguments that execvpe(3) makes there for a script without a
/// first line that names its interpreter.
const STACK: usize = 64 << 10;

/// Starts the program `file` as `argv` says, with the changes of the environment that `command` has, and with the signals
/// blocked that were so `before`.
///
/// # Errors
/// If there is no room for another process, or the program cannot be executed.
pub fn start(
    file: &Path,
    argv: &[OsString],
    command: &Command,
    before: Mask,
) -> io::Result<Process> {
    let job = Job {
        file: CString::new(file.as_os_str().as_bytes())?,
        argv: Strings::new(argv.iter().cloned())?,
        environment: Strings::new(environment(command))?,
        before,
        error: AtomicI32::new(0),
    };
    let len = STACK + 2 * size_of::<usize>() * job.argv.pointers.len();
    let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(len / size_of::<u128>());
    // SAFETY: the end of what was just allocated.
    let top = unsafe { stack.as_mut_ptr().add(stack.capacity()) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // No signal's handler of this process is to run in the child.
    let closed = Mask::close();
    // SAFETY: the child runs `child` on a stack of its own, aligned as it has to be. Until it executes the
    // program or ends, this thread does nothing, so `job` and the stack stay.
    let pid = unsafe {
        let job = (&raw const job).cast_mut().cast();
        libc::clone(child, top.cast(), flags, job)
    };
    let failed = io::Error::last_os_error();
    closed.set();
    if pid < 0 {
        return Err(failed);
    }
    match job.error.load(Relaxed) {
        0 => Ok(Process { pid, status: None }),
        error => {
            wait(pid, 0)?;
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// The child, from its first instruction on. Only async-signal-safe functions are called.
extern "C" fn child(job: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` waits with the job in its frame.
    let job = unsafe { &*job.cast::<Job>() };
    job.before.set();
    let restored = inherited::restore();
    if restored.is_ok() {
        // SAFETY: terminated texts in lists that end with a null pointer. The file's name has a slash, so
        // that nothing is looked up.
        unsafe {
            libc::execvpe(
                job.file.as_ptr(),
                job.argv.pointers.as_ptr(),
                job.environment.pointers.as_ptr(),
            )
        };
    }
    // SAFETY: the calling thread's own word.
    let error = unsafe { *libc::__errno_location() };
    job.error.store(error, Relaxed);
    // SAFETY: ends the child without running anything of this process.
    unsafe { libc::_exit(exit::NOT_RUNNABLE.into()) }
}

/// This process's environment with the changes that `command` has: `NAME=VALUE`.
fn environment(command: &Command) -> impl Iterator<Item = OsString> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables.into_iter().map(|(mut variable, value)| {
        variable.push(OsStr::new("="));
        variable.push(value);
        variable
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a program that is started with one variable more and one less.
    fn run(file: &str, argv: &[&str]) -> io::Result<Option<i32>> {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let mut command = Command::new("not run");
        command.env("LW_ADDED", "a b").env_remove("PATH");
        let before = Mask::close();
        before.set();
        let process = start(Path::new(file), &argv, &command, before)?;
        Ok(wait(process.pid, 0)?.and_then(|status| status.code()))
    }

    #[test]
    fn a_program_gets_its_arguments_and_environment() {
        let script = r#"[ "$0 $1" = "zero one" ] && env | grep -qx "LW_ADDED=a b" && exit 7"#;
        let path = "PATH=/bin:/usr/bin; export PATH; ".to_owned() + script;
        assert_eq!(run("/bin/sh", &["sh", "-c", &path, "zero", "one"]).unwrap(), Some(7));
        // dash sets PATH by itself, but does not export it.
        let without = "/usr/bin/env | /bin/grep -q '^PATH=' || exit 8";
        assert_eq!(run("/bin/sh", &["sh", "-c", without]).unwrap(), Some(8));
    }

    #[test]
    fn a_script_without_an_interpreter_is_the_shells() {
        let path = std::env::temp_dir().join(format!("lw-start-{}", std::process::id()));
        std::fs::write(&path, "exit $(($1 + 1))\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        assert_eq!(run(path.to_str().unwrap(), &["script", "8"]).unwrap(), Some(9));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_executed_is_an_error_and_no_process() {
        let error = run("/nowhere/at/all", &["all"]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = run("/proc/self/maps", &["maps"]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
