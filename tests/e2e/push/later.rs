//! What is not sent stays on disk, whoever dies, and is sent once.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::program::{Pushed, kept, meter, send};
use super::server::{Server, Sums, answer, pushed, reported, sums, well};
use crate::harness::{Scratch, is_alive, program, run, signal, skip, tool, until};

/// An address that nobody listens at.
fn nobody() -> String {
    let reserved = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    reserved.local_addr().unwrap().to_string()
}

#[test]
fn the_command_sends_what_is_left_once() {
    let address = nobody();
    let running = Pushed::to(&format!("pyroscope+http://{address}"), &[]);
    running.running.await_stderr("cannot push to");
    let ended = running.end();
    assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
    let dir = ended.kept().expect("it is kept");
    assert!(ended.run.stderr.contains(&format!("`lockwright push {}`", dir.display())));

    let away = send(&dir, &[]);
    assert_eq!(away.code(), 125, "{}", away.text());
    assert!(away.text().contains("left: "), "{}", away.text());
    let server = Server::at(&address, |_, _| well());
    let sent = send(&dir, &["--json", ended.scratch.join("sent.json").to_str().unwrap()]);
    assert_eq!(sent.code(), 0, "{}", sent.stderr);
    assert!(sent.text().contains(": pushed "), "{}", sent.text());
    assert_eq!(sums(&server.received()), ended.sums());
    let json: Value =
        serde_json::from_slice(&fs::read(ended.scratch.join("sent.json")).unwrap()).unwrap();
    let whole = ended.sums().values().map(|(count, _)| count).sum::<u64>();
    assert_eq!(json[0]["contentions"], whole);

    let again = send(&dir, &[]);
    assert!(again.text().contains("has everything"), "{}", again.text());
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_kept_run_without_push_can_be_sent_and_others_cannot() {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["meter", "--keep", "--ledger-dir"]).arg(scratch.path());
    command.arg("--json").arg(scratch.join("report.json"));
    command.arg("--").arg(program("contended.c"));
    run(command);
    let dir = fs::read_dir(scratch.path()).unwrap().flatten().map(|entry| entry.path());
    let dir = dir.into_iter().find(|path| path.is_dir()).unwrap();
    assert_eq!(send(&dir, &[]).code(), 2, "it has no URL");
    assert_eq!(send(scratch.path(), &["--push", "otlp+http://127.0.0.1:1"]).code(), 125);
    let server = Server::start(|_, _| well());
    let url = format!("pyroscope+http://{}", server.address);
    let sent = send(&dir, &["--push", &url]);
    assert_eq!(sent.code(), 0, "{}", sent.stderr);
    let report: Value =
        serde_json::from_slice(&fs::read(scratch.join("report.json")).unwrap()).unwrap();
    let counts = |sums: &Sums| sums.values().map(|(count, _)| count).sum::<u64>();
    assert!(counts(&sums(&server.received())) >= counts(&reported(&report)));
}

