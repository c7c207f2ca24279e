//! What lockdep and debugobjects have found, in a moment.

use super::moment::{Finding, Moment, Process, Thread, Wait};
use super::places::Places;
use crate::prose::action::act;
use crate::prose::told;
use crate::prose::words::{Level, command, level, plain, quote};
use crate::text::OneByOne;
use crate::text::stack::shorten;
use crate::verdict::Judged;
use lockwright_analysis::finding::{self, Grade, Waiting, WaitsFor};
use lockwright_analysis::process_end::ProcessEnd;

/// Columns of a finding's text.
const WIDTH: usize = 100;

/// Adds the findings that count, with those merely counted left out unless `all` are wanted; and the processes, if the moment
/// has none. Threads that are in a deadlock are marked, so their waits have to be there.
pub fn add_findings(moment: &mut Moment, judged: &Judged<'_>, all: bool) {
    let report = judged.report;
    moment.is_checked = true;
    let texts = OneByOne::new(report, WIDTH);
    let shown = judged.counted().filter(|finding| all || !finding.grade.is_counted_only());
    for finding in shown {
        let text = texts.text(finding);
        moment.findings.push(Finding {
            pid: finding.pid,
            kind: finding.kind.name().to_owned(),
            grade: finding.grade.name().to_owned(),
            is_error: level(finding.grade) == Level::Error,
            title: plain(&told(finding).title),
            text: text.lines().map(plain).collect(),
        });
    }
    if moment.processes.is_empty() {
        moment.processes = report.processes.iter().map(process).collect();
    }
    for finding in report.findings.iter().filter(|it| it.grade == Grade::Deadlocked) {
        for step in &finding.steps {
            let is_it =
                |thread: &&mut Thread| (thread.pid, thread.tid) == (finding.pid, step.thread.tid);
            if let Some(thread) = moment.threads.iter_mut().find(is_it) {
                thread.is_deadlocked = thread.wait.as_ref().is_some_and(|it| it.is_for_thread);
            }
        }
    }
}

fn process(process: &finding::Process) -> Process {
    Process {
        pid: process.pid,
        command: plain(&command(&process.exe, &process.command)),
        runs: process.end == ProcessEnd::Running || process.end == ProcessEnd::Unknown,
        elapsed_ns: 0,
        locks: process.locks,
    }
}

/// Adds waits that lockdep knows to their threads, unless lockmeter knows them, too, which has their times.
pub fn add_waits(moment: &mut Moment, waits: &[Waiting], places: &Places) {
    waits.iter().for_each(|waiting| add_wait(moment, waiting, places));
}

fn add_wait(moment: &mut Moment, waiting: &Waiting, places: &Places) {
    let tid = waiting.thread.tid;
    let known = moment.threads.iter().position(|it| (it.pid, it.tid) == (waiting.pid, tid));
    let at = known.unwrap_or_else(|| {
        moment.threads.push(Thread { pid: waiting.pid, tid, ..Thread::default() });
        moment.threads.len() - 1
    });
    let thread = &mut moment.threads[at];
    if thread.name.is_empty() {
        thread.name = plain(&waiting.thread.name);
    }
    let joined = waiting.joined.as_ref().map(|joined| joined.tid);
    let holders = waiting.holders.iter().map(|holder| holder.thread.tid).chain(joined);
    let holders: Vec<u32> = holders.filter(|&tid| tid != 0).collect();
    let is_for_thread = matches!(waiting.kind, WaitsFor::Lock | WaitsFor::Thread);
    match &mut thread.wait {
        // The two are read one after the other: it may be in another wait by now.
        Some(wait) if wait.is_for_thread == is_for_thread => {
            wait.is_timed = waiting.timed;
            if wait.holders.is_empty() {
                wait.holders = holders;
            }
        }
        Some(_) => {}
        None => {
            thread.wait = Some(Wait {
                what: what(waiting),
                lock: String::new(),
                is_for_thread,
                for_ns: None,
                is_timed: waiting.timed,
                place: places.place(&waiting.stack),
                holders,
            });
        }
    }
}

fn what(waiting: &Waiting) -> String {
    let name = match (&waiting.lock, &waiting.joined) {
        (Some(lock), _) => shorten(&plain(&quote(&lock.name))),
        (None, Some(joined)) => plain(&joined.to_string()),
        (None, None) => "a futex".to_owned(),
    };
    act(waiting.action, &name)
}
