//! Attacks by another user of the machine: root's lockwright must not write, read, wait, kill or
//! delete for that user. The attacks are made as nobody, so root has to run them; in CI he does.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::executable;
use crate::harness::{Run, Running, installed, ledgers, program, run, skip, spawn, tool, until};

/// Nobody's user id.
const NOBODY: u32 = 65534;

/// Whether the attacks can be made. A test that cannot become another user says that it skips them;
/// in CI it fails.
fn can_become_nobody() -> bool {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } == 0 {
        return true;
    }
    let why = "only root can act as another user";
    assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
    skip(why);
    false
}

/// A directory that every user can enter, wherever the tests were built.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = PathBuf::from(format!("/tmp/lw-users-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let place = Self(folder);
        open_to_all(&place.0, 0o755);
        place
    }

    /// A directory in it, of this mode.
    fn folder(&self, name: &str, mode: u32) -> PathBuf {
        let folder = self.0.join(name);
        fs::create_dir(&folder).expect("a folder");
        open_to_all(&folder, mode);
        folder
    }

    /// A copy of a program that every user can execute.
    fn copy_of(&self, program: &Path) -> PathBuf {
        let copy = self.0.join(program.file_name().expect("a file"));
        executable::copy(program, &copy);
        open_to_all(&copy, 0o755);
        copy
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
}

/// What a shell says as nobody; its standard error is not looked at.
fn as_nobody(script: &str, arguments: &[&Path]) -> Run {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/");
    run(shell)
}

/// The only directory in `folder`.
fn only_folder(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").mode() & 0o7777
}

/// A watched program that waits, and its run's directory.
fn begin(command: &str, ledger_dir: &Path, json: &Path, program: &Path) -> (Running, PathBuf) {
    let mut tool = tool();
    tool.args([command, "--keep", "--json"]).arg(json).arg("--ledger-dir").arg(ledger_dir);
    // The harness gives what it starts an input that has ended.
    tool.arg("--").args(["/bin/sh", "-c", "sleep 0; exec \"$0\" wait <\"$1\""]).arg(program);
    tool.arg(ledger_dir.with_extension("input"));
    let running = spawn(tool);
    running.program_id();
    (running, only_folder(ledger_dir))
}

/// An input for [`begin`] that ends when the value goes.
fn input(ledger_dir: &Path) -> fs::File {
    let pipe = ledger_dir.with_extension("input");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    // For both directions: a named pipe opens at once then.
    fs::OpenOptions::new().read(true).write(true).open(pipe).expect("the pipe")
}

/// A ledger of a program that has deadlocked, with the process id `pid` in it.
fn forged(place: &Place, pid: u32) -> PathBuf {
    let made = place.folder("made", 0o755);
    let mut tool = tool();
    tool.args(["check", "--keep", "--on-deadlock=kill", "--ledger-dir"]).arg(&made);
    tool.arg("--").arg(program("deadlock.c"));
    let deadlocked = run(tool);
    assert!(deadlocked.stderr.contains("deadlocked"), "{}", deadlocked.stderr);
    let mut bytes = fs::read(&ledgers(&made)[0]).expect("its ledger");
    bytes[16..20].copy_from_slice(&pid.to_ne_bytes());
    let path = place.0.join("forged");
    fs::write(&path, bytes).expect("written");
    open_to_all(&path, 0o644);
    path
}

/// The directory of a run is closed to others, and the one in it that they have to be able to write
/// to has a name that they cannot know.
#[test]
fn nobody_finds_the_place_for_ledgers() {
    if !can_become_nobody() {
        return;
    }
    let place = Place::new();
    let own = place.copy_of(&program("becomes_nobody.c"));
    // Such as everybody can list.
    let base = place.folder("ledgers", 0o755);
    let input = input(&base);
    let (running, dir) = begin("check", &base, &place.0.join("json"), &own);
    assert_eq!(mode_of(&dir), 0o711, "{}", dir.display());
    let inner = only_folder(&dir);
    assert_eq!(mode_of(&inner), 0o1733);
    let name = inner.file_name().unwrap().to_str().unwrap();
    assert_eq!((name.len(), name.bytes().all(|b| b.is_ascii_hexdigit())), (32, true), "{name}");
    for folder in [&dir, &inner] {
        let tried = as_nobody("ls \"$1\"", &[folder]);
        assert!(!tried.status.success() && tried.stdout.is_empty(), "{}", folder.display());
    }
    for script in [
        "ln -s /tmp \"$1/end.json\"",
        "mkfifo \"$1/cost.json\"",
        "mkdir \"$1/calibration\"",
        "echo x >\"$1/1-0011223344556677.lwl\"",
        "mv \"$1\" \"$1.x\"",
        "rm -f \"$1/lock\" && test ! -e \"$1/lock\"",
    ] {
        assert!(!as_nobody(script, &[&dir]).status.success(), "{script}");
    }
    // And in the latter, a user that knows its name changes nothing that others have made.
    let ledger = ledgers(&inner).remove(0);
    for script in [
        "echo x >>\"$1/executed\"",
        "cat \"$1/executed\"",
        "mv \"$1/executed\" \"$1/x\"",
        "cat \"$2\"",
        "rm -f \"$2\"",
        ": >\"$2\"",
    ] {
        assert!(!as_nobody(script, &[&inner, &ledger]).status.success(), "{script}");
    }
    drop(input);
    let run = running.wait();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(mode_of(&dir), 0o700, "what is kept is its user's");
}

