//! What admits a request at a server: headers from a file or a variable, never from the command line.

use std::path::Path;

use lockwright_console::error::{Error, Result};
use lockwright_ledger::file;
use ureq::http::{HeaderName, HeaderValue};

use crate::args::AdmissionArgs;

/// Names the value of the header Authorization. The program does not inherit it.
pub const AUTHORIZATION: &str = "LOCKWRIGHT_PUSH_AUTHORIZATION";

/// A file of headers is small.
const MOST_BYTES: u64 = 64 << 10;

/// The headers.
///
/// # Errors
/// If the file cannot be read, or has something else.
pub fn headers(args: &AdmissionArgs) -> Result<Vec<(HeaderName, HeaderValue)>> {
    if let Some(path) = &args.push_headers {
        return read(path);
    }
    let Some(value) = std::env::var_os(AUTHORIZATION).filter(|value| !value.is_empty()) else {
        return Ok(Vec::new());
    };
    let value = value.to_str().and_then(secret);
    let value =
        value.ok_or_else(|| Error::new(format!("${AUTHORIZATION} is no value of a header")))?;
    Ok(vec![(ureq::http::header::AUTHORIZATION, value)])
}

fn read(path: &Path) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let shown = path.display();
    let bytes = file::open(path)
        .and_then(|file| file::read_all(file, MOST_BYTES))
        .map_err(|error| Error::new(format!("cannot read the headers in {shown}: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = |(at, line): (usize, &str)| {
        // What is in the line is a secret.
        let wrong = || Error::new(format!("{shown}, line {}: not `Name: value`", at + 1));
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| wrong())?;
        Ok((name, secret(value.trim()).ok_or_else(wrong)?))
    };
    lines.map(header).collect()
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text.trim()).ok()?;
    value.set_sensitive(true);
    Some(value)
}
