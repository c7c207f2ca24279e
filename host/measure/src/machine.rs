//! The machine of a measurement: a ratio without it cannot be compared.

use std::fs;
use std::process::Command;

/// Names and values, in the order they are shown; with the versions of those of Debian's `packages`
/// that are there.
pub fn describe(packages: &[&str]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            facts.push((name.to_owned(), value));
        }
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = |key: &str| {
        cpuinfo.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':'))
    };
    fact(
        "cpu",
        model("model name").or_else(|| model("CPU part")).map(|(_, v)| v.trim().to_owned()),
    );
    fact("cpus", std::thread::available_parallelism().ok().map(|n| n.to_string()));
    let virtual_ = cpuinfo.lines().any(|l| l.starts_with("flags") && l.contains(" hypervisor"));
    fact("virtual", Some(if virtual_ { "yes" } else { "no" }.to_owned()));
    fact("kernel", output("uname", &["-srm"]));
    fact("glibc", output("getconf", &["GNU_LIBC_VERSION"]));
    fact(
        "compiler",
        output("cc", &["--version"]).and_then(|v| v.lines().next().map(str::to_owned)),
    );
    for package in packages {
        fact(package, output("dpkg-query", &["-W", "-f=${Version}", package]));
    }
    facts
}

/// The trimmed stdout of a command that is there and succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let out = Command::new(program).args(arguments).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