/// As when somebody knows the name all the same.
#[test]
fn what_nobody_plants_among_the_ledgers() {
    if !can_become_nobody() {
        return;
    }
    for command in ["check", "run", "meter"] {
        let place = Place::new();
        let own = place.copy_of(&program("becomes_nobody.c"));
        let victim = place.0.join("victim");
        fs::write(&victim, "root's").unwrap();
        let base = place.folder("ledgers", 0o755);
        let input = input(&base);
        let json = place.0.join("json");
        let (running, dir) = begin(command, &base, &json, &own);
        let inner = only_folder(&dir);
        let forged = forged(&place, running.program_id());
        let script = r#"
            cd "$1" || exit 1
            ln -s "$2" end.json; ln -s "$2" cost.json; ln -s "$2" unwatched-1; ln -s "$2" lock
            ln -s "$2" 3-0011223344556677.lwl
            mkfifo 1-0011223344556677.lwl executed-7 run
            cp "$3" "$4-0011223344556677.lwl"
            mkdir calibration 2-0011223344556677.lwl
            yes "00000000000000000000000000000000 x 1 1 /bin/forged" | head -n 200000 |
                tr '\n' '\0' >executed-2
            ls -d executed-2 "$4-0011223344556677.lwl" >/dev/null
        "#;
        let pid = PathBuf::from(running.program_id().to_string());
        let planted = as_nobody(script, &[&inner, &victim, &forged, &pid]);
        assert!(planted.status.success(), "{}", planted.stderr);
        // A deadlock as the one in the forged ledger is acted on after 2 s.
        std::thread::sleep(std::time::Duration::from_secs(3));
        drop(input);
        let ended = running.wait();
        assert_eq!(ended.code(), 0, "{command}: nobody was killed: {}", ended.stderr);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "root's", "{command}");
        let left_out = "that no process of this run has made";
        assert!(ended.stderr.contains(left_out), "{command}: {}", ended.stderr);

        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let of_run = report.get("meter").filter(|_| command == "run").unwrap_or(&report);
        let of = |part: &str| of_run[part].as_array().unwrap().len();
        // The shell, sleep, the program and what it forks and executes as nobody.
        let exe = |process: &serde_json::Value| process["exe"] == own.to_str().unwrap();
        let own_processes =
            of_run["processes"].as_array().unwrap().iter().filter(|p| exe(p)).count();
        assert_eq!(own_processes, 3, "{command}: {:#}", of_run["processes"]);
        assert_eq!(of("unwatched"), 0, "{command}: {:#}", of_run["unwatched"]);

        // What was kept is no different.
        assert!(dir.join("end.json").exists() || command == "check", "{command}");
        let mut again = tool();
        again.arg("report").arg(&dir);
        let again = run(again);
        assert_eq!(again.code(), 0, "{command}: {}", again.stderr);
        assert!(!again.stderr.contains("forged"), "{command}: {}", again.stderr);
    }
}

/// A server that gives up its privileges is watched: what it forks then, and what it executes.
#[test]
fn processes_that_become_nobody_are_watched() {
    if !can_become_nobody() {
        return;
    }
    for command in ["check", "run", "meter"] {
        let place = Place::new();
        let own = place.copy_of(&program("becomes_nobody.c"));
        let base = place.folder("ledgers", 0o755);
        let json = place.0.join("json");
        let mut tool = tool();
        tool.args([command, "--json"]).arg(&json).arg("--ledger-dir").arg(&base).arg("--").arg(own);
        let ended = run(tool);
        assert_eq!(ended.code(), 0, "{command}: {}", ended.stderr);
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let of_run = report.get("meter").filter(|_| command == "run").unwrap_or(&report);
        let acquired: Vec<u64> = of_run["processes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|process| process["acquisitions"].as_u64().unwrap())
            .collect();
        assert_eq!(acquired, [2, 2, 2], "{command}: {:#}", of_run["processes"]);
        assert!(of_run["unwatched"].as_array().unwrap().is_empty(), "{:#}", of_run["unwatched"]);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0, "{command}: all is removed");
    }
}

