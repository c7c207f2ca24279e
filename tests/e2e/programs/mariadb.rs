//! Debian's mariadbd under real clients: the same tables as without the tool, a clean shutdown, and
//! a report that shows that its locks were really watched.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::harness::{Job, Run, Running, Scratch, check, installed, native, run, signal, until};
use crate::programs::known;

/// Clients at once.
pub const CLIENTS: usize = 4;

/// Transfers of one.
const TRANSFERS: usize = 250;

/// The accounts are numbered from 1.
pub const ACCOUNTS: usize = 200;

/// What is in each of them in the beginning.
pub const BALANCE: i64 = 1000;

#[test]
fn tables_are_the_same_and_its_locks_are_watched() {
    let Some(tools) = Tools::find() else { return };
    let scratch = Scratch::new();
    let fresh = scratch.join("fresh");
    tools.install(&fresh);

    let serve =
        |job, data| serve(&tools, job, &fresh, &scratch.join(data), |s, _, _| load(&tools, s));
    let natively = serve(native(&tools.server), "native");
    let watched = serve(check(&tools.server), "watched");
    assert_eq!(natively.answers, watched.answers);

    let run = watched.run;
    assert_eq!(natively.run.status.code(), Some(0), "{}", natively.run.stderr);
    assert_eq!(run.status.code(), Some(0), "SIGTERM shuts mariadbd down cleanly: {}", run.stderr);
    assert!(!run.stderr.contains("mysqld got signal"), "{}", run.stderr);
    assert_eq!(run.count("processes"), 1);
    assert_eq!(run.count("lost"), 0);
    assert!(run.count("threads") >= 10, "{:#}", run.report()["summary"]);
    assert!(run.count("locks") > 200, "{:#}", run.report()["summary"]);
    assert!(run.count("classes") > 30, "{:#}", run.report()["summary"]);
    assert!(run.count("dependencies") > 50, "{:#}", run.report()["summary"]);
    assert!(run.count("acquisitions") > 100_000, "{:#}", run.report()["summary"]);
    known::judge("mariadb", &run);
}

/// What is run, and its clients.
pub struct Tools {
    pub server: PathBuf,
    install: PathBuf,
    client: PathBuf,
    sysbench: PathBuf,
}

impl Tools {
    /// All of them, or none.
    pub fn find() -> Option<Self> {
        Some(Self {
            server: installed(&["mariadbd"], "mariadb-server")?,
            install: installed(&["mariadb-install-db"], "mariadb-server")?,
            client: installed(&["mariadb"], "mariadb-client")?,
            sysbench: installed(&["sysbench"], "sysbench")?,
        })
    }

    /// Fills a new data folder with the system tables; the user root has no password.
    pub fn install(&self, data: &Path) {
        let mut command = Command::new(&self.install);
        command.args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]);
        command.arg(format!("--datadir={}", data.display())).arg("--innodb-log-file-size=8M");
        command.args(user());
        // One server at a time may ask for all that a server asks for at its first start.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let out = command.output().expect("mariadb-install-db");
        let said = [out.stderr, out.stdout].concat();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&said));
    }

    /// Runs SQL; the answers as tab-separated text.
    pub fn sql(&self, socket: &Path, sql: &str) -> String {
        let mut command = self.client(socket);
        command.args(["--batch", "--execute", sql]);
        let out = run(command);
        assert!(out.status.success(), "{sql}: {}", out.stderr);
        out.text()
    }

    fn client(&self, socket: &Path) -> Command {
        let mut command = Command::new(&self.client);
        command.args(["--no-defaults", "--user=root", "--protocol=socket"]);
        command.arg(format!("--socket={}", socket.display()));
        command
    }

    /// Runs one of sysbench's scripts.
    pub fn sysbench(&self, socket: &Path, script: &str, arguments: &[&str]) {
        let mut command = Command::new(&self.sysbench);
        command.arg(script).arg(format!("--mysql-socket={}", socket.display()));
        command.args(["--mysql-user=root", "--mysql-db=bank", "--tables=2", "--table-size=2000"]);
        command.args(arguments);
        let out = run(command);
        assert!(out.status.success(), "{}{}", out.text(), out.stderr);
    }
}

/// mariadbd refuses to run as root unless told to.
fn user() -> Option<&'static str> {
    // SAFETY: it takes no argument and touches no memory of ours.
    (unsafe { libc::geteuid() } == 0).then_some("--user=root")
}

/// What came of a server's life.
pub struct Served {
    pub answers: String,
    pub run: Run,
}

