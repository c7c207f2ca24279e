//! Which locks `--only` and `--except` choose. The swap library asks for each new lock, over a
//! socket (`swap/src/selection/verdicts.rs`): where in which module it is, if it is in one, and where
//! the call is that makes or first takes it. Modules that the program loads later, and programs that
//! it executes, ask likewise.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::glob;

use crate::ledger_dir::{RunDir, SWAP_SOCKET, Token, own_user, socket_name};

/// So many patterns can be given (`PATTERNS` in `swap/src/counts.rs`).
pub const MOST: usize = 64;

/// The answer where no pattern fits.
const NONE: u32 = u32::MAX;

/// A text that a question has is no longer than that.
const LONGEST: u32 = 1 << 14;

/// Bytes that the path of a socket may have: `sun_path` of `struct sockaddr_un` but its NUL.
const LONGEST_SOCKET_PATH: usize = 107;

/// A process that has connected asks at once, unless it has been stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same for processes of the run that are another user's: they are read one after another.
const PATIENCE_WITH_OTHER_USERS: Duration = Duration::from_secs(1);

/// So many connections of other users wait. A program that gives up its privileges seldom has more
/// threads that meet new locks at once.
const MOST_OF_OTHER_USERS: usize = 64;

/// What a pattern speaks of.
#[derive(Debug)]
enum Pattern {
    /// A line of a source file.
    Line(String, u32),
    /// A variable, a function or a module.
    Name(String),
}

/// The patterns of a run.
#[derive(Debug)]
pub struct Patterns {
    patterns: Vec<Pattern>,
    /// As they were given, with their options.
    given: Vec<String>,
    /// How many of them choose locks: the first ones.
    choosing: usize,
}

/// What is known of a lock by names.
#[derive(Debug, Default)]
struct Names {
    /// The variable that it is, or is in.
    variable: Option<String>,
    /// The module that has the variable, or else the call.
    module: Option<PathBuf>,
    /// The call and what it was inlined into.
    frames: Vec<Frame>,
}

/// A pattern with a slash fits a path as a whole, or from one of its directories on. One without is of the file's name
/// alone: in whose directory that lies, it does not say.
fn fits_path(pattern: &str, path: &str) -> bool {
    match pattern.contains('/') {
        true => glob::matches(pattern, path) || glob::matches(&format!("*/{pattern}"), path),
        false => glob::matches(pattern, path.rsplit('/').next().unwrap_or(path)),
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        match text.rsplit_once(':') {
            Some((file, line)) if !file.is_empty() && !file.ends_with(':') => {
                line.parse().map_or_else(
                    |_| Self::Name(text.to_owned()),
                    |line| Self::Line(file.to_owned(), line),
                )
            }
            _ => Self::Name(text.to_owned()),
        }
    }

    fn fits(&self, names: &Names) -> bool {
        match self {
            Self::Line(file, line) => names.frames.iter().any(|frame| {
                frame.line == Some(*line)
                    && frame.file.as_ref().is_some_and(|path| fits_path(file, path))
            }),
            Self::Name(name) => {
                let fits = |known: &Option<String>| {
                    known.as_ref().is_some_and(|known| glob::matches(name, known))
                };
                let fits_module = |module: &Path| {
                    let path = module.to_string_lossy();
                    // libfoo.so is libfoo.so.1.2, too.
                    let versions = name.ends_with(".so").then(|| format!("{name}.*"));
                    fits_path(name, &path) || versions.is_some_and(|name| fits_path(&name, &path))
                };
                fits(&names.variable)
                    || names.frames.iter().any(|frame| fits(&frame.function))
                    || names.module.as_deref().is_some_and(fits_module)
            }
        }
    }
}

impl Patterns {
    /// Those that `--only` and `--except` give; none, if they give none.
    ///
    /// # Errors
    /// If there are too many, or one is empty.
    pub fn new(only: &[String], except: &[String]) -> Result<Option<Self>> {
        let all = || only.iter().chain(except);
        if all().count() > MOST {
            return Err(Error::with_code(exit::USAGE, format!("more than {MOST} patterns"))
                .help("a `*` in a pattern stands for any characters"));
        }
        if all().any(String::is_empty) {
            return Err(Error::with_code(exit::USAGE, "an empty pattern fits nothing")
                .help("name a variable, function, module or file:line: --only 'cache_*'"));
        }
        let given = only.iter().map(|text| format!("--only {text}"));
        let given = given.chain(except.iter().map(|text| format!("--except {text}")));
        let patterns: Vec<_> = all().map(|text| Pattern::new(text)).collect();
        let choosing = only.len();
        Ok((!patterns.is_empty()).then(|| Self { patterns, given: given.collect(), choosing }))
    }

