//! Servers and their clients.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::{Outcome, Place, digest};
use crate::harness::{Job, Scratch, native, signal, until};

/// Where a server's socket is: its path may have 107 bytes, and those below the target folder can
/// have more.
pub struct Short {
    link: PathBuf,
}

impl Short {
    pub fn of(scratch: &Scratch) -> Self {
        let name = scratch.path().file_name().expect("a folder").to_string_lossy().into_owned();
        let link = std::env::temp_dir().join(format!("lw-{name}"));
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(scratch.path(), &link).expect("a link");
        Self { link }
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.link.join(name)
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.link);
    }
}

/// Commands of many clients at once, taken off the wire by several threads; what they add up to is
/// the same every time.
pub fn redis(job: Job, place: &Place) -> Outcome {
    serve_redis(job, &place.scratch, "3", load_redis)
}

/// Starts the server with so many threads for its connections, has `load` use it by its socket, and
/// shuts it down.
pub fn serve_redis(
    job: Job,
    scratch: &Scratch,
    threads: &str,
    load: impl FnOnce(&Path) -> String,
) -> Outcome {
    let short = Short::of(scratch);
    let socket = short.join("s");
    let job = job.args(["--port", "0", "--save", "", "--io-threads", threads]);
    let job = job.args(["--io-threads-do-reads", "yes", "--dir"]).arg(scratch.path());
    let mut running = job.arg("--unixsocket").arg(&socket).spawn();
    until("redis-server to listen", || {
        assert!(running.is_running(), "{}", running.stderr());
        UnixStream::connect(&socket).ok()
    });
    let results = load(&socket);
    client("redis-cli", &socket, &["SHUTDOWN", "NOSAVE"]);
    Outcome { results, run: running.wait() }
}

fn load_redis(socket: &Path) -> String {
    let load = ["-n", "4000", "-c", "40", "-P", "8", "-q", "-t", "incr,lpush,sadd,hset,spop"];
    client("redis-benchmark", socket, &load);
    let mut results = String::new();
    for question in [
        &["GET", "counter:__rand_int__"] as &[&str],
        &["LLEN", "mylist"],
        &["LRANGE", "mylist", "0", "3"],
        &["HLEN", "myhash"],
        &["DBSIZE"],
        // Freed by another thread.
        &["UNLINK", "mylist"],
        &["FLUSHALL", "ASYNC"],
        &["DBSIZE"],
    ] {
        results += &client("redis-cli", socket, question);
    }
    results
}

/// Runs a client of redis to its end; what it says.
pub fn client(program: &str, socket: &Path, arguments: &[&str]) -> String {
    let out = native(program).arg("-s").arg(socket).args(arguments).run();
    assert!(out.status.success(), "{program} {arguments:?}: {}", out.stderr);
    out.text()
}

/// Files fetched by several clients at once; with `directio` no file is in the cache, so the pool
/// has to read it.
pub fn nginx(job: Job, place: &Place) -> Outcome {
    const CLIENTS: usize = 4;
    let short = Short::of(&place.scratch);
    let socket = short.join("s");
    place.text();
    let folder = place.path().display();
    let configuration = format!(
        "daemon off; worker_processes 1; user root; pid {folder}/pid; error_log {folder}/errors;
         thread_pool default threads=4 max_queue=1000;
         events {{ worker_connections 64; }}
         http {{ access_log off; aio threads; sendfile off; directio 1; output_buffers 1 64k;
                 client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
                 fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
                 scgi_temp_path {folder}/scgi;
                 server {{ listen unix:{}; root {folder}; }} }}",
        socket.display()
    );
    let file = place.scratch.join("conf");
    fs::write(&file, configuration).expect("written");
    let mut running = job.arg("-p").arg(place.path()).arg("-c").arg(&file).spawn();
    until("nginx to listen", || {
        assert!(running.is_running(), "{}", running.stderr());
        UnixStream::connect(&socket).ok()
    });

    let fetched: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| digest(&fetch(&socket, "/text")))).collect();
        clients.into_iter().map(|client| client.join().expect("a client")).collect()
    });
    let pid = fs::read_to_string(place.scratch.join("pid")).expect("its process id");
    // Ends when all is answered.
    signal(pid.trim().parse().expect("a number"), libc::SIGQUIT);
    Outcome { results: fetched.join("\n"), run: running.wait() }
}

/// The body of an answer.
pub fn fetch(socket: &Path, path: &str) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    answer.split_off(head + 4)
}
