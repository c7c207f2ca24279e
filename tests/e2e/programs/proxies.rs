//! Servers of HTTP that stand before others, in threads and processes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use super::servers::{Short, fetch};
use super::{Outcome, Place, digest};
use crate::harness::{Job, Running, signal, until};

const CLIENTS: usize = 4;

/// Pools of threads in a process that is forked by one that had jemalloc's locks, and that compiles
/// its configuration.
pub fn varnish(job: Job, place: &Place) -> Outcome {
    let short = Short::of(&place.scratch);
    let (outer, origin) = (short.join("o"), short.join("b"));
    let listener = UnixListener::bind(&origin).expect("a socket");
    // Until the test ends.
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    let job = job.args(["-F", "-j", "none", "-s", "malloc,16m", "-n"]).arg(place.path());
    let job = job.args(["-p", "thread_pools=2", "-p", "thread_pool_min=10"]);
    let mut running = job.arg("-a").arg(&outer).arg("-b").arg(&origin).spawn();
    listens(&mut running, &outer);
    // Half of them from the cache.
    let results = fetch_all(&outer, 50) + &fetch_all(&outer, 50);
    signal(running.id(), libc::SIGTERM);
    Outcome { results, run: running.wait() }
}

fn listens(running: &mut Running, socket: &Path) {
    until("a proxy to listen", || {
        assert!(running.is_running(), "{}", running.stderr());
        UnixStream::connect(socket).ok()
    });
}

/// As many pages by each of several clients at once.
fn fetch_all(socket: &Path, pages: usize) -> String {
    let client = |client: usize| {
        let page = |n| fetch(socket, &format!("/{client}/{n}"));
        digest(&(0..pages).flat_map(page).collect::<Vec<u8>>())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || client(n))).collect();
        clients.into_iter().map(|client| client.join().expect("a client") + "\n").collect()
    })
}

/// What is behind the proxy: answers a request by its first line.
fn answer(mut stream: UnixStream) {
    let mut lines = BufReader::new(stream.try_clone().expect("another descriptor")).lines();
    let Some(Ok(first)) = lines.next() else { return };
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nConnection: close\r\n";
    // The proxy may have gone.
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{path}\n", path.len() + 1);
}
