//! Servers that refuse, are away, cut connections or lie. The sums at the server are right in the end, the program notices
//! nothing, and there is one line about it.

use super::program::{Ended, Pushed, kept, lines, send};
use super::server::{Reaction, Received, Server, answer, sums, well};
use crate::harness::until;

/// Pushes to a server that first reacts so to as many requests as there are, and then takes all.
fn after(faults: Vec<Reaction>) -> (Vec<Received>, Ended) {
    let count = faults.len();
    let server = Server::start(move |number, _| faults.get(number).cloned().unwrap_or_else(well));
    let running = Pushed::to(&format!("pyroscope+http://{}", server.address), &[]);
    until("pushes after the faults", || (server.received().len() > count + 1).then_some(()));
    let ended = running.end();
    assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
    assert_eq!(ended.kept(), None, "{}", ended.run.stderr);
    (server.received(), ended)
}

#[test]
fn what_was_refused_is_in_the_next_push() {
    let refusals = vec![
        answer("503 Service Unavailable", ""),
        answer("429 Too Many Requests", "Retry-After: 1\r\n"),
        answer("401 Unauthorized", ""),
        answer("413 Payload Too Large", ""),
    ];
    let count = refusals.len();
    let (received, ended) = after(refusals);
    assert_eq!(sums(&received[count..]), ended.sums());
    let lines = lines(&ended.run);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let (away, back) = (lines[0], lines[1]);
    assert!(away.contains("the server answered 503") && away.contains("planted fault"), "{away}");
    assert!(back.contains("again"), "{back}");
}

#[test]
fn what_may_have_arrived_is_sent_again_as_it_was() {
    let faults = vec![Reaction::Cut, answer("500 Internal Server Error", ""), Reaction::Cut];
    let (received, ended) = after(faults);
    // The server had the first one each time: it counts an id once.
    assert_eq!(sums(&received), ended.sums());
    let id = |request: &Received| super::server::pushed(request).2;
    assert!(received[..4].iter().all(|request| id(request) == id(&received[0])));
    assert!(received[..4].iter().all(|request| request.body == received[0].body));
    assert_ne!(id(&received[4]), id(&received[0]));
    // The planted fault: by requests, they are too many.
    let mut twice = sums(&received[..1]);
    received[1..2].iter().for_each(|it| super::server::pushed(it).0.add_to(&mut twice));
    assert_ne!(twice, sums(&received[..2]));
}

#[test]
fn no_redirect_is_followed_and_no_answer_is_read_without_end() {
    let server = Server::start(move |number, request| match number {
        0 => Reaction::Flood,
        _ if request.path.ends_with("elsewhere") => panic!("followed"),
        _ => answer("307 Temporary Redirect", "Location: /elsewhere\r\n"),
    });
    let running = Pushed::to(&format!("pyroscope+http://{}", server.address), &[]);
    until("a flood and a redirect", || (server.received().len() > 1).then_some(()));
    let ended = running.end();
    assert_eq!(ended.run.code(), 0);
    assert!(ended.run.stderr.contains("it refers to /elsewhere"), "{}", ended.run.stderr);
    assert!(server.received().iter().all(|it| it.path.ends_with("/Push")));
    assert!(ended.kept().is_some());
}

#[test]
fn a_server_that_comes_late_gets_all() {
    let reserved = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap().to_string();
    drop(reserved);
    let running = Pushed::to(&format!("pyroscope+http://{address}"), &[]);
    running.running.await_stderr("cannot push to");
    let server = Server::at(&address, |_, _| well());
    until("a push", || (!server.received().is_empty()).then_some(()));
    let ended = running.end();
    assert_eq!(sums(&server.received()), ended.sums());
    assert_eq!(lines(&ended.run).len(), 2, "{}", ended.run.stderr);
}

/// The end is not held up: the ledgers stay, and a later command sends them.
#[test]
fn a_server_that_never_answers_holds_nobody_up() {
    let server = Server::start(|_, _| Reaction::Silence);
    let running = Pushed::to(&format!("pyroscope+http://{}", server.address), &[]);
    until("a push", || (!server.received().is_empty()).then_some(()));
    let ended = running.end();
    assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
    assert!(ended.run.stderr.contains("lockwright push /"), "{}", ended.run.stderr);
    let dir = kept(&ended.scratch).expect("it is kept");
    let silent = server.received();
    drop(server);
    let server = Server::start(|_, _| well());
    let sent = send(&dir, &["--push", &format!("pyroscope+http://{}", server.address)]);
    assert_eq!(sent.code(), 0, "{}", sent.stderr);
    // What the first one may have has the same id here.
    let all = server.received();
    assert_eq!(sums(&all), ended.sums());
    assert_eq!(super::server::pushed(&all[0]).2, super::server::pushed(&silent[0]).2);
}
