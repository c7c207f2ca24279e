//! The endpoint that a URL names.

use std::fmt;

use lockwright_console::error::{Error, Result, exit};
use lockwright_report::lockmeter::push::Shape;
use ureq::http::Uri;

/// Where profiles are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it wants.
    pub shape: Shape,
    /// Where it is; no query.
    url: String,
}

/// The word before `+http`, what it wants, and the path where it does.
const NAMED: &[(&str, Shape, &str)] = &[
    ("pyroscope", Shape::Pusher, "/push.v1.PusherService/Push"),
    ("ingest", Shape::Ingest, "/ingest"),
    ("parca", Shape::Parca, "/api/profiles/writeraw"),
    ("otlp", Shape::Otlp, "/v1development/profiles"),
];

/// Paths of Parca's gateway, by what they end in.
const PARCA: [&str; 2] =
    ["/profiles/writeraw", "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"];

impl Target {
    /// The endpoint.
    ///
    /// # Errors
    /// If the URL names none that is known.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| {
            Error::with_code(exit::USAGE, format!("--push {}: {why}", without_secrets(text))).help(
                "name a server, as pyroscope+http://127.0.0.1:4040, ingest+http://, parca+http:// or otlp+https://",
            )
        };
        let named = NAMED.iter().find_map(|&(word, shape, path)| {
            Some((text.strip_prefix(word)?.strip_prefix('+')?, shape, path))
        });
        let url = named.map_or(text, |(url, ..)| url);
        let uri: Uri = url.parse().map_err(|error| wrong(format!("{error}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("neither http:// nor https://".to_owned()));
        }
        let host = uri.host().filter(|host| !host.is_empty());
        let authority = uri.authority().filter(|_| host.is_some());
        let Some(authority) = authority else { return Err(wrong("it names no host".to_owned())) };
        if authority.as_str().contains('@') {
            return Err(wrong("a password on a command line is no secret".to_owned()).help(
                "write the header `Authorization: Basic ...` to a file: --push-headers FILE",
            ));
        }
        let port = authority.as_str().rsplit_once(':').map(|(_, port)| port);
        // What ends in a bracket is a part of the address.
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
        if port.is_some_and(|port| !port.ends_with(']') && !is_port(port)) {
            return Err(wrong("its port is not from 1 to 65535".to_owned()));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(wrong("it ends with its path: no `?` and no `#`".to_owned()));
        }
        let path = uri.path().trim_end_matches('/');
        let (shape, end) = match named {
            // The whole path, or what is before it.
            Some((_, shape, end)) => (shape, if path.ends_with(end) { "" } else { end }),
            None => {
                let ends = |end: &&str| path.ends_with(*end);
                let is_parca = PARCA.iter().any(ends);
                let known = NAMED.iter().find(|(_, _, end)| ends(end)).map(|it| it.1);
                let known = known.or_else(|| is_parca.then_some(Shape::Parca));
                let unknown = || wrong("it does not say what the server takes".to_owned());
                (known.ok_or_else(unknown)?, "")
            }
        };
        let scheme = uri.scheme_str().unwrap_or_default();
        Ok(Self { shape, url: format!("{scheme}://{authority}{path}{end}") })
    }

    /// The connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// The URL of a request with this query.
    pub fn with(&self, query: Option<&str>) -> String {
        query.map_or_else(|| self.url.clone(), |query| format!("{}?{query}", self.url))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// The text without what may be a password.
fn without_secrets(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://...@{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_what_the_server_takes() {
        let target = |text: &str| Target::parse(text).map(|it| (it.shape, it.to_string())).unwrap();
        let is = |text: &str, shape, url: &str| assert_eq!(target(text), (shape, url.to_owned()));
        is("pyroscope+http://h:4040", Shape::Pusher, "http://h:4040/push.v1.PusherService/Push");
        is("ingest+https://h/sub/", Shape::Ingest, "https://h/sub/ingest");
        is("http://h/ingest", Shape::Ingest, "http://h/ingest");
        is("parca+http://[::1]:7070", Shape::Parca, "http://[::1]:7070/api/profiles/writeraw");
        is(
            "otlp+http://h:4318/v1development/profiles/",
            Shape::Otlp,
            "http://h:4318/v1development/profiles",
        );
        let raw = "http://h/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw";
        is(raw, Shape::Parca, raw);
    }

    #[test]
    fn other_urls_are_refused_without_showing_a_password() {
        for wrong in [
            "",
            "h:4040",
            "http://h/",
            "ftp://h/ingest",
            "http:///ingest",
            "otlp+ftp://h",
            "http://h/ingest?a=b",
            "http://h/ingest#x",
            "http://a b/ingest",
            "http://h:99999/ingest",
            "http://h:0/ingest",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
        let error = Target::parse("otlp+http://me:hunter2@h").unwrap_err().to_string();
        assert!(error.contains("otlp+http://...@h") && !error.contains("hunter2"), "{error}");
    }
}
