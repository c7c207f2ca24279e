//! A process in which every thread waits for another, for ever: the finding. Where a thread is and who has what it waits for
//! is seen in the process, and the ledger knows the locks and where they were taken.

use std::collections::HashMap;

use super::waits::{Holder, Thread, Wait, WaitKind};
use crate::finding::action::Action;
use crate::finding::lock_kind::{LockKind, Subject};
use crate::finding::order::asleep::Evidence as Asleep;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy};
use crate::finding::{
    Details, Finding, Frame, Grade, HeldLock, Kind, LockInfo, LockOrigin, Name, Report, Step,
    ThreadInfo, Waiting,
};
use crate::symbolize::{futexes, is_preload, is_runtime};

/// Places told; there may be a thread for each connection.
const MOST: usize = 16;

/// The finding about the process of this number in the report, all `threads` of which wait for ever. `known` are its threads
/// by id.
pub fn finding(
    report: &Report,
    process: usize,
    threads: &[Thread],
    known: &HashMap<u32, ThreadInfo>,
) -> Finding {
    let mut found = Found { report, process, known, locks: Vec::new(), steps: Vec::new() };
    // Of each step: its first thread, and how many more do the same.
    let mut alike: Vec<(&Thread, usize)> = Vec::new();
    // By thread id: its step.
    let mut step_of = HashMap::new();
    let mut left_out = 0;
    for thread in threads {
        let Some(wait) = thread.wait() else { continue };
        let step = found.step(thread, wait);
        let is_same = |other: &Step| {
            (other.lock, other.action, &other.stack) == (step.lock, step.action, &step.stack)
        };
        // A thread that holds something has a step of its own.
        match found.steps.iter().position(is_same).filter(|_| !found.holds(thread.tid)) {
            Some(same) => {
                alike[same].1 += 1;
                step_of.insert(thread.tid, same);
            }
            None if found.steps.len() == MOST => left_out += 1,
            None => {
                step_of.insert(thread.tid, found.steps.len());
                found.steps.push(step);
                alike.push((thread, 0));
            }
        }
    }
    let mut evidence = Vec::new();
    for (step, (thread, _)) in alike.iter().enumerate() {
        let Some(wait) = thread.wait() else { continue };
        evidence.extend(found.holder(step, thread, wait, &step_of));
    }
    let more = alike.iter().enumerate().filter(|(_, (_, more))| *more > 0);
    evidence.extend(more.map(|(step, &(_, more))| Asleep::Alike { step, more }));
    evidence.extend((left_out > 0).then_some(Asleep::LeftOut { places: left_out }));
    evidence.push(Asleep::NothingEndsThem);
    found.add_held(&step_of);
    Finding {
        kind: Kind::AllThreadsAsleep,
        grade: Grade::Deadlocked,
        details: Details::Order(OrderFault {
            fault: Fault::AllAsleep { threads: threads.len() },
            evidence: evidence.into_iter().map(Evidence::Asleep).collect(),
            remedies: vec![Remedy::FindTheWaker],
        }),
        locks: found.locks,
        steps: found.steps,
        pid: report.processes.get(process).map_or(0, |process| process.pid),
        process: Some(process),
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    }
}

/// A finding in the making.
struct Found<'a> {
    report: &'a Report,
    process: usize,
    known: &'a HashMap<u32, ThreadInfo>,
    locks: Vec<LockInfo>,
    steps: Vec<Step>,
}

