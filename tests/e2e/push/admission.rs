//! Headers that admit to a server come from a file or a variable, and reach nobody else.

use std::fs;

use super::program::{Pushed, meter};
use super::server::{Server, answer, sums, well};
use crate::harness::{Scratch, program, until};

#[test]
fn headers_come_from_a_file_or_a_variable_which_the_program_does_not_inherit() {
    let server = Server::start(|_, request| match request.header("authorization") {
        Some("Bearer of-file" | "Bearer of-variable") => well(),
        _ => answer("401 Unauthorized", ""),
    });
    let url = format!("pyroscope+http://{}", server.address);
    for (from_file, expected) in [(true, "Bearer of-file"), (false, "Bearer of-variable")] {
        let scratch = Scratch::new();
        let file = scratch.join("headers");
        fs::write(&file, "Authorization: Bearer of-file\n\nX-Scope-OrgID:  tenant \n").unwrap();
        let options = ["--push-headers", file.to_str().unwrap()];
        let mut command = meter(&scratch, &url, if from_file { &options } else { &[] });
        command.env("LOCKWRIGHT_PUSH_AUTHORIZATION", "Bearer of-variable");
        let before = server.received().len();
        let ended = Pushed::by(command, scratch, &program("pushed.c"));
        until("a push", || (server.received().len() > before).then_some(()));
        let ended = ended.end();
        assert!(ended.run.text().contains("secret kept"), "{}", ended.run.text());
        let received = &server.received()[before..];
        for request in received {
            assert_eq!(request.header("authorization"), Some(expected));
            let tenant = from_file.then_some("tenant");
            assert_eq!(request.header("x-scope-orgid"), tenant);
        }
        assert_eq!(sums(received), ended.sums());
        // Nothing of it is in a file.
        assert!(!ended.run.stderr.contains("Bearer"), "{}", ended.run.stderr);
    }
}

#[test]
fn a_file_of_something_else_is_refused_without_being_shown() {
    let scratch = Scratch::new();
    let file = scratch.join("headers");
    fs::write(&file, "X: y\ns3cret\n").unwrap();
    let options = ["--push-headers", file.to_str().unwrap()];
    let mut command = meter(&scratch, "otlp+http://127.0.0.1:1", &options);
    command.args(["--", "true"]);
    let run = crate::harness::run(command);
    assert_eq!(run.code(), 125);
    assert!(run.stderr.contains("line 2: not `Name: value`"), "{}", run.stderr);
    assert!(!run.stderr.contains("s3cret"));
}
