//! Sleeping locks inside spinning ones, by the run itself: for each acquisition that may wait for a
//! lock that sleeps, the outermost spinlock that the thread holds then.

use std::collections::BTreeSet;

use crate::program::{How, Kind, Op, Run};

/// Classes, of what sleeps and of what spins.
pub fn sleeps(run: &Run) -> BTreeSet<(String, String)> {
    let class = |lock: usize| run.locks[lock].class().to_owned();
    run.threads
        .iter()
        .flat_map(|steps| {
            let mut held: Vec<usize> = Vec::new();
            steps.iter().filter_map(move |step| {
                let mut found = None;
                match step.op {
                    Op::Acquire { lock, how, .. } => {
                        // A thread takes a recursive mutex that it holds at once.
                        let kind = run.locks[lock].kind;
                        let is_had = kind == Kind::Recursive && held.contains(&lock);
                        let sleeps = kind != Kind::Spin && how != How::Try && !is_had;
                        let spins = |&&held: &&usize| run.locks[held].kind == Kind::Spin;
                        found = held.iter().find(spins).filter(|_| sleeps).map(|&s| (lock, s));
                        held.push(lock);
                    }
                    Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. } => held.push(lock),
                    Op::Release { lock, .. }
                    | Op::WaitBegin { lock, .. }
                    | Op::SleepBegin { lock, .. } => {
                        let at = held.iter().rposition(|&held| held == lock).expect("it is held");
                        held.remove(at);
                    }
                    _ => {}
                }
                found
            })
        })
        .map(|(lock, spin)| (class(lock), class(spin)))
        .collect()
}
