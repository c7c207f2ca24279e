//! Waits that are not over, for machines.

use serde::Serialize;

use crate::prose::action::phrase;
use lockwright_analysis::finding::futex::FutexWait;
use lockwright_analysis::finding::{
    Frame, Holder, LockInfo, StuckSignaller, ThreadInfo, Waiting, WaitsFor,
};
use lockwright_analysis::under_way::LongWait;

/// A thread that was still waiting.
#[derive(Serialize)]
pub struct WaitingOut<'r> {
    pid: u32,
    process: usize,
    thread: &'r ThreadInfo,
    kind: WaitsFor,
    action: String,
    lock: Option<&'r LockInfo>,
    joined: Option<&'r ThreadInfo>,
    timed: bool,
    stack: &'r [Frame],
    holders: &'r [Holder],
    signallers: &'r [StuckSignaller],
    futex: Option<&'r FutexWait>,
}

impl<'r> WaitingOut<'r> {
    /// That of a report.
    pub fn new(waiting: &'r Waiting) -> Self {
        Self {
            pid: waiting.pid,
            process: waiting.process,
            thread: &waiting.thread,
            kind: waiting.kind,
            action: phrase(waiting.action),
            lock: waiting.lock.as_ref(),
            joined: waiting.joined.as_ref(),
            timed: waiting.timed,
            stack: &waiting.stack,
            holders: &waiting.holders,
            signallers: &waiting.signallers,
            futex: waiting.futex.as_ref(),
        }
    }
}

/// A wait that was seen to last long while the program ran. Its process may have gone since.
#[derive(Serialize)]
pub struct LongWaitOut<'r> {
    waited_ns: u64,
    seen_ns: u64,
    #[serde(flatten)]
    waiting: WaitingOut<'r>,
}

impl<'r> LongWaitOut<'r> {
    /// That of a run.
    pub fn new(wait: &'r LongWait) -> Self {
        let LongWait { waited_ns, seen_ns, ref waiting, .. } = *wait;
        Self { waited_ns, seen_ns, waiting: WaitingOut::new(waiting) }
    }
}