    /// As they were given, with their options.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// The number of the one that decides: those that leave locks as they are come first.
    fn decisive(&self, names: &Names) -> Option<usize> {
        let fits = |number: &usize| self.patterns[*number].fits(names);
        (self.choosing..self.patterns.len()).chain(0..self.choosing).find(fits)
    }

    /// Answers a question over the connection that it came by.
    fn answer(&self, question: &Question, images: &Images, mut connection: &UnixStream) {
        let decisive = self.decisive(&question.names(images));
        let answer = decisive.map_or(NONE, |number| number as u32);
        // A process that has gone meanwhile does not want it.
        let _ = connection.write_all(&answer.to_ne_bytes());
    }
}

/// Where questions arrive.
#[derive(Debug)]
pub struct Questions {
    listener: UnixListener,
    path: PathBuf,
}

impl Questions {
    /// A place for them in the run's directory.
    ///
    /// # Errors
    /// If there can be none.
    pub fn open(dir: &RunDir) -> Result<Self> {
        let bound = dir.path().join(SWAP_SOCKET);
        let open = || {
            let path = dir.path().join(socket_name(Token::new()?));
            // The kernel shows every user the name that a socket was bound by. So the socket gets
            // another name before others may connect, and only processes of the run learn it.
            let listener = UnixListener::bind(&bound)?;
            if path.as_os_str().len() > LONGEST_SOCKET_PATH {
                return Err(io::ErrorKind::InvalidFilename.into());
            }
            fs::rename(&bound, &path)?;
            // Processes of the run may have become another user's.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
            Ok((listener, path))
        };
        let (listener, path) = open().map_err(|error: io::Error| {
            Error::new(format!("cannot listen at {}: {error}", bound.display()))
                .help("choose another place, of a short name, with --ledger-dir DIR")
        })?;
        Ok(Self { listener, path })
    }

    /// The library's text for them.
    pub fn told(&self, patterns: &Patterns) -> OsString {
        let mut told = OsString::from(format!("{}:", patterns.choosing));
        told.push(&self.path);
        told
    }

    /// Answers, to the end of this process.
    pub fn answer(self, patterns: Patterns) {
        // The threads have nothing to finish: a process that asks when they are gone finds nobody.
        let patterns = Arc::new(patterns);
        let (read, questions) = mpsc::channel::<(UnixStream, Question)>();
        let (other_users, of_other_users) = mpsc::sync_channel(MOST_OF_OTHER_USERS);
        thread::spawn(move || {
            for connection in self.listener.incoming().flatten() {
                if !is_own(&connection) {
                    // What has no room is dropped, unanswered.
                    let _ = other_users.try_send(connection);
                    continue;
                }
                let read = read.clone();
                // A process that is stopped keeps only its own thread waiting. Where there can be no
                // more threads, it is not answered.
                let _ = thread::Builder::new().spawn(move || {
                    if let Ok(question) = Question::read(&connection, PATIENCE) {
                        let _ = read.send((connection, question));
                    }
                });
            }
        });
        let own = Arc::clone(&patterns);
        thread::spawn(move || {
            let images = Images::new(DebugDirs::from_env());
            for (connection, question) in questions {
                own.answer(&question, &images, &connection);
            }
        });
        // Processes of the run that have become another user's wait for each other. They cannot keep
        // those of our own user waiting.
        thread::spawn(move || {
            let images = Images::new(DebugDirs::from_env());
            for connection in of_other_users {
                if let Ok(question) = Question::read(&connection, PATIENCE_WITH_OTHER_USERS) {
                    patterns.answer(&question, &images, &connection);
                }
            }
        });
    }
}

/// Whether a process of our own user has connected.
fn is_own(connection: &UnixStream) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: an open socket; writes no more than `length` bytes of `peer`.
    let done = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    done == 0 && peer.uid == own_user()
}

/// A connection that is read until a point in time.
struct Until<'a> {
    connection: &'a UnixStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.connection.set_read_timeout(Some(left))?;
        self.connection.read(buffer)
    }
}

/// A place in a module.
struct Place {
    address: u64,
    module: PathBuf,
    build_id: Vec<u8>,
}

