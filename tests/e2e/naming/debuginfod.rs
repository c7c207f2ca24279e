//! Debug files and sources from a server: Debian's debuginfod, in a network of its own, as it has no option for the
//! address to listen at.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use crate::harness::{Scratch, build, installed, skip, tests_dir, tool};

/// Starts the server, waits until it has the file, and runs the rest of the arguments.
const SCRIPT: &str = r#"
set -eu
dir=$1 id=$2 way=$3; shift 3
ip link set lo up
debuginfod $way -p 8002 -d "$dir/index.sqlite" "$dir/files" >"$dir/log" 2>&1 &
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
    let id = build_id(&program);
    (program, id)
}

/// A program in `dir` that has lost its source, and an archive in `dir/files` that has this and its debug
/// file; and its build id.
fn without_source(dir: &Path) -> (std::path::PathBuf, String) {
    let sources = dir.join("sources");
    std::fs::create_dir(&sources).expect("a folder");
    let source = sources.join("abba.c");
    std::fs::copy(tests_dir().join("programs/abba.c"), &source).expect("a source");
    let program = dir.join("abba");
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-pthread", "-Wl,--build-id", "-I"]).arg(tests_dir().join("programs"));
    succeed(cc.arg(&source).arg("-o").arg(&program));
    let (pack, files) = (dir.join("pack"), dir.join("files"));
    std::fs::create_dir(&files).expect("a folder");
    let packed = pack.join(source.strip_prefix("/").expect("an absolute path"));
    std::fs::create_dir_all(packed.parent().expect("a folder")).expect("folders");
    std::fs::rename(&source, packed).expect("moved");
    let debug = pack.join("abba.debug");
    succeed(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug]));
    succeed(
        Command::new("tar").arg("-C").arg(&pack).arg("-cf").arg(files.join("abba.tar")).arg("."),
    );
    std::fs::remove_dir_all(pack).expect("removed");
    let id = build_id(&program);
    (program, id)
}

fn build_id(program: &Path) -> String {
    let notes = succeed(Command::new("readelf").arg("-n").arg(program));
    let id = notes.split("Build ID: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    id.expect("a build id").to_owned()
}

/// The arguments to `unshare` for a network that has only a loopback device. Root needs no user
/// namespace for it, and where root may have none, a container say, a network may do.
fn network_of_its_own() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    WAYS.into_iter().find(|way| {
        let up =
            Command::new("unshare").args(*way).args(["ip", "link", "set", "lo", "up"]).output();
        up.expect("unshare").status.success()
    })
}

/// The arguments to `unshare` with which the server works; `None` if it cannot.
fn able() -> Option<&'static [&'static str]> {
    for (program, package) in
        [("debuginfod", "debuginfod"), ("debuginfod-find", "debuginfod"), ("ip", "iproute2")]
    {
        installed(&[program], package)?;
    }
    let alone = network_of_its_own();
    if alone.is_none() {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "no network of its own");
        skip("this user may have no network of its own");
    }
    alone
}

