//! Whether a circle could be reached if the threads had done no more than they must to come to it.
//!
//! A thread that has taken and released a lock on its way may have had no need to: in another run it
//! takes another branch. So of each thread in the circle only what it holds there is kept, with the
//! threads it created and joined on the way; of a thread that comes between as a writer likewise; of
//! all others nothing but creations and joins. What is out of reach even so is ruled out by what was
//! held, who did it, and who began and ended when: the grades rest on nothing else.

use crate::program::{How, Op, Run, Step};
use crate::search::{Circle, Search};

/// Whether threads can come to wait in this circle.
pub fn can_reach(run: &Run, circle: &Circle) -> bool {
    let mut choices: Vec<Vec<Vec<Step>>> = Vec::new();
    for thread in 0..run.threads.len() {
        choices.push(match circle.iter().find(|wait| wait.0 == thread) {
            Some(&(_, lock)) => ways_to(run, thread, |of, _| of == lock),
            None => {
                let is_wanted = |of| circle.iter().any(|wait| wait.1 == of);
                let mut ways = ways_to(run, thread, |of, read| !read && is_wanted(of));
                ways.push(bare(&run.threads[thread]));
                ways
            }
        });
    }
    let mut at = vec![0; choices.len()];
    if choices.iter().any(Vec::is_empty) {
        return false;
    }
    loop {
        let threads = at.iter().zip(&choices).map(|(&i, ways)| ways[i].clone()).collect();
        let relaxed = Run { locks: run.locks.clone(), threads, order: Vec::new() };
        let search = Search::new(&relaxed).expect("fewer steps make no less sense");
        if search.circles().contains_key(circle) {
            return true;
        }
        let Some(next) = (0..at.len()).find(|&i| at[i] + 1 < choices[i].len()) else {
            return false;
        };
        at[next] += 1;
        at[..next].fill(0);
    }
}

fn is_order(op: Op) -> bool {
    matches!(op, Op::Create(_) | Op::Join(_))
}

fn bare(steps: &[Step]) -> Vec<Step> {
    steps.iter().copied().filter(|step| is_order(step.op)).collect()
}

/// The ways of a thread to each of its waits for a lock that `is_wanted`: what it holds there, the
/// wait, and nothing after it.
fn ways_to(run: &Run, thread: usize, is_wanted: impl Fn(usize, bool) -> bool) -> Vec<Vec<Step>> {
    let steps = &run.threads[thread];
    let mut ways = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let waits = match step.op {
            Op::Acquire { lock, how, read, .. } => how != How::Try && is_wanted(lock, read),
            Op::WaitEnd { lock, .. } => is_wanted(lock, false),
            _ => false,
        };
        if !waits {
            continue;
        }
        let ends: Vec<usize> = steps[..at].iter().filter_map(|step| end_of(step.op)).collect();
        let is_open = |op: Op| match op {
            // What a condition wait has given up is done with, too.
            Op::Acquire { lock, id, .. } => {
                let given_up = matches!(step.op, Op::WaitEnd { lock: up, .. } if up == lock);
                !given_up && !ends.contains(&id)
            }
            Op::Create(_) | Op::Join(_) => true,
            Op::Release { .. } | Op::WaitBegin { .. } | Op::WaitEnd { .. } => false,
        };
        let mut way: Vec<Step> =
            steps[..at].iter().copied().filter(|step| is_open(step.op)).collect();
        way.push(*step);
        ways.push(way);
    }
    ways
}

fn end_of(op: Op) -> Option<usize> {
    match op {
        Op::Release { id, .. } => Some(id),
        _ => None,
    }
}