/// What is asked about a lock.
struct Question {
    /// Where it is, if it is in a module.
    lock: Option<Place>,
    /// Where the call is.
    call: Option<Place>,
}

impl Question {
    /// Reads a question that arrives as a whole within so much time.
    fn read(connection: &UnixStream, patience: Duration) -> io::Result<Self> {
        let mut bytes = Until { connection, end: Instant::now() + patience };
        let mut headers = [[0; 24]; 2];
        for header in &mut headers {
            bytes.read_exact(header)?;
        }
        let [lock, call] = headers;
        Ok(Self { lock: place(&mut bytes, lock)?, call: place(&mut bytes, call)? })
    }

    fn names(&self, images: &Images) -> Names {
        let of_variable =
            |place: &Place| images.variable(&place.module, &place.build_id, place.address);
        let of_call = |place: &Place| images.frames(&place.module, &place.build_id, place.address);
        Names {
            variable: self.lock.as_ref().and_then(of_variable),
            module: self.lock.as_ref().or(self.call.as_ref()).map(|place| place.module.clone()),
            frames: self.call.as_ref().map(of_call).unwrap_or_default(),
        }
    }
}

/// Reads the texts of a place.
fn place(bytes: &mut impl Read, header: [u8; 24]) -> io::Result<Option<Place>> {
    let (address, lengths) = header.split_at(8);
    let mut texts: [Vec<u8>; 3] = Default::default();
    for (text, length) in texts.iter_mut().zip(lengths.chunks_exact(4)) {
        let length = u32::from_ne_bytes(length.try_into().expect("four bytes"));
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        text.resize(length as usize, 0);
        bytes.read_exact(text)?;
    }
    let [directory, path, build_id] = texts;
    let address = u64::from_ne_bytes(address.try_into().expect("eight bytes"));
    let module = Path::new(OsStr::from_bytes(&directory)).join(OsStr::from_bytes(&path));
    Ok((!path.is_empty()).then_some(Place { address, module, build_id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let inlined = Frame {
            function: Some("std::mutex::lock".into()),
            file: Some("/usr/include/c++/12/bits/std_mutex.h".into()),
            line: Some(100),
            ..Frame::default()
        };
        let outer = Frame {
            function: Some("store::Store::get".into()),
            file: Some("/home/me/src/store.cc".into()),
            line: Some(42),
            ..Frame::default()
        };
        Names {
            variable: Some("store::mu_".into()),
            module: Some("/opt/lib/libstore.so.1.2".into()),
            frames: vec![inlined, outer],
        }
    }

    #[test]
    fn patterns_fit_variables_functions_lines_and_modules() {
        for (pattern, fits) in [
            ("store::mu_", true),
            ("store::mu_*", true),
            ("mu_", false),
            ("*mu_", true),
            ("store::Store::get", true),
            ("std::mutex::lock", true),
            ("store.cc:42", true),
            ("src/store.cc:42", true),
            ("st*.cc:42", true),
            ("store.cc:43", false),
            ("re.cc:42", false),
            ("libstore.so", true),
            ("libstore.so.1.2", true),
            ("lib/libstore.so", true),
            ("libstor", false),
            // Names of directories that happen to fit are not what is meant.
            ("o*", false),
            ("l*", true),
            ("home", false),
            ("h*.cc:42", false),
            ("/opt/lib/*", true),
            ("opt/*/libstore.so.1.2", true),
            ("libother.so", false),
        ] {
            assert_eq!(Pattern::new(pattern).fits(&names()), fits, "{pattern}");
        }
        assert!(!Pattern::new("*:42").fits(&Names::default()));
    }

    #[test]
    fn who_leaves_a_lock_decides() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let patterns = |only: &[&str], except: &[&str]| {
            Patterns::new(&texts(only), &texts(except)).unwrap().unwrap()
        };
        assert_eq!(patterns(&["a", "libstore.so"], &[]).decisive(&names()), Some(1));
        assert_eq!(patterns(&["libstore.so"], &["b", "store::*"]).decisive(&names()), Some(2));
        assert_eq!(patterns(&["a"], &["b"]).decisive(&names()), None);
        assert!(Patterns::new(&[], &[]).unwrap().is_none());
        assert!(Patterns::new(&texts(&[""]), &[]).is_err());
        assert!(Patterns::new(&vec!["a".to_owned(); MOST + 1], &[]).is_err());
    }
}