/// Starts the server on a copy of the data, has `load` use it by its socket (`load` gets the
/// process id too), and shuts it down.
pub fn serve(
    tools: &Tools,
    job: Job,
    fresh: &Path,
    data: &Path,
    load: impl FnOnce(&Path, &Running, u32) -> String,
) -> Served {
    let copied = Command::new("cp").arg("-a").arg(fresh).arg(data).status().expect("cp");
    assert!(copied.success());
    // A socket's path has room for 107 bytes only.
    let sockets = tempdir();
    let socket = sockets.path().join("s");
    let pid_file = sockets.path().join("pid");
    let job = job
        .args(["--no-defaults", "--skip-networking", "--innodb-log-file-size=8M"])
        .args(["--innodb-buffer-pool-size=64M", "--skip-log-bin", "--performance-schema=OFF"])
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--pid-file={}", pid_file.display()))
        .args(user());
    let mut running = job.spawn();
    until("mariadbd to answer", || {
        assert!(running.is_running(), "mariadbd ended: {}", running.stderr());
        let mut ping = tools.client(&socket);
        ping.args(["--execute", "SELECT 1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        (socket.exists() && ping.status().is_ok_and(|s| s.success())).then_some(())
    });

    let pid =
        fs::read_to_string(&pid_file).expect("pid file").trim().parse().expect("a process id");
    let answers = load(&socket, &running, pid);
    signal(pid, libc::SIGTERM);
    Served { answers, run: running.wait() }
}

/// Makes the accounts and the journal of the transfers.
pub fn create(tools: &Tools, socket: &Path) {
    tools.sql(
        socket,
        &format!(
            "CREATE DATABASE bank; USE bank;
             CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL) ENGINE=InnoDB;
             CREATE TABLE journal (id INT AUTO_INCREMENT PRIMARY KEY, client INT, round INT, note TEXT,
                                   UNIQUE (client, round)) ENGINE=InnoDB;
             INSERT INTO account SELECT seq, {BALANCE} FROM seq_1_to_{ACCOUNTS};"
        ),
    );
}

/// Clients at once, each with its script; their answers.
pub fn at_once(tools: &Tools, socket: &Path, scripts: &[String]) -> Vec<String> {
    std::thread::scope(|scope| {
        let clients: Vec<_> = scripts
            .iter()
            .map(|script| scope.spawn(move || tools.sql(socket, &format!("USE bank; {script}"))))
            .collect();
        clients.into_iter().map(|client| client.join().expect("client")).collect()
    })
}

/// Clients at once, whose outcome does not depend on their order; then a standard load whose
/// does.
fn load(tools: &Tools, socket: &Path) -> String {
    create(tools, socket);
    let scripts: Vec<String> = (0..CLIENTS).map(|client| script(client, 0..TRANSFERS)).collect();
    let answers = at_once(tools, socket, &scripts);

    let threads = format!("--threads={CLIENTS}");
    let script = "oltp_read_write";
    tools.sysbench(socket, script, &["prepare"]);
    tools.sysbench(
        socket,
        script,
        &[&threads, "--events=600", "--time=0", "--mysql-ignore-errors=all", "run"],
    );

    let mut out = answers.concat();
    out += &tools.sql(
        socket,
        "USE bank; CHECKSUM TABLE account; SELECT SUM(balance), COUNT(*) FROM account;
         SELECT client, COUNT(*), MD5(GROUP_CONCAT(round, note ORDER BY round)) FROM journal GROUP BY client;
         SELECT COUNT(*) FROM sbtest1; CHECK TABLE account, journal, sbtest1, sbtest2;",
    );
    out
}

/// A transfer of one client: from which account to which, and how much.
pub fn transfer(client: usize, round: usize) -> (usize, usize, usize) {
    let from = 1 + (client * 37 + round * 11) % (ACCOUNTS - 1);
    let to = from + 1 + (round * 13 + client) % (ACCOUNTS - from);
    (from, to, 1 + (client + round) % 9)
}

/// The transfers of one client: sums commute, so the balances do not depend on the schedule. Rows
/// are locked in ascending order, so InnoDB has no deadlock of its own to resolve.
pub fn script(client: usize, rounds: Range<usize>) -> String {
    let mut sql = String::from("SET SESSION group_concat_max_len = 1000000;");
    for round in rounds {
        let (from, to, amount) = transfer(client, round);
        let _ = write!(
            sql,
            "BEGIN; UPDATE account SET balance = balance - {amount} WHERE id = {from};
             UPDATE account SET balance = balance + {amount} WHERE id = {to};
             INSERT INTO journal (client, round, note) VALUES ({client}, {round}, REPEAT('{client}', {round} MOD 250));
             COMMIT;"
        );
        if round % 50 == 49 {
            let _ = write!(
                sql,
                "SELECT COUNT(*), SUM(LENGTH(note)) FROM journal WHERE client = {client};
                 SELECT COUNT(*) FROM account a JOIN account b ON a.id = b.id + 1;"
            );
        }
    }
    sql
}

/// A short path for sockets, gone with the value.
fn tempdir() -> ShortDir {
    let path = PathBuf::from(format!(
        "/tmp/lw-e2e-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let path = PathBuf::from(path.to_string_lossy().replace(['(', ')'], ""));
    fs::create_dir_all(&path).expect("folder for sockets");
    ShortDir(path)
}

struct ShortDir(PathBuf);

impl ShortDir {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ShortDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
