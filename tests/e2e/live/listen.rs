//! `--listen`: the measurement over HTTP while the program runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::snapshots::Staged;
use crate::harness::{Scratch, installed, run, tool, until};

/// The address after "http://" and before the path, in what the tool says.
fn address(staged: &Staged) -> String {
    until("the address", || {
        let said = staged.stderr();
        let (_, rest) = said.split_once("http://")?;
        Some(rest.split_once("/metrics")?.0.to_owned())
    })
}

/// The answer to a request: its head and its text.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), text.to_owned())
}

/// How often `journal` was taken.
fn taken(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| {
        line.starts_with("lockwright_lock_acquisitions_total{") && line.contains("lock=\"journal\"")
    })?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn counters_are_there_while_the_program_runs_and_grow() {
    for command in ["meter", "run"] {
        let staged = Staged::under(command, &["--listen", "127.0.0.1:0"]);
        let address = address(&staged);
        let first = until("acquisitions", || taken(&ask(&address, "GET /metrics").1));
        until("more of them", || {
            let (head, text) = ask(&address, "GET /metrics?x=1");
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
            assert!(text.contains("# EOF\n"), "{text}");
            taken(&text).filter(|&now| now > first)
        });
        assert!(ask(&address, "GET /").0.starts_with("HTTP/1.1 404"));
        assert!(ask(&address, "POST /metrics").0.starts_with("HTTP/1.1 405"));
        // A client that asks for nothing keeps no other from it.
        let _idle = TcpStream::connect(&address).unwrap();
        assert!(taken(&ask(&address, "GET /metrics").1) >= Some(first));
        let (run, _) = staged.end();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        assert!(TcpStream::connect(&address).is_err(), "it ends with the run");
    }
}

#[test]
fn an_address_that_cannot_be_had_is_an_error_before_the_program_starts() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken_by = taken.local_addr().unwrap().to_string();
    for address in [taken_by.as_str(), "nowhere", "192.0.2.1:80"] {
        let mut command = tool();
        command.args(["meter", "--listen", address, "--", "echo", "started"]);
        let run = run(command);
        assert_eq!((run.code(), run.text().as_str()), (125, ""), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("cannot listen on {address}")), "{}", run.stderr);
    }
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Debian's Prometheus scrapes it, and answers a query about it.
#[test]
fn prometheus_scrapes_it() {
    let Some(prometheus) = installed(&["prometheus"], "prometheus") else { return };
    let staged = Staged::under("meter", &["--listen", "127.0.0.1:0"]);
    let address = address(&staged);
    let scratch = Scratch::new();
    let config = scratch.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\n\
         scrape_configs: [{{job_name: locks, static_configs: [{{targets: ['{address}']}}]}}]\n"
    );
    std::fs::write(&config, text).unwrap();
    // One that is free now.
    let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = Command::new(prometheus);
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", scratch.join("data").display()));
    command.arg(format!("--web.listen-address={own}"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Server(command.spawn().unwrap());
    let query = "GET /api/v1/query?query=lockwright_lock_acquisitions_total";
    let answer: Value = until("a sample in Prometheus", || {
        TcpStream::connect(own).ok()?;
        let (_, text) = ask(&own.to_string(), query);
        let at = text.find('{')?;
        let answer: Value = serde_json::from_str(text[at..=text.rfind('}')?].trim()).ok()?;
        answer["data"]["result"].as_array().filter(|it| !it.is_empty())?;
        Some(answer)
    });
    let results = answer["data"]["result"].as_array().unwrap();
    let journal = results.iter().find(|it| it["metric"]["lock"] == "journal").expect("journal");
    assert_eq!(journal["metric"]["kind"], "mutex", "{answer:#}");
    assert!(journal["metric"]["site"].as_str().unwrap().contains("append"), "{answer:#}");
    assert!(journal["value"][1].as_str().unwrap().parse::<f64>().unwrap() > 0.0);
    staged.end();
}
