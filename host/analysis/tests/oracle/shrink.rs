//! Makes a failing run small: takes out whatever it fails without.

use crate::generate::without;
use crate::program::{How, Op, Run};
use crate::search::is_possible;

/// The smallest run that can be reached by leaving things out, of which `fails` still says so.
pub fn shrink(mut run: Run, fails: impl Fn(&Run) -> bool) -> Run {
    loop {
        let smaller = candidates(&run).into_iter().find(|run| is_possible(run) && fails(run));
        match smaller {
            Some(smaller) => run = smaller,
            None => return run,
        }
    }
}

fn candidates(run: &Run) -> Vec<Run> {
    let steps = || run.threads.iter().flatten().map(|step| step.op);
    let threads = (0..run.threads.len()).filter(|&t| !run.threads[t].is_empty());
    let without_thread = threads.map(|thread| {
        let mut smaller = take_out(run, |of, op| {
            of == thread || op == Op::Create(thread) || op == Op::Join(thread)
        });
        // The thread that it created begins by itself.
        smaller.threads[thread].clear();
        smaller
    });
    let ids = steps().filter_map(|op| match op {
        Op::Acquire { id, .. } | Op::WaitBegin { id, .. } | Op::SleepBegin { id, .. } => Some(id),
        _ => None,
    });
    let without_lock = ids.filter_map(|id| without(run, id));
    let without_order = steps().filter_map(|what| match what {
        Op::Create(new) => {
            Some(take_out(run, |_, op| op == Op::Create(new) || op == Op::Join(new)))
        }
        Op::Await(semaphore) => {
            Some(take_out(run, |_, op| op == what || op == Op::AwaitBegin(semaphore)))
        }
        Op::OnceBegin { id, .. } => without(run, id),
        Op::Join(_) | Op::Post(_) | Op::Signal(_) | Op::OnceCall { .. } => {
            Some(take_out(run, |_, op| op == what))
        }
        Op::Arrive(k) => Some(take_out(run, |_, op| op == Op::Arrive(k) || op == Op::Pass(k))),
        _ => None,
    });
    let plain = steps().filter_map(|what| match what {
        Op::Acquire { lock, how, read, id } if how != How::Wait || read => {
            let plain = Op::Acquire { lock, how: How::Wait, read: read && how != How::Wait, id };
            let mut simpler = run.clone();
            let step = simpler.threads.iter_mut().flatten().find(|step| step.op == what)?;
            step.op = plain;
            Some(simpler)
        }
        _ => None,
    });
    let without_sites = run.threads.iter().flatten().any(|step| step.site.is_some()).then(|| {
        let mut simpler = run.clone();
        simpler.threads.iter_mut().flatten().for_each(|step| step.site = None);
        simpler
    });
    without_thread
        .chain(without_lock)
        .chain(without_order)
        .chain(plain)
        .chain(without_sites)
        .collect()
}

/// The run without some steps of threads.
fn take_out(run: &Run, is_out: impl Fn(usize, Op) -> bool) -> Run {
    let mut smaller = Run { locks: run.locks.clone(), threads: Vec::new(), order: Vec::new() };
    smaller.threads.resize_with(run.threads.len(), Vec::new);
    let mut at = vec![0; run.threads.len()];
    for &thread in &run.order {
        let step = run.threads[thread][at[thread]];
        at[thread] += 1;
        if !is_out(thread, step.op) {
            smaller.threads[thread].push(step);
            smaller.order.push(thread);
        }
    }
    smaller
}
