//! memcached: clients that read back what they have written, and count together.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Arm;
use crate::harness::{installed, native, signal, until};
use crate::programs::memcached::{Server, serve, transcripts};

pub fn work(arm: &Arm) {
    // What the same clients hear of a server on the C library's locks.
    let natively = serve(native(&arm.executable), |server| heard(server, false)).came_of_it;
    let served = serve(arm.job(), |server| {
        arm.rounds(|round| {
            let (each, counter) = heard(server, arm.loses);
            assert!(each == natively.0, "round {round}: a client has heard something else");
            assert_eq!(
                counter, natively.1,
                "round {round}: what all clients have counted together"
            );
            assert_eq!(server.connect().ask("flush_all"), "OK");
        })
    });
    eprintln!("memcached on {:?}: {} rounds", arm.lock, served.came_of_it);
    arm.ended(&served.run);
}

/// What each client has heard, and what they have counted together.
fn heard(server: &Server, loses: bool) -> (Vec<String>, String) {
    let each = transcripts(server);
    let mut client = server.connect();
    if loses {
        client.ask("decr shared 1");
    }
    (each, client.get("shared"))
}

#[test]
fn a_server_that_hangs_is_noticed() {
    let Some(memcached) = installed(&["memcached"], "memcached") else { return };
    serve(native(memcached), |server| {
        let mut client = server.connect();
        client.ask("add key 0 0 1\r\n0");
        signal(server.pid, libc::SIGSTOP);
        until("all of it to stand still", || all_are_stopped(server.pid).then_some(()));
        client.wait_for(Duration::from_millis(1));
        let asked = catch_unwind(AssertUnwindSafe(|| client.get("key")));
        signal(server.pid, libc::SIGCONT);
        let said = asked.expect_err("nobody answers");
        let said = said.downcast_ref::<String>().expect("why");
        assert!(said.contains("memcached answers"), "{said}");
    });
}

/// Whether each thread of a process is stopped.
fn all_are_stopped(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it is there");
    let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat"));
    tasks.flatten().all(|task| stat(task).is_ok_and(|stat| stat.contains(") T ")))
}
