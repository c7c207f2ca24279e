//! A server whose certificate the test has made.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::program::{Pushed, meter};
use super::server::{Accept, Server, sums, well};
use crate::harness::{Scratch, program, until};

/// The server, and its certificate as a PEM file has it.
fn server() -> (Server, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![cert.der().clone()], key).unwrap());
    let accept: Accept = Box::new(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
        Some(Box::new(StreamOwned::new(connection, stream)))
    });
    let listener = TcpListener::bind("localhost:0").unwrap();
    (Server::with(listener, accept, |_, _| well()), cert.pem())
}

#[test]
fn a_server_is_trusted_by_the_certificates_that_the_user_names() {
    let (server, pem) = server();
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    for (host, by_option, is_trusted) in [
        ("localhost", Some(true), true),
        ("localhost", Some(false), true),
        ("localhost", None, false),
        // The certificate is another host's.
        ("127.0.0.1", Some(true), false),
    ] {
        let url = format!("pyroscope+https://{host}:{port}");
        let scratch = Scratch::new();
        let file = scratch.join("ca.pem");
        fs::write(&file, &pem).unwrap();
        let file = file.to_str().unwrap();
        let options = ["--push-ca", file];
        let mut command =
            meter(&scratch, &url, if by_option == Some(true) { &options } else { &[] });
        if by_option == Some(false) {
            command.env("SSL_CERT_FILE", file);
        }
        let before = server.received().len();
        let running = Pushed::by(command, scratch, &program("pushed.c"));
        match is_trusted {
            true => until("a push", || (server.received().len() > before).then_some(())),
            false => running.running.await_stderr("cannot push to https://"),
        }
        let ended = running.end();
        assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
        let received = &server.received()[before..];
        if is_trusted {
            assert_eq!(sums(received), ended.sums(), "{host} {by_option:?}");
        } else {
            assert!(received.is_empty() && ended.kept().is_some(), "{host} {by_option:?}");
            assert!(ended.run.stderr.contains("certificate"), "{}", ended.run.stderr);
        }
    }
}
