//! Debian's memcached under a client load: the same answers as without the tool, a clean end, and a
//! report that shows that its locks were really watched.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use crate::harness::{Job, Running, check, installed, native, signal, until};
use crate::programs::known;

const CLIENTS: usize = 8;
const ROUNDS: usize = 3000;

#[test]
fn answers_are_the_same_and_its_locks_are_watched() {
    let Some(memcached) = installed(&["memcached"], "memcached") else { return };
    let natively = serve(native(&memcached), &memcached);
    let watched = serve(check(&memcached), &memcached);
    assert_eq!(natively.transcripts, watched.transcripts);
    assert_eq!(natively.stats, watched.stats);

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

struct Served {
    /// All answers of each client.
    transcripts: Vec<String>,
    /// The server's own counters of what it did.
    stats: Vec<String>,
    run: crate::harness::Run,
}

fn serve(job: Job, memcached: &Path) -> Served {
    // Nothing else listens there between the question and the use, or the server says so and the
    // test fails.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut job =
        job.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "4", "-m", "64"]);
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        job = job.args(["-u", "root"]);
    }
    let mut running: Running = job.spawn();
    let mut control = until("memcached to listen", || {
        assert!(running.is_running(), "{} ended: {}", memcached.display(), running.stderr());
        Client::connect(port)
    });

    let transcripts = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|id| scope.spawn(move || load(Client::connect(port).expect("it listens"), id)))
            .collect();
        let mut answers = clients.into_iter().map(|client| client.join());
        let failed = |_| panic!("a client failed; what the server said: {}", running.stderr());
        std::iter::from_fn(|| answers.next().map(|all| all.unwrap_or_else(failed))).collect()
    });

    let all = control.stats();
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
    let pid = all.iter().find_map(|line| line.strip_prefix("STAT pid ")).expect("its process id");
    signal(pid.parse().expect("a number"), libc::SIGTERM);
    Served { transcripts, stats, run: running.wait() }
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

struct Client {
    read: BufReader<TcpStream>,
    write: TcpStream,
}

impl Client {
    fn connect(port: u16) -> Option<Self> {
        let write = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        write.set_nodelay(true).ok()?;
        Some(Self { read: BufReader::new(write.try_clone().ok()?), write })
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.read.read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    }

    fn ask(&mut self, command: &str) -> String {
        self.write.write_all(format!("{command}\r\n").as_bytes()).expect("the server reads");
        self.line()
    }

    fn get(&mut self, key: &str) -> String {
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
