//! Requests to the server, and what their answers mean. It follows no redirect: the headers are for one server alone.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockwright_console::error::{Error, Result};
use lockwright_report::lockmeter::push::Request;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::admission;
use super::target::Target;
use crate::args::AdmissionArgs;

/// A server, and how to be admitted there.
pub struct Client {
    agent: Agent,
    target: Target,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What came of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The server has it. It may have said something about it.
    Received(Option<String>),
    /// The server does not have it, and says so; it may say when to come again.
    Refused(String, Option<Duration>),
    /// As it is, the server will never take it.
    Invalid(String),
    /// The server has not been reached.
    Away(String),
    /// Nobody knows whether the server has it.
    Lost(String),
}

/// A request takes no longer.
pub const ATTEMPT: Duration = Duration::from_secs(5);

/// The longest time that a server may send others away for.
const LONGEST_WAIT: Duration = Duration::from_secs(900);

/// What of an answer is read.
const MOST_OF_ANSWER: u64 = 4096;

impl Client {
    /// Reads what is needed for the server. Nothing is sent.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn new(target: Target, args: &AdmissionArgs) -> Result<Self> {
        let headers = admission::headers(args)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("lockwright/", env!("CARGO_PKG_VERSION")));
        if target.is_tls() {
            let roots = roots(args.push_ca.as_deref())?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = TlsConfig::builder()
                .root_certs(RootCerts::from(roots))
                .unversioned_rustls_crypto_provider(provider);
            config = config.tls_config(tls.build());
        }
        Ok(Self { agent: config.build().new_agent(), target, headers })
    }

    /// The server.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Sends it, in that time at most.
    pub fn send(&self, request: &Request, limit: Duration) -> Answer {
        let url = self.target.with(request.query.as_deref());
        let mut post = self.agent.post(url).config().timeout_global(Some(limit)).build();
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        post = post.header(header::CONTENT_TYPE, &request.content_type);
        if request.is_gzip {
            post = post.header(header::CONTENT_ENCODING, "gzip");
        }
        match post.send(request.body.as_slice()) {
            Ok(mut response) => {
                let mut body = Vec::new();
                // What cannot be read changes nothing.
                let reader = response.body_mut().as_reader();
                let _ = reader.take(MOST_OF_ANSWER).read_to_end(&mut body);
                match answer(&response, &body) {
                    Answer::Received(None) => Answer::Received(self.target.shape.complaint(&body)),
                    other => other,
                }
            }
            Err(error) if was_sent(&error) => Answer::Lost(error.to_string()),
            Err(error) => Answer::Away(error.to_string()),
        }
    }
}

fn answer<B>(response: &Response<B>, body: &[u8]) -> Answer {
    let status = response.status();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let body = String::from_utf8_lossy(body);
    let first = body.lines().map(str::trim).find(|line| !line.is_empty());
    // A page is for people with a browser.
    let first = first.filter(|line| !line.starts_with('<'));
    let said = first.map_or_else(String::new, |line| format!(": {}", shortened(line)));
    let what = format!("the server answered {status}{said}");
    match status {
        status if status.is_success() => Answer::Received(None),
        status if status.is_redirection() => {
            let to = text(header::LOCATION).unwrap_or("somewhere else");
            Answer::Refused(format!("{what}; it refers to {}", shortened(to)), None)
        }
        // It has this request already.
        StatusCode::CONFLICT => Answer::Received(Some(what)),
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => Answer::Invalid(what),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = text(header::RETRY_AFTER).and_then(|text| text.trim().parse().ok());
            let wait = seconds.map(Duration::from_secs).map(|wait| wait.min(LONGEST_WAIT));
            Answer::Refused(what, wait)
        }
        status if status.is_server_error() => Answer::Lost(what),
        _ => Answer::Refused(what, None),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Whether the server can have the request.
fn was_sent(error: &ureq::Error) -> bool {
    use ureq::{Error, Timeout};
    match error {
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::BadUri(_)
        | Error::Http(_)
        | Error::InvalidProxyUrl
        | Error::Tls(_)
        | Error::Rustls(_)
        | Error::Timeout(Timeout::Resolve | Timeout::Connect) => false,
        Error::Io(error) => !matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::AddrNotAvailable
                | ErrorKind::InvalidData
        ),
        _ => true,
    }
}

/// The certificates that servers are trusted by: those in the file, or in $SSL_CERT_FILE, or the system's.
fn roots(file: Option<&Path>) -> Result<Vec<Certificate<'static>>> {
    let Some(path) = file else { return system_roots() };
    let shown = path.display();
    let wrong = |why: String| Error::new(format!("cannot use the certificates in {shown}: {why}"));
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut roots = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(root) = item.map_err(|error| wrong(error.to_string()))? {
            roots.push(root);
        }
    }
    if roots.is_empty() { Err(wrong("there is none".to_owned())) } else { Ok(roots) }
}

fn system_roots() -> Result<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let error = Error::new("no certificates to trust a server by");
        let error = found.errors.iter().fold(error, |error, why| error.note(why.to_string()));
        return Err(
            error.help("install Debian's package ca-certificates, or name a file: --push-ca FILE")
        );
    }
    Ok(found.certs.iter().map(|root| Certificate::from_der(root).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, retry_after: Option<&str>) -> Answer {
        let mut response = Response::builder().status(status);
        if let Some(after) = retry_after {
            response = response.header("Retry-After", after);
        }
        answer(&response.body(()).unwrap(), b"\n why\nmore")
    }

    #[test]
    fn each_answer_has_a_meaning() {
        let seconds = |n| Some(Duration::from_secs(n));
        let after = |status, text| match answered(status, text) {
            Answer::Refused(_, after) => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(answered(204, None), Answer::Received(None));
        assert_eq!(after(429, Some("7")), seconds(7));
        assert_eq!(after(503, Some("99999999")), Some(LONGEST_WAIT));
        assert_eq!(after(429, Some("soon")), None);
        assert_eq!(after(401, None), None);
        assert_eq!(after(302, None), None);
        assert!(matches!(answered(409, None), Answer::Received(Some(_))));
        assert!(matches!(answered(413, None), Answer::Invalid(_)));
        assert!(matches!(answered(500, None), Answer::Lost(why) if why.ends_with("Error: why")));
    }
}
