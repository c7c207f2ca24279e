//! The same for machines.

use serde_json::{Value, json};

use super::words::{holder, kind_name, object};
use super::{Attached, SharedWait};
use lockwright_analysis::attached::{Holder, State, Thread, Verdict, Wait};
use lockwright_console::plain;

/// Raised when a field changes its meaning or goes.
const VERSION: u32 = 1;

/// The document.
pub fn render(attached: &Attached) -> String {
    let threads: Vec<Value> = attached.threads.iter().map(thread).collect();
    let elsewhere: Vec<Value> = attached
        .elsewhere
        .iter()
        .map(|(pid, one)| json!({ "pid": pid, "thread": thread(one) }))
        .collect();
    let shared: Vec<Value> = attached.shared.iter().map(shared_wait).collect();
    let verdicts: Vec<Value> = attached.verdicts.iter().map(verdict).collect();
    let document = json!({
        "schema": "lockwright-attached",
        "version": VERSION,
        "pid": attached.pid,
        "exe": attached.exe,
        "watched_ms": attached.watched_ms,
        "verdicts": verdicts,
        "threads": threads,
        "elsewhere": elsewhere,
        "shared_waits": shared,
    });
    plain::json_text(&document)
}

fn shared_wait(wait: &SharedWait) -> Value {
    let others: Vec<Value> = wait
        .others
        .iter()
        .map(|it| json!({ "pid": it.pid, "name": it.name, "waits": it.waits }))
        .collect();
    json!({ "tid": wait.tid, "others": others })
}

fn verdict(verdict: &Verdict) -> Value {
    let certain = verdict.is_certain();
    match verdict {
        Verdict::Cycle { tids, is_timed, behind } => json!({
            "kind": "cycle", "certain": certain, "threads": tids, "timed": is_timed,
            "behind": behind,
        }),
        Verdict::LeftLocked { tid, owner } => json!({
            "kind": "left-locked", "certain": certain, "threads": [tid], "owner": owner,
        }),
        Verdict::AllWait { handlers } => json!({
            "kind": "all-wait", "certain": certain, "handled_signals": handlers,
        }),
    }
}

fn thread(thread: &Thread) -> Value {
    let (state, call, of_wait) = match &thread.state {
        State::Runs => ("runs", None, None),
        State::Stopped(of_wait) => ("stopped", None, of_wait.as_ref().map(wait)),
        State::Uninterruptible(call) => ("uninterruptible", Some(*call), None),
        State::Waits(of_wait) => ("waits", None, Some(wait(of_wait))),
        State::SleepsForATime(call) => ("sleeps-for-a-time", Some(*call), None),
        State::Sleeps(call) => ("sleeps", Some(*call), None),
    };
    json!({
        "tid": thread.tid,
        "name": thread.name,
        "state": state,
        "call": call,
        "wait": of_wait,
        "stack": thread.stack,
    })
}

fn wait(wait: &Wait) -> Value {
    let (known, tid) = match wait.holder {
        Holder::Thread(tid) => ("thread", Some(tid)),
        Holder::Ended(tid) => ("ended", Some(tid)),
        Holder::Elsewhere(tid) => ("another-process", Some(tid)),
        Holder::Readers(_) => ("readers", None),
        Holder::Nobody => ("nobody", None),
        Holder::NotRecorded => ("not-recorded", None),
        Holder::NoLock => ("no-lock", None),
    };
    json!({
        "kind": kind_name(wait.kind),
        "what": object(wait),
        "lock": wait.name.as_ref().map(|name| &name.text),
        "address": wait.object,
        "futex": wait.futex.address,
        "timed": wait.futex.is_timed,
        "shared": wait.is_shared,
        "holder": { "known": known, "tid": tid, "what": holder(wait) },
    })
}
