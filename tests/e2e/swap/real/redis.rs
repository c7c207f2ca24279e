//! redis: connections read and written by several threads, lists freed by another, snapshots
//! written by forked children.

use std::path::Path;

use super::Arm;
use crate::harness::{Scratch, until};
use crate::programs::servers::{client, serve_redis};

/// Commands of each sort in a round.
const COMMANDS: usize = 5000;

pub fn work(arm: &Arm) {
    let scratch = Scratch::new();
    let served = serve_redis(arm.job(), &scratch, "4", |socket| load(socket, arm));
    eprintln!("redis on {:?}: {}", arm.lock, served.results);
    arm.ended(&served.run);
}

fn load(socket: &Path, arm: &Arm) -> String {
    let ask = |question: &[&str]| client("redis-cli", socket, question).trim().to_owned();
    let commands = COMMANDS.to_string();
    let rounds = arm.rounds(|round| {
        let tests = ["-c", "40", "-P", "8", "-q", "-t", "incr,lpush,sadd,hset,spop"];
        let begun = ask(&["LASTSAVE"]);
        assert!(ask(&["BGSAVE"]).starts_with("Background saving"), "after {begun}");
        client("redis-benchmark", socket, &[&["-n", &commands], &tests[..]].concat());
        if arm.loses {
            ask(&["DECR", "counter:__rand_int__"]);
        }
        let counted = ask(&["GET", "counter:__rand_int__"]);
        let expected = (round + 1) * COMMANDS;
        assert_eq!(counted, expected.to_string(), "round {round}: what all have counted together");
        assert_eq!(ask(&["LLEN", "mylist"]), commands, "round {round}: the list");
        assert_eq!(ask(&["HLEN", "myhash"]), "1", "round {round}: the hash");
        // Freed by another thread.
        assert_eq!(ask(&["UNLINK", "mylist"]), "1", "round {round}: the list was there");
        until("the snapshot to be written", || {
            let state = ask(&["INFO", "persistence"]);
            let done = state.contains("rdb_bgsave_in_progress:0");
            assert!(!done || state.contains("rdb_last_bgsave_status:ok"), "{state}");
            done.then_some(())
        });
    });
    format!("{rounds} rounds of 5 times {COMMANDS} commands")
}