/// What `check` of a program says without a server, and with one that looks in this way into `files`.
fn without_and_with(scratch: &Scratch, program: &Path, id: &str, way: &str) -> Option<[String; 2]> {
    let alone = able()?;
    let lockwright = tool();
    let ledgers = scratch.join("ledgers");
    let check = |command: &mut Command| {
        let out = command
            .arg(lockwright.get_program())
            .args(["check", "--ledger-dir"])
            .arg(&ledgers)
            .arg("--")
            .arg(program)
            .env_remove("LD_PRELOAD")
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    let without = check(Command::new("env").args(["-u", "DEBUGINFOD_URLS"]));
    let mut served = Command::new("unshare");
    served.args(alone).args(["sh", "-c", SCRIPT, "sh"]).arg(scratch.path()).args([id, way]);
    Some([without, check(&mut served)])
}

#[test]
fn debug_files_are_fetched_where_servers_are_named() {
    let scratch = Scratch::new();
    let (program, id) = stripped(scratch.path());
    let Some([without, with]) = without_and_with(&scratch, &program, &id, "-F") else { return };
    // Nobody asks a server that nobody named.
    assert!(without.contains("error[circular-dependency]"), "{without}");
    assert!(!without.contains("abba.c"), "{without}");

    assert!(with.contains("`A` and `B` are taken in both orders"), "{with}");
    assert!(with.contains("abba.c:7"), "{with}");
    let cached = scratch.join("cache").join(&id).join("debuginfo");
    assert!(cached.is_file(), "{}: {with}", cached.display());
}

#[test]
fn sources_are_fetched_where_servers_are_named() {
    let scratch = Scratch::new();
    let (program, id) = without_source(scratch.path());
    let Some([without, with]) = without_and_with(&scratch, &program, &id, "-Z.tar") else { return };
    let line = "L(B);";
    assert!(without.contains("abba.c:7") && !without.contains(line), "{without}");
    assert!(with.contains("abba.c:7") && with.contains(line), "{with}");
    let cached = std::fs::read_dir(scratch.join("cache").join(&id)).expect("a cache");
    let is_source = |name: &str| name.starts_with("source") && name.contains("abba.c");
    let mut names = cached.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    assert!(names.any(|name| is_source(&name)), "{with}");
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
    let warning = "warning: a server of DEBUGINFOD_URLS failed: Connection refused";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
}

/// A server that answers each request like this, for as long as the process lives. Its address.
fn server(answer: impl Fn(&mut TcpStream) -> io::Result<()> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            // The client closes what it does not want.
            let _ = answer(&mut connection);
        }
    });
    url
}

/// What `check` of a program without names says that asks this server, with a limit of the user's.
fn said_with(server: &str, limit: (&str, &str)) -> Option<String> {
    installed(&["debuginfod-find"], "debuginfod")?;
    let scratch = Scratch::new();
    let (program, _) = stripped(scratch.path());
    let out = tool()
        .args(["check", "--ledger-dir"])
        .arg(scratch.join("ledgers"))
        .arg("--")
        .arg(&program)
        .env("DEBUGINFOD_URLS", server)
        .env("DEBUGINFOD_CACHE_PATH", scratch.join("cache"))
        .env(limit.0, limit.1)
        .output()
        .expect("the tool");
    Some(String::from_utf8_lossy(&out.stderr).into_owned())
}

#[test]
fn a_server_that_redirects_for_ever_is_given_up() {
    let location = Arc::new(OnceLock::new());
    let own = Arc::clone(&location);
    let url = server(move |connection| {
        let to: &String = own.wait();
        let answer = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        connection.write_all(answer.as_bytes())
    });
    location.set(url.clone()).expect("once");
    let Some(said) = said_with(&url, ("DEBUGINFOD_MAXTIME", "1")) else { return };
    assert!(said.contains("error[circular-dependency]"), "{said}");
    assert!(said.contains("warning: a server of DEBUGINFOD_URLS failed: "), "{said}");
}

#[test]
fn a_file_that_is_larger_than_the_user_allows_is_not_fetched() {
    let url = server(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")?;
        let part = [0; 1 << 16];
        (0..1500).try_for_each(|_| connection.write_all(&part))
    });
    let Some(said) = said_with(&url, ("DEBUGINFOD_MAXSIZE", "1000000")) else { return };
    assert!(said.contains("error[circular-dependency]"), "{said}");
    assert!(said.contains("warning: a server of DEBUGINFOD_URLS failed: "), "{said}");
}

#[test]
fn a_server_that_answers_with_an_error_is_told_of() {
    let none = ("DEBUGINFOD_PROGRESS", "1");
    let url = server(|to| to.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    let Some(said) = said_with(&url, none) else { return };
    assert!(said.contains("error[circular-dependency]"), "{said}");
    let warning = "warning: a server of DEBUGINFOD_URLS failed: it answered with HTTP status 503";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert!(!said.contains("no server was asked after that"), "{said}");

    // It has no such file: that is no failure.
    let url = server(|to| to.write_all(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n"));
    let Some(said) = said_with(&url, none) else { return };
    assert!(!said.contains("DEBUGINFOD_URLS"), "{said}");
}