/// In a mount namespace of its own, where nobody came first.
#[test]
fn bases_that_nobody_has_made_beforehand() {
    if !can_become_nobody() {
        return;
    }
    let plain = program("nothing.c");
    for make in [
        // Each as nobody, then as root.
        "mkdir -m 777 $1",
        "mkdir -m 700 $1",
        "mkdir -m 755 $1; mkdir -m 777 $1/1-2",
        "ln -s $2 $1",
        "ln -s $2/none $1",
        "mkfifo $1",
        "touch $1",
    ] {
        let place = Place::new();
        let (elsewhere, temporary) =
            (place.folder("elsewhere", 0o777), place.folder("tmp", 0o1777));
        let script = r#"
            mount -t tmpfs -o mode=1777 none /dev/shm || exit 77
            for base in /dev/shm/lockwright-0 "$TMPDIR/lockwright-0"; do
                setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$1" sh "$base" "$2" || exit 78
            done
            find /dev/shm "$TMPDIR" "$2" | sort >"$5.before"
            "$3" check -- "$4"; code=$?
            find /dev/shm "$TMPDIR" "$2" | sort >"$5.after"
            exit $code
        "#;
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "/bin/sh", "-c", script, "sh", make]).arg(&elsewhere);
        unshare.arg(env!("CARGO_BIN_EXE_lockwright")).arg(&plain).arg(place.0.join("list"));
        unshare.env("TMPDIR", &temporary).env_remove("XDG_RUNTIME_DIR").env_remove("LD_PRELOAD");
        let ended = run(unshare);
        if ended.code() == 1 && ended.stderr.contains("unshare") || ended.code() == 77 {
            assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{}", ended.stderr);
            return skip("mounting in a namespace of its own is not allowed here");
        }
        assert_eq!(ended.code(), 0, "{make}: {}", ended.stderr);
        let list = |when: &str| fs::read_to_string(place.0.join(format!("list.{when}"))).unwrap();
        assert_eq!(list("before"), list("after"), "{make}: nothing is left, nor gone");
    }
}

