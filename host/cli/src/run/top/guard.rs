//! A small process that gives the terminal back if `top` dies of a SIGKILL, which no process can catch.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::run::ending::Ending;
use lockwright_console::error::Result;

/// What leaves the other screen and shows the cursor, as terminals since xterm have it.
const BACK: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[0m";

/// What the process says once it knows how the terminal is.
const READY: &[u8] = b".";

/// The process. It ends when this is dropped.
pub struct Guard {
    child: Child,
    /// Its input: it acts if that ends without a word.
    word: Option<ChildStdin>,
}

impl Guard {
    /// Starts it, while the terminal is as it should be again later.
    ///
    /// # Errors
    /// If that fails.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("restore-terminal").stdin(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: setsid(2) is async-signal-safe, and all that is called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // What the terminal sends to our group is not for it.
                libc::setsid();
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let word = child.stdin.take();
        // It has to have seen the terminal as it is.
        if let Some(mut ready) = child.stderr.take() {
            let _ = ready.read(&mut [0]);
        }
        Ok(Self { child, word })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut word) = self.word.take() {
            let _ = word.write_all(b"done\n");
        }
        let _ = self.child.wait();
    }
}

/// The process: waits for the word, and gives the terminal of its standard output back if none comes.
///
/// # Errors
/// None.
pub fn restore_terminal() -> Result<Ending> {
    let mut settings = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: room for the answer.
    let is_known = unsafe { libc::tcgetattr(libc::STDOUT_FILENO, settings.as_mut_ptr()) } == 0;
    let _ = io::stderr().write_all(READY);
    let mut word = String::new();
    let has_word = io::stdin().read_to_string(&mut word).is_ok_and(|read| read > 0);
    if !has_word && is_known {
        let _ = io::stdout().write_all(BACK).and_then(|()| io::stdout().flush());
        // SAFETY: filled in by the call above, which has succeeded.
        unsafe { libc::tcsetattr(libc::STDOUT_FILENO, libc::TCSANOW, settings.as_ptr()) };
    }
    Ok(Ending::Code(0))
}
