//! Debian's memcached under a client load: the same answers as without the tool, a clean end, and a
//! report that shows that its locks were really watched.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::{Job, PATIENCE, Running, Scratch, check, installed, native, signal, until};
use crate::programs::known;
use crate::programs::servers::Short;

const CLIENTS: usize = 8;
const ROUNDS: usize = 3000;

#[test]
fn answers_are_the_same_and_its_locks_are_watched() {
    let Some(memcached) = installed(&["memcached"], "memcached") else { return };
    let natively = serve(native(&memcached), used_once);
    let watched = serve(check(&memcached), used_once);
    assert_eq!(natively.came_of_it, watched.came_of_it);

    let run = watched.run;
    assert_eq!(run.status.code(), natively.run.status.code(), "{}", run.stderr);
    assert_eq!(run.status.code(), Some(0), "SIGTERM ends memcached cleanly: {}", run.stderr);
    assert_eq!(run.count("processes"), 1);
    assert_eq!(run.count("lost"), 0);
    assert!(run.count("threads") >= 5, "{:#}", run.report()["summary"]);
    assert!(run.count("locks") > 100, "{:#}", run.report()["summary"]);
    assert!(run.count("classes") > 5, "{:#}", run.report()["summary"]);
    assert!(run.count("dependencies") > 0, "{:#}", run.report()["summary"]);
    // Each request takes at least its item's lock.
    assert!(run.count("acquisitions") > (CLIENTS * ROUNDS) as u64, "{:#}", run.report()["summary"]);
    known::judge("memcached", &run);
}

/// What came of a server's life.
pub struct Served<T> {
    pub came_of_it: T,
    pub run: crate::harness::Run,
}

/// Starts the server, passes it to `load`, and shuts it down.
pub fn serve<T>(job: Job, load: impl FnOnce(&Server) -> T) -> Served<T> {
    // No port: another program could take it before the server does.
    let scratch = Scratch::new();
    let short = Short::of(&scratch);
    let socket = short.join("s");
    let mut job = job.arg("-s").arg(&socket).args(["-t", "4", "-m", "64"]);
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } == 0 {
        job = job.args(["-u", "root"]);
    }
    let mut running: Running = job.spawn();
    let mut control = until("memcached to listen", || {
        assert!(running.is_running(), "memcached ended: {}", running.stderr());
        Client::connect(&socket)
    });
    let stats = control.stats();
    let pid = stats.iter().find_map(|line| line.strip_prefix("STAT pid ")).expect("its process id");
    let server = Server { socket, pid: pid.parse().expect("a number") };
    let came_of_it = load(&server);
    signal(server.pid, libc::SIGTERM);
    Served { came_of_it, run: running.wait() }
}

/// A server that listens.
pub struct Server {
    socket: PathBuf,
    pub pid: u32,
}

impl Server {
    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(&self.socket).expect("it listens")
    }
}

/// All answers of each client; and the server's own counters of what it did.
fn used_once(server: &Server) -> (Vec<String>, Vec<String>) {
    let transcripts = transcripts(server);
    let all = server.connect().stats();
    let counted = [
        "cmd_get",
        "cmd_set",
        "get_hits",
        "get_misses",
        "delete_hits",
        "incr_hits",
        "cas_hits",
        "cas_badval",
        "curr_items",
        "evictions",
    ];
    let stats = all
        .iter()
        .filter(|line| counted.iter().any(|c| line.starts_with(&format!("STAT {c} "))))
        .cloned();
    let stats: Vec<_> = stats.collect();
    assert_eq!(stats.len(), counted.len(), "{all:?}");
    (transcripts, stats)
}

/// All answers of clients at once.
pub fn transcripts(server: &Server) -> Vec<String> {
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|id| scope.spawn(move || load(server.connect(), id))).collect();
        clients.into_iter().map(|client| client.join().expect("a client failed")).collect()
    })
}

/// What one client does: all commands, on keys of its own and on a counter that all share.
fn load(mut client: Client, id: usize) -> String {
    let mut transcript = String::new();
    client.ask("add shared 0 0 1\r\n0");
    for round in 0..ROUNDS {
        let key = format!("client-{id}-{}", round * 7 % 211);
        let value = format!("{round}:{}", "x".repeat(round % 900));
        let answer = match round % 8 {
            0 | 4 => client.ask(&format!("set {key} {round} 0 {}\r\n{value}", value.len())),
            1 => client.ask(&format!("append {key} 0 0 2\r\n++")),
            2 => client.ask(&format!("add {key} 1 0 {}\r\n{value}", value.len())),
            3 | 7 => client.get(&key),
            5 if round % 3 == 0 => client.ask(&format!("delete {key}")),
            5 => client.ask(&format!("replace {key} 2 0 {}\r\n{value}", value.len())),
            _ => {
                // Other clients count too: that it counted is the same every time, where it stands
                // is not.
                let counted = client.ask("incr shared 1");
                assert!(counted.trim().parse::<u64>().is_ok(), "{counted}");
                "counted".to_owned()
            }
        };
        let _ = writeln!(transcript, "{round} {answer}");
    }
    transcript
}

/// A connection.
pub struct Client {
    read: BufReader<UnixStream>,
    write: UnixStream,
}

impl Client {
    fn connect(socket: &Path) -> Option<Self> {
        let write = UnixStream::connect(socket).ok()?;
        let client = Self { read: BufReader::new(write.try_clone().ok()?), write };
        client.wait_for(PATIENCE);
        Some(client)
    }

    /// How long an answer may take.
    pub fn wait_for(&self, patience: Duration) {
        self.write.set_read_timeout(Some(patience)).expect("not 0");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.read.read_line(&mut line).expect("memcached answers");
        line.trim_end().to_owned()
    }

    /// Sends a command; the first line of the answer.
    pub fn ask(&mut self, command: &str) -> String {
        self.write.write_all(format!("{command}\r\n").as_bytes()).expect("the server reads");
        self.line()
    }

    /// The value of a key, and the server's line about it.
    pub fn get(&mut self, key: &str) -> String {
        let head = self.ask(&format!("get {key}"));
        let Some(len) = head.strip_prefix("VALUE ").and_then(|rest| rest.rsplit(' ').next()) else {
            return head;
        };
        let mut body = vec![0; len.parse::<usize>().expect("a length") + 2];
        self.read.read_exact(&mut body).expect("the value");
        assert_eq!(self.line(), "END");
        format!("{head} {}", String::from_utf8_lossy(&body[..body.len() - 2]))
    }

    fn stats(&mut self) -> Vec<String> {
        self.write.write_all(b"stats\r\n").expect("the server reads");
        std::iter::from_fn(|| Some(self.line()).filter(|line| line != "END")).collect()
    }
}
