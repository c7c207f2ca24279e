//! memcached servers side by side, one for each arm, and their clients.
//!
//! A client sends its commands in batches and reads the answers to a whole batch: what is measured
//! is the server at work, not how long packets are on their way.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::arm::{Arm, Bench, installed};
use super::server;
use super::usage::Used;

/// Clients at once, as many as the server has worker threads.
const CLIENTS: usize = 4;

/// Commands in a batch.
const BATCH: usize = 64;

/// Keys that a client uses: few enough that they stay in caches, so that locks are what is left.
const KEYS: usize = 500;

/// All of them; ended when dropped.
pub struct Servers {
    servers: Vec<(Arm, Server)>,
}

struct Server {
    child: Child,
    port: u16,
}

impl Servers {
    /// Starts one for each of `arms`.
    pub fn start(bench: &Bench, arms: &[Arm]) -> Result<Self, String> {
        let program = installed("memcached", "memcached")?;
        let mut servers = Self { servers: Vec::new() };
        for &arm in arms {
            let mut command = bench.command(arm, &program);
            if let Arm::Helgrind | Arm::Drd = arm {
                command = with_descriptors(&command);
            }
            let server = Server::start(command)?;
            servers.servers.push((arm, server));
            // The keys are there before the first measurement.
            servers.load(arm, KEYS.div_ceil(BATCH))?;
        }
        Ok(servers)
    }

    /// What the server has used until now.
    pub fn used(&self, arm: Arm) -> Result<Used, String> {
        let server = self.servers.iter().find(|(of, _)| *of == arm).map(|(_, server)| server);
        Used::of(server.and_then(Server::pid).ok_or("no such server")?)
    }

    /// Seconds that each client's `batches` took.
    pub fn load(&self, arm: Arm, batches: usize) -> Result<f64, String> {
        let (_, server) =
            self.servers.iter().find(|(of, _)| *of == arm).ok_or("not run in this arm")?;
        let port = server.port;
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|id| scope.spawn(move || client(port, id, batches))).collect();
            clients
                .into_iter()
                .try_for_each(|client| client.join().map_err(|_| "a client failed")?)
        })?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// memcached sets its limits of descriptors, of which it wants 1,024, both alike. Valgrind lets a
/// program set the hard one to nothing but what it has, which is Valgrind's own without the 12 that
/// it keeps for itself.
fn with_descriptors(valgrind: &Command) -> Command {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={0}:{0}", 1024 + 12));
    command.arg(valgrind.get_program()).args(valgrind.get_args());
    command
}

/// What one client does: nine of ten commands get, one sets.
fn client(port: u16, id: usize, batches: usize) -> Result<(), String> {
    let mut to = connect(port)?;
    let mut from = BufReader::new(to.try_clone().map_err(|e| e.to_string())?);
    let value = "x".repeat(100);
    let (mut commands, mut line) = (String::new(), String::new());
    for batch in 0..batches {
        commands.clear();
        for command in batch * BATCH..(batch + 1) * BATCH {
            let key = format!("client-{id}-{}", command % KEYS);
            commands += &match command % 10 {
                0 => format!("set {key} 0 0 {}\r\n{value}\r\n", value.len()),
                _ => format!("get {key}\r\n"),
            };
        }
        to.write_all(commands.as_bytes()).map_err(|e| e.to_string())?;
        let mut answered = 0;
        while answered < BATCH {
            line.clear();
            match from.read_line(&mut line) {
                Ok(1..) => {}
                ended => return Err(format!("memcached does not answer: {ended:?}")),
            }
            answered += usize::from(matches!(line.trim_end(), "END" | "STORED"));
        }
    }
    Ok(())
}

fn connect(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|e| e.to_string())?;
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    Ok(stream)
}

impl Server {
    fn start(mut command: Command) -> Result<Self, String> {
        // Nothing else listens there between the question and the use, or the server says so and
        // ends.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = free.local_addr().map_err(|e| e.to_string())?.port();
        drop(free);
        command
            .args(["-l", "127.0.0.1", "-U", "0", "-m", "64", "-u", "root", "-p", &port.to_string()])
            .args(["-t", &CLIENTS.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        let server = Self { child, port };
        if !server::until(|| connect(port).is_ok()) {
            return Err("memcached does not listen".to_owned());
        }
        Ok(server)
    }

    /// Its process id, as it says itself: under the tool that is not our child.
    fn pid(&self) -> Option<u32> {
        let mut to = connect(self.port).ok()?;
        to.write_all(b"stats\r\n").ok()?;
        let lines = BufReader::new(to).lines().map_while(Result::ok);
        lines
            .take_while(|line| line.trim_end() != "END")
            .find_map(|line| line.strip_prefix("STAT pid ")?.trim().parse().ok())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        server::end(self.pid(), &mut self.child);
    }
}
