//! Debug files from a server: Debian's debuginfod, in a network of its own, as it can be told no
//! address to listen at.

use std::path::Path;
use std::process::Command;

use crate::harness::{Scratch, build, installed, skip, tool};

/// Starts the server, waits until it has the file, and runs the rest of the arguments.
const SCRIPT: &str = r#"
set -eu
dir=$1 id=$2; shift 2
ip link set lo up
debuginfod -F -p 8002 -d "$dir/index.sqlite" "$dir/files" >"$dir/log" 2>&1 &
server=$!
trap 'kill $server' EXIT
export DEBUGINFOD_URLS=http://127.0.0.1:8002/
tries=0
# What is not there is remembered for a while, so each try has a cache of its own.
until DEBUGINFOD_CACHE_PATH="$dir/try-$tries" debuginfod-find debuginfo "$id" >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 600 ] || ! kill -0 $server; then cat "$dir/log"; exit 99; fi
	sleep 0.1
done
export DEBUGINFOD_CACHE_PATH="$dir/cache"
code=0
"$@" || code=$?
exit $code
"#;

fn succeed(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A stripped program in `dir`, its debug file in `dir/files`, and its build id.
fn stripped(dir: &Path) -> (std::path::PathBuf, String) {
    let built = build("abba.c", &["-Wl,--build-id"]);
    let program = dir.join("abba");
    let files = dir.join("files");
    std::fs::create_dir(&files).expect("a folder");
    let debug = files.join("abba.debug");
    succeed(Command::new("objcopy").arg("--only-keep-debug").args([&built, &debug]));
    succeed(Command::new("objcopy").arg("--strip-all").args([&built, &program]));
    let notes = succeed(Command::new("readelf").arg("-n").arg(&program));
    let id = notes.split("Build ID: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    (program, id.expect("a build id").to_owned())
}

/// What `unshare` is to be told for a network that has nothing but a loopback device. Root needs no
/// user namespace for it, and where root may have none, a container say, a network may do.
fn network_of_its_own() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    WAYS.into_iter().find(|way| {
        let up =
            Command::new("unshare").args(*way).args(["ip", "link", "set", "lo", "up"]).output();
        up.expect("unshare").status.success()
    })
}

#[test]
fn debug_files_are_fetched_where_servers_are_named() {
    for (program, package) in
        [("debuginfod", "debuginfod"), ("debuginfod-find", "debuginfod"), ("ip", "iproute2")]
    {
        if installed(&[program], package).is_none() {
            return;
        }
    }
    let Some(alone) = network_of_its_own() else {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "no network of its own");
        return skip("this user may have no network of its own");
    };
    let scratch = Scratch::new();
    let (program, id) = stripped(scratch.path());
    let lockwright = tool();
    let ledgers = scratch.join("ledgers");
    let check = |command: &mut Command| {
        let out = command
            .arg(lockwright.get_program())
            .args(["check", "--ledger-dir"])
            .arg(&ledgers)
            .arg("--")
            .arg(&program)
            .env_remove("LD_PRELOAD")
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    // Nobody asks a server that nobody named.
    let without = check(Command::new("env").args(["-u", "DEBUGINFOD_URLS"]));
    assert!(without.contains("error[circular-dependency]"), "{without}");
    assert!(!without.contains("abba.c"), "{without}");

    let mut served = Command::new("unshare");
    served.args(alone).args(["sh", "-c", SCRIPT, "sh"]).arg(scratch.path()).arg(&id);
    let with = check(&mut served);
    assert!(with.contains("`A` and `B` are taken in both orders"), "{with}");
    assert!(with.contains("abba.c:7"), "{with}");
    let cached = scratch.join("cache").join(&id).join("debuginfo");
    assert!(cached.is_file(), "{}: {with}", cached.display());
}

#[test]
fn servers_without_a_client_are_told() {
    let scratch = Scratch::new();
    let out = tool()
        .args(["check", "--ledger-dir"])
        .arg(scratch.path())
        .args(["--", "/bin/true"])
        .env("DEBUGINFOD_URLS", "http://127.0.0.1:9/")
        .env("PATH", scratch.path())
        .output()
        .expect("the tool");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("warning: DEBUGINFOD_URLS names servers, but there is no"), "{said}");
    assert_eq!(out.status.code(), Some(0), "{said}");
}

#[test]
fn a_server_that_does_not_answer_costs_nothing_but_names() {
    if installed(&["debuginfod-find"], "debuginfod").is_none() {
        return;
    }
    let scratch = Scratch::new();
    let (program, _) = stripped(scratch.path());
    let out = tool()
        .args(["check", "--ledger-dir"])
        .arg(scratch.join("ledgers"))
        .arg("--")
        .arg(&program)
        // Nobody listens at the port of discard.
        .env("DEBUGINFOD_URLS", "http://127.0.0.1:9/")
        .env("DEBUGINFOD_CACHE_PATH", scratch.join("cache"))
        .output()
        .expect("the tool");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("error[circular-dependency]"), "{said}");
}
