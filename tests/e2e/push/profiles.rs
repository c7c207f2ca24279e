//! `--listen` gives profiles as Go's programs do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use super::program::Pushed;
use super::server::{Profile, Sums};
use crate::harness::{Scratch, due, installed, run, target_tmp, tool, until};

/// The head and the body of the answer.
fn get(address: &str, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").expect("an answer");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).unwrap(), body)
}

/// The program, and where it listens.
fn listening() -> (Pushed, String) {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["meter", "--listen", "127.0.0.1:0", "--ledger-dir"]).arg(scratch.join("ledgers"));
    command.arg("--json").arg(scratch.join("report.json"));
    let running = Pushed::by(command, scratch, &crate::harness::program("pushed.c"));
    let address = until("the address", || {
        let said = running.running.stderr();
        let (_, rest) = said.split_once("http://")?;
        Some(rest.split_once("/metrics")?.0.to_owned())
    });
    (running, address)
}

fn sums(profile: &Profile) -> Sums {
    let mut sums = Sums::new();
    profile.add_to(&mut sums);
    sums
}

#[test]
fn profiles_grow_and_a_time_has_its_difference() {
    let (running, address) = listening();
    let (head, index) = get(&address, "/debug/pprof/");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/html"), "{head}");
    assert!(String::from_utf8(index).unwrap().contains("href=\"mutex\""));
    let count = |profile: &Profile| sums(profile).get("journal").map_or(0, |sum| sum.0);
    let now = || Profile::read(&get(&address, "/debug/pprof/mutex").1);
    let before = until("waits", || Some(now()).filter(|it| count(it) > 0));
    // Another client is answered meanwhile.
    let over = std::thread::scope(|scope| {
        let over = scope.spawn(|| get(&address, "/debug/pprof/mutex?seconds=1"));
        assert!(count(&now()) >= count(&before));
        over.join().unwrap()
    });
    assert!(over.0.contains("application/octet-stream"), "{}", over.0);
    let over = Profile::read(&over.1);
    let after = until("a later one", || Some(now()).filter(|it| it.duration > before.duration));
    assert!(over.duration >= 1_000_000_000 && over.duration < after.duration);
    assert!(count(&over) > 0 && count(&over) < count(&after), "{over:?}");
    for (path, status) in [
        ("/debug/pprof/mutex?debug=1", "400"),
        ("/debug/pprof/mutex?seconds=x", "400"),
        ("/debug/pprof/heap", "404"),
    ] {
        assert!(get(&address, path).0.starts_with(&format!("HTTP/1.1 {status}")), "{path}");
    }
    // The end does not wait for clients that wait.
    let mut waits = TcpStream::connect(&address).unwrap();
    write!(waits, "GET /debug/pprof/mutex?seconds=3600 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(count(&now()) > 0);
    let ended = running.end();
    assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
}

#[test]
fn go_tool_pprof_reads_the_address() {
    // Newer versions of Go build pprof first.
    let Some(()) = due([()], 3).next() else { return };
    let Some(go) = installed(&["go"], "golang-go") else { return };
    let (running, address) = listening();
    for query in ["", "?seconds=1"] {
        let scratch = Scratch::new();
        let mut pprof = Command::new(&go);
        pprof.args(["tool", "pprof", "-top", "-symbolize=none"]);
        pprof.arg(format!("http://{address}/debug/pprof/mutex{query}"));
        pprof.env("PPROF_TMPDIR", scratch.path()).env("GOCACHE", target_tmp().join("go-cache"));
        let shown = run(pprof);
        assert_eq!(shown.code(), 0, "{}", shown.stderr);
        let text = shown.text();
        assert!(text.contains("Type: delay") && text.contains("append"), "{text}");
    }
    running.end();
}