impl Found<'_> {
    /// The wait of a thread as the ledger has it.
    fn told(&self, tid: u32) -> Option<&Waiting> {
        let mut of_process =
            self.report.waiting.iter().filter(|waiting| waiting.process == self.process);
        of_process.find(|waiting| waiting.thread.tid == tid)
    }

    /// A thread as the ledger knows it.
    fn thread(&self, tid: u32) -> ThreadInfo {
        let unknown = || ThreadInfo { name: String::new(), tid, number: 0 };
        self.known.get(&tid).cloned().unwrap_or_else(unknown)
    }

    /// Whether another thread waits for a lock of this one.
    fn holds(&self, tid: u32) -> bool {
        let is_it = |waiting: &&Waiting| waiting.process == self.process;
        let mut waiting = self.report.waiting.iter().filter(is_it);
        waiting.any(|waiting| waiting.holders.iter().any(|holder| holder.thread.tid == tid))
    }

    fn step(&mut self, thread: &Thread, wait: &Wait) -> Step {
        let told = self.told(thread.tid);
        let action = match told {
            Some(waiting) if waiting.lock.is_some() => waiting.action,
            _ => Action::WaitsFor,
        };
        let info = told.and_then(|waiting| waiting.lock.clone());
        let info = info.unwrap_or_else(|| self.info(told, wait));
        // What the process showed is of this wait; a ledger has the first that came to this place.
        let own = own_part(&thread.stack);
        let stack = match (own.is_empty(), told) {
            (true, Some(waiting)) => waiting.stack.clone(),
            _ => own,
        };
        let lock = self.lock(info);
        Step { thread: self.thread(thread.tid), lock, action, held: Vec::new(), stack }
    }

    /// What is waited for where the ledger knows no lock.
    fn info(&self, told: Option<&Waiting>, wait: &Wait) -> LockInfo {
        let at = |what: &str| Name::description(format!("{what} at {:#x}", wait.object));
        let futex = told.and_then(|waiting| waiting.futex.as_ref());
        let symbol = wait.name.clone();
        let symbol = symbol.or_else(|| Some(Name::symbol(futex?.name.clone()?)));
        let joined = told.and_then(|waiting| waiting.joined.clone());
        let joined = joined.or(match (wait.kind, wait.holder) {
            (WaitKind::Join, Holder::Thread(tid)) => Some(self.thread(tid)),
            _ => None,
        });
        let (name, kind) = match (wait.kind, joined) {
            (_, Some(thread)) => (Name::description(format!("end of {thread}")), Subject::Thread),
            (WaitKind::Join, None) => (Name::description("end of a thread"), Subject::Thread),
            (WaitKind::Mutex, _) => {
                (symbol.unwrap_or_else(|| at("mutex")), Subject::Lock(LockKind::Mutex))
            }
            (WaitKind::RwlockRead | WaitKind::RwlockWrite, _) => {
                (symbol.unwrap_or_else(|| at("rwlock")), Subject::Lock(LockKind::Rwlock))
            }
            (WaitKind::Lock(what), _) => {
                (symbol.unwrap_or_else(|| at(what)), Subject::Lock(LockKind::Other))
            }
            (WaitKind::Event(what), _) => {
                let what = what.strip_prefix("a ").or(what.strip_prefix("an ")).unwrap_or(what);
                (symbol.unwrap_or_else(|| at(what)), Subject::Own(what.to_owned()))
            }
            (WaitKind::Idle(_) | WaitKind::Unknown, _) => {
                let of = futex.and_then(|futex| futex.kind.of).unwrap_or("futex");
                (symbol.unwrap_or_else(|| at(of)), Subject::Own("futex".to_owned()))
            }
        };
        LockInfo {
            class: name.clone(),
            class_by_place: None,
            addr: (kind != Subject::Thread).then_some(wait.object),
            name,
            kind,
            created: Vec::new(),
            origin: LockOrigin::Unknown,
        }
    }

    /// The number of a lock among those of the finding.
    fn lock(&mut self, info: LockInfo) -> usize {
        self.known_lock(&info).unwrap_or_else(|| {
            self.locks.push(info);
            self.locks.len() - 1
        })
    }

    /// The same, if the finding has it.
    fn known_lock(&self, info: &LockInfo) -> Option<usize> {
        let is_it = |known: &LockInfo| (&known.name, known.addr) == (&info.name, info.addr);
        self.locks.iter().position(is_it)
    }

    /// The holder of what the thread of a step waits for, as far as it is known.
    fn holder(
        &self,
        step: usize,
        thread: &Thread,
        wait: &Wait,
        step_of: &HashMap<u32, usize>,
    ) -> Option<Asleep> {
        let told = self.told(thread.tid);
        let joined = told.and_then(|waiting| waiting.joined.as_ref()).map(|thread| thread.tid);
        let held = told.and_then(|waiting| {
            let holder = waiting.holders.first().map(|holder| &holder.thread);
            let named = waiting.futex.as_ref().and_then(|futex| futex.names.as_ref());
            holder.or(named).map(|thread| thread.tid)
        });
        match (wait.kind, wait.holder) {
            (WaitKind::Join, holder) => {
                let seen = match holder {
                    Holder::Thread(tid) => Some(tid),
                    _ => None,
                };
                let of = *step_of.get(&joined.or(seen)?)?;
                Some(Asleep::WaitsForEnd { step, of })
            }
            (_, Holder::Ended(tid)) => {
                Some(Asleep::WaitsForEnded { step, owner: self.thread(tid) })
            }
            (_, Holder::Thread(tid)) => {
                Some(Asleep::WaitsForHolder { step, holder: *step_of.get(&tid)? })
            }
            _ => Some(Asleep::WaitsForHolder { step, holder: *step_of.get(&held?)? }),
        }
    }

    /// What the threads of the steps hold that others wait for.
    fn add_held(&mut self, step_of: &HashMap<u32, usize>) {
        for waiting in self.report.waiting.iter().filter(|it| it.process == self.process) {
            let Some(info) = &waiting.lock else { continue };
            let lock = self.known_lock(info);
            for holder in &waiting.holders {
                let step = step_of.get(&holder.thread.tid);
                let Some(step) = step.and_then(|&step| self.steps.get_mut(step)) else { continue };
                if step.held.iter().all(|held| (held.lock, &held.name) != (lock, &info.name)) {
                    step.held.push(HeldLock {
                        lock,
                        name: info.name.clone(),
                        stack: holder.stack.clone(),
                    });
                }
            }
        }
    }
}