/// lockwright is killed while the server refuses everything. The next run sends the rest of the first one.
#[test]
fn the_next_run_sends_what_a_killed_one_left() {
    let (is_open, taken) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
    let (open, keep) = (Arc::clone(&is_open), Arc::clone(&taken));
    let server = Server::start(move |_, request| {
        if !open.load(SeqCst) {
            return answer("503 Service Unavailable", "");
        }
        keep.lock().unwrap().push(request.clone());
        well()
    });
    let url = format!("pyroscope+http://{}", server.address);
    let running = Pushed::to(&url, &["--push-label", "run=first"]);
    until("a push", || (!taken.lock().unwrap().is_empty()).then_some(()));
    is_open.store(false, SeqCst);
    running.running.await_stderr("cannot push to");
    let pid = running.running.program_id();
    signal(running.running.id(), libc::SIGKILL);
    fs::write(running.scratch.join("end"), "").unwrap();
    until("the program's end", || (!is_alive(pid)).then_some(()));
    let Pushed { scratch, running } = running;
    running.wait();
    let first = kept(&scratch).expect("it is there");

    // A run without the option leaves it there.
    let mut other = tool();
    other.args(["meter", "--ledger-dir"]).arg(scratch.join("ledgers")).args(["--", "true"]);
    assert_eq!(run(other).code(), 0);
    let report = scratch.join("first.json");
    let mut again = tool();
    again.arg("report").arg("--json").arg(&report).arg(&first);
    run(again);
    let expected = reported(&serde_json::from_slice(&fs::read(report).unwrap()).unwrap());
    let of_run = |name: &str| {
        let taken = taken.lock().unwrap();
        sums(taken.iter().filter(|it| pushed(it).1.iter().any(|label| label.value == name)))
    };
    assert_ne!(of_run("first"), expected, "the planted fault");

    is_open.store(true, SeqCst);
    let command = meter(&scratch, &url, &["--push-label", "run=second"]);
    let second = Pushed::by(command, scratch, &program("pushed.c"));
    second.running.await_stderr("of the run in");
    let second = second.end();
    assert_eq!((of_run("first"), of_run("second")), (expected, second.sums()));
    assert!(!first.join("push.json").exists());
}

/// On a full disk everything is sent that a server takes.
#[test]
fn a_full_disk_is_said_once() {
    let scratch = Scratch::new();
    let ledgers = scratch.join("ledgers");
    fs::create_dir_all(&ledgers).unwrap();
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&ledgers);
    if !mount.output().is_ok_and(|out| out.status.success()) {
        return skip("mounting a small file system is not allowed here");
    }
    let server = Server::start(|_, _| well());
    let url = format!("pyroscope+http://{}", server.address);
    let running = Pushed::by(meter(&scratch, &url, &[]), scratch, &program("pushed.c"));
    until("a push", || (!server.received().is_empty()).then_some(()));
    let ballast = ledgers.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    running.running.await_stderr("cannot write what was pushed");
    let before = server.received().len();
    until("more pushes", || (server.received().len() > before + 1).then_some(()));
    drop(file);
    let _ = fs::remove_file(&ballast);
    let ended = running.end();
    let received = server.received();
    let said = ended.run.stderr.matches("cannot write what was pushed").count();
    let (got, expected) = (sums(&received), ended.sums());
    let _ = std::process::Command::new("umount").arg("-l").arg(&ledgers).status();
    assert_eq!((said, got), (1, expected), "{}", ended.run.stderr);
}

/// Each of them is a copy of one.
#[test]
fn of_many_runs_that_wait_the_oldest_are_given_up() {
    let address = nobody();
    let url = format!("pyroscope+http://{address}");
    let running = Pushed::to(&url, &[]);
    running.running.await_stderr("cannot push to");
    let ended = running.end();
    let dir = ended.kept().expect("it is kept");
    let expected = ended.sums();
    let name = dir.file_name().unwrap().to_str().unwrap();
    let (_, rest) = name.split_once('-').unwrap();
    for seconds in 1..=17 {
        let copy = dir.with_file_name(format!("{seconds:010}-{rest}"));
        fs::create_dir(&copy).unwrap();
        for file in crate::harness::files(&dir) {
            fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
        }
    }
    let server = Server::at(&address, |_, _| well());
    let command = meter(&ended.scratch, &url, &["--push-label", "run=last"]);
    let last = Pushed::by(command, ended.scratch, &program("pushed.c"));
    last.running.await_stderr("2 earlier runs are not pushed any more: 16 newer ones wait");
    until("all", || (server.received().len() > 17).then_some(()));
    last.end();
    let old = server.received();
    let is_old = |it: &&_| pushed(it).1.iter().all(|label| label.name != "run");
    let old: Vec<_> = old.iter().filter(is_old).collect();
    assert_eq!(old.len(), 16);
    assert!(old.iter().all(|request| sums([*request]) == expected));
}
