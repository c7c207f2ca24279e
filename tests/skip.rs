//! How a test says that it cannot run here.

use std::fs::OpenOptions;
use std::io::Write;

/// Says on the real stderr that the running test is skipped, since the test runner hides what a passing test prints. The
/// file that LOCKWRIGHT_SKIPS names gets a line, which `cargo xtask test` counts.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {}\n", thread.name().unwrap_or("a test"), why.replace('\n', " "));
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    if let Some(file) = std::env::var_os("LOCKWRIGHT_SKIPS")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file)
    {
        let _ = file.write_all(line.as_bytes());
    }
}