/// The stack from the first frame outside of the C library and ours on, with the frames of a library that waits at a futex
/// marked as such.
fn own_part(stack: &[Frame]) -> Vec<Frame> {
    let is_foreign =
        |frame: &Frame| frame.module.as_deref().is_none_or(|it| is_runtime(it) || is_preload(it));
    match stack.iter().position(|frame| !is_foreign(frame)) {
        // What calls futex(2) is no place of the program's, so one frame more is looked at.
        Some(own) if own > 0 => futexes::folded(&stack[own - 1..])[1..].to_vec(),
        _ => stack.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::waits::{Futex, State};
    use super::*;
    use crate::finding::Process;

    fn waits(tid: u32, kind: WaitKind, holder: Holder) -> Thread {
        let futex = Futex { address: 0x10, is_timed: false, may_be_shared: false, is_pi: false };
        let wait = Wait { futex, kind, object: 0x10, name: None, holder, is_shared: false };
        Thread { tid, name: String::new(), state: State::Waits(wait), stack: Vec::new() }
    }

    fn found(threads: &[Thread]) -> (Finding, Vec<Asleep>) {
        let report = Report { processes: vec![Process::default()], ..Report::default() };
        let known = (1..9).map(|number| {
            (100 + number, ThreadInfo { name: String::new(), tid: 100 + number, number })
        });
        let finding = finding(&report, 0, threads, &known.collect());
        let Details::Order(fault) = &finding.details else { panic!("{finding:?}") };
        let of = |evidence: &Evidence| match evidence {
            Evidence::Asleep(evidence) => evidence.clone(),
            other => panic!("{other:?}"),
        };
        let evidence = fault.evidence.iter().map(of).collect();
        (finding, evidence)
    }

    #[test]
    fn each_thread_is_a_step_and_who_has_what_is_evidence() {
        let threads = [
            waits(101, WaitKind::Join, Holder::Thread(102)),
            waits(102, WaitKind::Mutex, Holder::Thread(103)),
            waits(103, WaitKind::Event("a condition"), Holder::NoLock),
            waits(104, WaitKind::RwlockRead, Holder::Ended(108)),
        ];
        let (finding, evidence) = found(&threads);
        assert_eq!((finding.kind, finding.grade), (Kind::AllThreadsAsleep, Grade::Deadlocked));
        let names: Vec<&str> =
            finding.steps.iter().map(|step| finding.locks[step.lock].name.text.as_str()).collect();
        assert_eq!(
            names,
            ["end of thread 2", "mutex at 0x10", "condition at 0x10", "rwlock at 0x10"]
        );
        let owner = ThreadInfo { name: String::new(), tid: 108, number: 8 };
        assert_eq!(
            evidence,
            [
                Asleep::WaitsForEnd { step: 0, of: 1 },
                Asleep::WaitsForHolder { step: 1, holder: 2 },
                Asleep::WaitsForEnded { step: 3, owner },
                Asleep::NothingEndsThem,
            ]
        );
    }

    #[test]
    fn threads_that_do_the_same_are_one_step() {
        let all: Vec<Thread> =
            (0..50).map(|tid| waits(tid, WaitKind::Event("a condition"), Holder::NoLock)).collect();
        let (finding, evidence) = found(&all);
        assert_eq!(finding.steps.len(), 1);
        assert_eq!(evidence, [Asleep::Alike { step: 0, more: 49 }, Asleep::NothingEndsThem]);
        let Details::Order(fault) = &finding.details else { panic!("{finding:?}") };
        assert_eq!(fault.fault, Fault::AllAsleep { threads: 50 });
    }
}
