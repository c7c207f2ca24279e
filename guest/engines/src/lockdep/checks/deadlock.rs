//! Records a deadlock.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::rows::{Finding, Step, finding_kind, mode};

use super::cycle::Cycle;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::Wait;

/// Records a deadlock: `cycle[i]` waits for a lock that `cycle[i + 1]` holds (the last one's
/// is held by the first). Returns false if it was recorded before.
pub(crate) fn record(recorder: &mut Recorder, cycle: &Cycle, now_ns: u64) -> bool {
    let cycle = cycle.threads();
    let Some(&first) = cycle.first() else { return false };
    if is_recorded(recorder, cycle) {
        return false;
    }
    let first_step = recorder.writer.len_of::<Step>().max(1);
    for (i, &id) in cycle.iter().enumerate() {
        let Some(thread) = recorder.thread(id) else { return false };
        let wait = thread.wait();
        let before = cycle[(i + cycle.len() - 1) % cycle.len()];
        let wanted_addr = recorder.thread(before).map_or(0, |before| before.wait().addr);
        let (held, wanted) = recorder.place_foreign(thread, wanted_addr);
        let (class, inst) = lock_of(&wait);
        let step = Step {
            thread: id,
            addr: wait.addr,
            class,
            inst,
            mode: wait.mode.into(),
            stack: recorder.stack_of(wait.node),
            held,
            wanted,
            wait_seq: wait.seq,
            ..Step::default()
        };
        if recorder.writer.push(step).is_none() {
            return false;
        }
    }
    let Some(thread) = recorder.thread(first) else { return false };
    let wait = thread.wait();
    let kind = match cycle.len() {
        1 => finding_kind::SELF_DEADLOCK,
        _ => finding_kind::DEADLOCK,
    };
    let (class, inst) = lock_of(&wait);
    let finding = Finding {
        kind,
        mode: wait.mode,
        thread: first,
        // Relaxed: threads change segments with the core's lock held.
        segment: thread.segment().load(Relaxed),
        addr: wait.addr,
        class,
        inst,
        stack: recorder.stack_of(wait.node),
        node: recorder.writer.get::<Step>(first_step).map_or(0, |step| step.held),
        first_step,
        steps: cycle.len() as u32,
        time_ns: now_ns,
        ..Finding::default()
    };
    if recorder.writer.push(finding).is_none() {
        return false;
    }
    // Release: a reader that sees the count finds the rows.
    recorder.writer.header().deadlocks.fetch_add(1, Release);
    true
}

fn is_recorded(recorder: &Recorder, cycle: &[u32]) -> bool {
    (1..recorder.writer.len_of::<Finding>()).any(|id| {
        recorder.writer.get::<Finding>(id).is_some_and(|finding| {
            matches!(finding.kind, finding_kind::DEADLOCK | finding_kind::SELF_DEADLOCK)
                && finding.steps as usize == cycle.len()
                && (finding.first_step..finding.first_step + finding.steps).all(|step| {
                    recorder.writer.get::<Step>(step).is_some_and(|step| {
                        cycle.contains(&step.thread)
                            && recorder.thread(step.thread).is_some_and(|thread| {
                                let wait = thread.wait();
                                wait.addr == step.addr && wait.seq == step.wait_seq
                            })
                    })
                })
        })
    })
}

/// Class and instance of what the thread waits for; none of a barrier.
fn lock_of(wait: &Wait) -> (u32, u32) {
    match wait.mode & mode::BARRIER {
        0 => (wait.class, wait.inst),
        _ => (0, 0),
    }
}