/// A directory above that is somebody else's: that user could replace our library.
#[test]
fn no_library_below_what_nobody_can_rename() {
    if !can_become_nobody() {
        return;
    }
    let place = Place::new();
    let base = place.folder("ledgers", 0o755);
    chown(&base, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut tool = tool();
    tool.args(["check", "--ledger-dir"]).arg(&base);
    tool.args(["--", "/bin/sh", "-c", "echo \"$LD_PRELOAD\"; :"]);
    let ended = run(tool);
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    let library = ended.text();
    assert!(!library.contains(base.to_str().unwrap()), "{library}");
    assert!(library.contains("/liblockwright.so") || library.contains("/fd/"), "{library}");
}

/// What was in a directory that is named for ledgers stays there, whatever its name.
#[test]
fn nothing_of_the_users_is_deleted() {
    let place = Place::new();
    let base = place.folder("ledgers", 0o755);
    for name in ["2024-11", "2024-12.gone", "1700000000-42"] {
        fs::create_dir_all(base.join(name).join("photos")).unwrap();
        fs::write(base.join(name).join("lock"), "").unwrap();
        fs::write(base.join(name).join("photos/a.lwl"), "years of work").unwrap();
    }
    let mut tool = tool();
    tool.args(["check", "--ledger-dir"]).arg(&base).arg("--").arg(program("nothing.c"));
    let ended = run(tool);
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    assert_eq!(fs::read_dir(&base).unwrap().count(), 3);
    for name in ["2024-11", "2024-12.gone", "1700000000-42"] {
        assert!(base.join(name).join("lock").exists(), "{name}");
        let text = fs::read_to_string(base.join(name).join("photos/a.lwl")).unwrap();
        assert_eq!(text, "years of work", "{name}");
    }
}

/// The process is number 1 or 2 in its namespace, which does not identify the ledger's writer.
/// Otherwise the ledger would be cut while it is written, and the process would die.
#[test]
fn kept_ledgers_of_another_pid_namespace_stay_whole_while_they_are_written() {
    if !can_become_nobody() {
        return;
    }
    let place = Place::new();
    let [ready, go, done] = ["ready", "go", "done"].map(|name| place.0.join(name));
    let script = r#"unshare -pf "$0" "$1" "$2" "$3" >/dev/null 2>&1 </dev/null &
        while kill -0 $! && [ ! -e "$1" ]; do sleep 0.02; done; [ -e "$1" ]"#;
    let mut tool = tool();
    tool.args(["check", "--keep", "--ledger-dir"]).arg(place.folder("ledgers", 0o755));
    tool.args(["--", "/bin/sh", "-c", script])
        .arg(program("outlives.c"))
        .args([&ready, &go, &done]);
    let ended = run(tool);
    if !ready.exists() {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{}", ended.stderr);
        return skip("a pid namespace of its own is not allowed here");
    }
    assert!(ended.stderr.contains("ledgers kept in"), "{}", ended.stderr);
    fs::write(&go, "").unwrap();
    until("the process that outlives its parent to end", || done.exists().then_some(()));
    let mut report = crate::harness::tool();
    report.arg("report").arg(only_folder(&place.0.join("ledgers")));
    let report = run(report);
    assert!(report.stderr.contains("20,001"), "all that it took: {}", report.stderr);
}

/// Connects to each socket of lockwright that /proc/net/unix names, and to its arguments. Prints
/// how many connections it has, and keeps them, silent or with half a question, until its input ends.
const CONNECTS: &str = r#"
import socket, sys
names = {line.split()[-1] for line in open('/proc/net/unix') if 'lockwright' in line or 'asked' in line}
connections = []
for name in sorted(names) + sys.argv[1:]:
    for number in range(200):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            connection.connect(name)
            connection.send(b'x' * (number % 48))
            connections.append(connection)
        except OSError:
            pass
print(len(connections), flush=True)
sys.stdin.read()
"#;

/// The socket over which `swap --only` is asked: nobody finds it; and a process of another user that
/// learned its name delays only others like it.
#[test]
fn nobody_keeps_a_swapped_program_waiting() {
    if !can_become_nobody() || installed(&["python3"], "python3").is_none() {
        return;
    }
    let place = Place::new();
    let base = place.folder("ledgers", 0o755);
    let script = place.0.join("connects.py");
    fs::write(&script, CONNECTS).expect("written");
    open_to_all(&script, 0o644);
    let program = program("swap_only.c");
    // The program waits for the attack.
    let mut swap = tool();
    swap.args(["swap", "--only", "cache_lock", "--ledger-dir"]).arg(&base);
    swap.args(["--", "/bin/sh", "-c", "echo ready; read go; exec \"$0\" 2>&1"]).arg(&program);
    let mut swap = swap
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool");
    let mut said = BufReader::new(swap.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it is ready");
    let is_socket = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| std::os::unix::fs::FileTypeExt::is_socket(&kind))
    };
    let run_dir = only_folder(&base);
    let mut sockets = fs::read_dir(run_dir).expect("a folder").flatten().filter(is_socket);
    let socket = sockets.next().expect("a socket").path();

    let mut attacks = Vec::new();
    for leaked in [None, Some(&socket)] {
        let mut attack = Command::new("python3");
        attack.arg(&script).args(leaked).uid(NOBODY).gid(NOBODY).current_dir("/");
        let mut attack =
            attack.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python");
        let mut count = String::new();
        let mut out = BufReader::new(attack.stdout.take().expect("a pipe"));
        out.read_line(&mut count).expect("how many");
        match leaked {
            None => assert_eq!(count, "0\n", "nobody finds the socket"),
            Some(_) => assert_ne!(count, "0\n", "whoever knows its name finds it"),
        }
        attacks.push(attack);
    }
    swap.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
    let mut text = String::new();
    said.read_to_string(&mut text).expect("it ends");
    let out = swap.wait_with_output().expect("it ends");
    let notes = String::from_utf8_lossy(&out.stderr);
    // Each question was answered while the connections are open.
    assert!(text.contains("cache_lock replaced"), "{text}{notes}");
    assert!(!notes.contains("no pattern was tried"), "{notes}");
    assert_eq!(out.status.code(), Some(0), "{notes}");
    for mut attack in attacks {
        drop(attack.stdin.take());
        assert!(attack.wait().expect("it ends").success());
    }
}
