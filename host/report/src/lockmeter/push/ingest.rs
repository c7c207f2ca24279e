//! `/ingest`: the name, its labels and the time in the URL, the profile in a form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::batch::{Batch, Request};
use super::names::Identity;

/// Everything that may mean something in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// How the server shows the two sample types: those of Go's profile of mutexes.
const SAMPLE_TYPES: &str = r#"{"contentions":{"display-name":"mutex_count","units":"lock_samples"},"delay":{"display-name":"mutex_duration","units":"lock_nanoseconds"}}"#;

pub(super) fn request(identity: &Identity, batch: &Batch, profile: &[u8]) -> Request {
    let labels: Vec<String> =
        identity.labels.iter().map(|label| format!("{}={}", label.name, label.value)).collect();
    let name = format!("{}{{{}}}", identity.name, labels.join(","));
    let name = utf8_percent_encode(&name, PLAIN);
    let (begun, ended) = (batch.begun_ns, batch.ended_ns);
    // No profile has this in it: it is 128 random bits.
    let boundary = batch.digits();
    let mut body = Vec::with_capacity(profile.len() + 1024);
    part(&mut body, &boundary, "profile", profile);
    part(&mut body, &boundary, "sample_type_config", SAMPLE_TYPES.as_bytes());
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Request {
        query: Some(format!("name={name}&from={begun}&until={ended}&spyName=lockwright")),
        content_type: format!("multipart/form-data; boundary={boundary}"),
        is_gzip: false,
        body,
    }
}

fn part(body: &mut Vec<u8>, boundary: &str, name: &str, content: &[u8]) {
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n");
}
