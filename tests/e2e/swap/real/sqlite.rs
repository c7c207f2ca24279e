//! SQLite: threads that share connections to one database.

use super::Arm;
use crate::harness::{Scratch, build};

pub fn work(arm: &Arm) {
    let program = build("swap_sqlite.c", &["-lsqlite3"]);
    let rounds = arm.rounds(|_| {
        let scratch = Scratch::new();
        let job = arm.other(&program).arg(scratch.join("database"));
        let run = job.args(arm.loses.then_some("loses")).run();
        arm.ended(&run);
        let all = "0 balances are wrong\n1200 of 1200 notes\nintegrity: ok\n";
        assert_eq!(run.text(), all, "{}", run.stderr);
    });
    eprintln!("sqlite on {:?}: {rounds} rounds", arm.lock);
}
