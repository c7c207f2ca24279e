//! MariaDB servers side by side, one for each arm, and sysbench as their client.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::arm::{Arm, Bench, installed, said};
use super::fresh_folder::fresh_folder;
use super::server;
use super::usage::Used;

/// All of them; ended when dropped.
pub struct Servers {
    servers: Vec<(Arm, Server)>,
    sysbench: PathBuf,
    folder: PathBuf,
}

struct Server {
    child: Child,
    socket: PathBuf,
    pid_file: PathBuf,
}

impl Servers {
    /// Installs, fills and starts one for each of `arms`.
    pub fn start(bench: &Bench, arms: &[Arm]) -> Result<Self, String> {
        let sysbench = installed("sysbench", "sysbench")?;
        let server = installed("mariadbd", "mariadb-server")?;
        let install = installed("mariadb-install-db", "mariadb-server")?;
        let client = installed("mariadb", "mariadb-client")?;

        // A socket's path has room for 107 bytes only, so not below the work folder.
        let folder = fresh_folder(
            std::env::temp_dir().join(format!("lockwright-bench-{}", std::process::id())),
        )?;
        let mut servers = Self { servers: Vec::new(), sysbench, folder };
        let installed = servers.folder.join("installed");
        said(
            Command::new(&install)
                .args([
                    "--no-defaults",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                ])
                .arg(format!("--datadir={}", installed.display()))
                .arg("--user=root"),
        )?;
        for (i, &arm) in arms.iter().enumerate() {
            let home = servers.folder.join(i.to_string());
            said(Command::new("cp").arg("-a").args([&installed, &home]))?;
            let started = Server::start(bench.command(arm, &server), &home)?;
            started.await_answer(&client)?;
            servers.servers.push((arm, started));
            said(&mut servers.client(arm, "oltp_read_write", &["prepare"])?)?;
        }
        Ok(servers)
    }

    /// What the server has used until now.
    pub fn used(&self, arm: Arm) -> Result<Used, String> {
        let server = self.servers.iter().find(|(of, _)| *of == arm).map(|(_, server)| server);
        Used::of(server.and_then(Server::pid).ok_or("no such server")?)
    }

    fn client(&self, arm: Arm, script: &str, arguments: &[&str]) -> Result<Command, String> {
        let (_, server) =
            self.servers.iter().find(|(of, _)| *of == arm).ok_or("not run in this arm")?;
        let mut command = Command::new(&self.sysbench);
        command.arg(script).arg(format!("--mysql-socket={}", server.socket.display()));
        command.args(["--mysql-user=root", "--mysql-db=bench", "--tables=4", "--table-size=5000"]);
        command.args(["--mysql-ignore-errors=all", "--rand-seed=1"]).args(arguments);
        Ok(command)
    }

    /// Seconds that `events` transactions took.
    pub fn sysbench(&self, arm: Arm, script: &str, events: u32) -> Result<f64, String> {
        let events = format!("--events={events}");
        let text =
            said(&mut self.client(arm, script, &["--threads=4", "--time=0", &events, "run"])?)?;
        text.lines()
            .find_map(|line| {
                line.trim().strip_prefix("total time:")?.trim().strip_suffix('s')?.parse().ok()
            })
            .ok_or(text)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (_, server) in &mut self.servers {
            server::end(server.pid(), &mut server.child);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    fn start(mut command: Command, home: &Path) -> Result<Self, String> {
        let socket = home.with_extension("s");
        let pid_file = home.with_extension("pid");
        command
            .args(["--no-defaults", "--skip-networking", "--skip-log-bin", "--user=root"])
            .args(["--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=0"])
            .args(["--performance-schema=OFF", "--init-file"])
            .arg(init_file(home)?)
            .arg(format!("--datadir={}", home.display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--pid-file={}", pid_file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        Ok(Self { child, socket, pid_file })
    }

    fn await_answer(&self, client: &Path) -> Result<(), String> {
        let answers = server::until(|| {
            let mut ask = Command::new(client);
            ask.args(["--no-defaults", "--user=root", "--execute=SELECT 1", "bench"]);
            ask.arg(format!("--socket={}", self.socket.display()));
            said(&mut ask).is_ok()
        });
        match answers {
            true => Ok(()),
            false => Err(format!("mariadbd at {} does not answer", self.socket.display())),
        }
    }

    /// Its process id, as it says itself: under the tool that is not our child.
    fn pid(&self) -> Option<u32> {
        std::fs::read_to_string(&self.pid_file).ok()?.trim().parse().ok()
    }
}

fn init_file(home: &Path) -> Result<PathBuf, String> {
    let file = home.with_extension("sql");
    std::fs::write(&file, "CREATE DATABASE IF NOT EXISTS bench;\n")
        .map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}
