//! Records a deadlock.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::rows::{Finding, Node, Step, finding_kind, mode};

use super::core::Core;
use super::thread::{ThreadRow, Wait};

impl Core {
    /// Records a deadlock: `cycle[i]` waits for a lock that `cycle[i + 1]` holds (the last one's
    /// is held by the first). Returns false if it was recorded before.
    pub(super) fn report_deadlock(&mut self, cycle: &[u32], now_ns: u64) -> bool {
        let Some(&first) = cycle.first() else { return false };
        if self.is_reported(cycle) {
            return false;
        }
        let first_step = self.writer.len_of::<Step>().max(1);
        for (i, &id) in cycle.iter().enumerate() {
            let Some(thread) = self.thread(id) else { return false };
            let wait = thread.wait();
            let before = cycle[(i + cycle.len() - 1) % cycle.len()];
            let wanted_addr = self.thread(before).map_or(0, |before| before.wait().addr);
            let (held, wanted) = self.place_foreign(thread, wanted_addr);
            let (class, inst) = lock_of(&wait);
            let step = Step {
                thread: id,
                addr: wait.addr,
                class,
                inst,
                mode: wait.mode.into(),
                stack: self.wait_stack(&wait),
                held,
                wanted,
                wait_seq: wait.seq,
                ..Step::default()
            };
            if self.writer.push(step).is_none() {
                return false;
            }
        }
        let Some(thread) = self.thread(first) else { return false };
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
            stack: self.wait_stack(&wait),
            node: self.writer.get::<Step>(first_step).map_or(0, |step| step.held),
            first_step,
            steps: cycle.len() as u32,
            time_ns: now_ns,
            ..Finding::default()
        };
        if self.writer.push(finding).is_none() {
            return false;
        }
        // Release: a reader that sees the count finds the rows.
        self.writer.header().deadlocks.fetch_add(1, Release);
        true
    }

    fn wait_stack(&self, wait: &Wait) -> u32 {
        self.writer.get::<Node>(wait.node).map_or(0, |node| node.stack)
    }

    fn is_reported(&self, cycle: &[u32]) -> bool {
        (1..self.writer.len_of::<Finding>()).any(|id| {
            self.writer.get::<Finding>(id).is_some_and(|finding| {
                matches!(finding.kind, finding_kind::DEADLOCK | finding_kind::SELF_DEADLOCK)
                    && finding.steps as usize == cycle.len()
                    && (finding.first_step..finding.first_step + finding.steps).all(|step| {
                        self.writer.get::<Step>(step).is_some_and(|step| {
                            cycle.contains(&step.thread)
                                && self.thread(step.thread).is_some_and(|thread| {
                                    let wait = thread.wait();
                                    wait.addr == step.addr && wait.seq == step.wait_seq
                                })
                        })
                    })
            })
        })
    }

    /// Contexts for what a waiting thread holds, without touching its state. Returns the innermost
    /// context and the one of the lock at `wanted_addr`.
    fn place_foreign(&mut self, thread: ThreadRow, wanted_addr: u64) -> (u32, u32) {
        let (mut parent, mut wanted) = (0, 0);
        // It waits, so the entries stand still.
        for (_, held) in thread.held() {
            if !held.is_held() {
                continue;
            }
            let node = self.place(parent, &held, 0, thread.segment().load(Relaxed));
            if node != 0 {
                parent = node;
                if held.addr == wanted_addr {
                    wanted = node;
                }
            }
        }
        (parent, wanted)
    }
}

/// Class and instance of what the thread waits for; none of a barrier.
fn lock_of(wait: &Wait) -> (u32, u32) {
    match wait.mode & mode::BARRIER {
        0 => (wait.class, wait.inst),
        _ => (0, 0),
    }
}
