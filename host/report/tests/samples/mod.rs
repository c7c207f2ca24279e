//! Reports made by hand.

#![allow(dead_code, reason = "each test takes what it needs")]

use lockwright_analysis::Recording;
use lockwright_analysis::finding::action::{Access, Action};
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::finding::doing::{Blocked, Busy, File};
use lockwright_analysis::finding::futex::{FutexKind, FutexUse, FutexWait, Woken};
use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
use lockwright_analysis::finding::order::again::Again;
use lockwright_analysis::finding::order::{Evidence, Fault, OrderFault, Remedy, again, cycle};
use lockwright_analysis::finding::*;
use lockwright_analysis::process_end::ProcessEnd;

fn frame() -> Frame {
    Frame {
        function: Some("teller".into()),
        file: Some("/src/bank.c".into()),
        line: Some(31),
        column: Some(5),
        module: Some("/usr/bin/bank".into()),
        build_id: None,
        offset: 0x122f,
        function_offset: Some(32),
        function_size: None,
        inlined: true,
        wraps: false,
        is_no_wrapper: false,
    }
}

fn finding(kind: Kind, grade: Grade) -> Finding {
    Finding {
        kind,
        grade,
        details: Details::Order(OrderFault {
            fault: Fault::Again(again::Fault::TakenAgain),
            evidence: vec![Evidence::Again(Again::Blocks)],
            remedies: vec![Remedy::SplitFunction],
        }),
        locks: [
            LockOrigin::Static,
            LockOrigin::Init,
            LockOrigin::FirstAcquisition,
            LockOrigin::Inherited,
            LockOrigin::Unknown,
        ]
        .map(|origin| LockInfo {
            name: Name::symbol("vault"),
            class: Name::symbol("vault"),
            class_by_place: None,
            kind: Subject::Lock(LockKind::Mutex),
            addr: (origin == LockOrigin::Static).then_some(u64::MAX),
            created: vec![frame(), Frame::default()],
            origin,
        })
        .into(),
        steps: vec![Step {
            thread: ThreadInfo { name: "teller".into(), tid: 4002, number: 2 },
            lock: 0,
            action: Action::Acquires { access: Access::Exclusive, timed: false },
            held: [Some(1), None]
                .map(|lock| HeldLock { lock, name: Name::symbol("ledger"), stack: vec![frame()] })
                .into(),
            stack: vec![frame(), Frame { offset: u64::MAX, ..Frame::default() }],
        }],
        pid: 4001,
        process: Some(0),
        origins: Vec::new(),
        confirmation: None,
        also: 3,
    }
}

fn waiting(kind: WaitsFor) -> Waiting {
    let is_thread = kind == WaitsFor::Thread;
    let finding = finding(Kind::CircularDependency, Grade::Likely);
    let thread = finding.steps[0].thread.clone();
    Waiting {
        pid: 4001,
        process: 0,
        thread: thread.clone(),
        kind,
        action: Action::WaitsFor,
        lock: (!is_thread).then(|| finding.locks[0].clone()),
        joined: is_thread.then(|| thread.clone()),
        timed: is_thread,
        stack: vec![frame()],
        signallers: Vec::new(),
        futex: (kind == WaitsFor::Futex).then(|| FutexWait {
            kind: FutexKind { used_as: FutexUse::Lock, of: Some("std::sync::Mutex") },
            addr: u64::MAX,
            word: 2,
            name: None,
            begun_ns: 5,
            names: Some(finding.steps[0].thread.clone()),
            woken: Some(Woken {
                by: finding.steps[0].thread.clone(),
                at_ns: 7,
                stack: vec![frame()],
            }),
        }),
        is_told: false,
        holders: vec![Holder {
            thread,
            waits: true,
            busy: is_thread.then(|| Busy { cpu_ns: 5, of_ns: 7, loops_in: vec![frame()] }),
            blocked: is_thread.then(|| Blocked {
                call: "read",
                descriptor: 3,
                file: File::Pipe,
                other_ends: vec![4],
            }),
            has_returned: is_thread,
            stack: vec![Frame::default()],
        }],
    }
}

/// Every kind, every grade, and every field both known and unknown.
pub fn report() -> Report {
    let grades = [
        Grade::Deadlocked,
        Grade::Likely,
        Grade::Possible,
        Grade::Guarded,
        Grade::Ordered,
        Grade::SingleThread,
        Grade::Untidy,
    ];
    Report {
        summary: Summary {
            cost_ns: Some(7),
            recording: Recording::default(),
            cost_per_acquisition_ns: Some(-0.5),
            program_cpu_ns: Some(2_000_000_000),
            ..Summary::default()
        },
        unwatched: vec![Unwatched {
            pid: 4002,
            exe: "/bin/sh".into(),
            reason: "follow",
            why: "by --follow".into(),
        }],
        processes: vec![Process {
            pid: 4001,
            exe: "/usr/bin/bank".into(),
            command: vec!["bank".into()],
            exited: true,
            end: ProcessEnd::Exit(Some(0)),
            notes: vec![Note::EndUnknown],
            ..Process::default()
        }],
        findings: Kind::ALL
            .iter()
            .flat_map(|&kind| grades.map(|grade| finding(kind, grade)))
            .collect(),
        modules: vec![ModuleNote {
            module: "/usr/bin/bank".into(),
            missing: MissingNames::Stripped,
        }],
        waiting: [WaitsFor::Lock, WaitsFor::Condition, WaitsFor::Thread, WaitsFor::Futex]
            .map(waiting)
            .into(),
    }
}

/// A teller and an auditor, who take a vault and a ledger in both orders.
pub fn two_threads() -> Report {
    let stack = |function: &str, line: u32| -> Vec<Frame> {
        let frame = |function: &str, line: u32| Frame {
            function: Some(function.into()),
            line: Some(line),
            offset: 0x1212 + u64::from(line),
            inlined: false,
            ..frame()
        };
        vec![frame("pthread_mutex_lock", 1), frame(function, line), frame("main", 90)]
    };
    let names = ["vault", "ledger"];
    let lock = |name: &str| LockInfo {
        name: Name::symbol(name),
        class: Name::symbol(name),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr: Some(0x4040),
        created: vec![],
        origin: LockOrigin::Static,
    };
    let step = |number: u32, name: &str, held: usize, lines: [u32; 2]| Step {
        thread: ThreadInfo { name: name.into(), tid: 4000 + number, number },
        lock: 1 - held,
        action: Action::Acquires { access: Access::Exclusive, timed: false },
        held: vec![HeldLock {
            lock: Some(held),
            name: Name::symbol(names[held]),
            stack: stack(name, lines[0]),
        }],
        stack: stack(name, lines[1]),
    };
    let finding = Finding {
        kind: Kind::CircularDependency,
        grade: Grade::Likely,
        details: Details::Order(OrderFault {
            fault: Fault::Cycle,
            evidence: vec![Evidence::Cycle(cycle::Evidence::SameLocks)],
            remedies: vec![Remedy::Cycle(cycle::Remedy::TakeBefore {
                first: Name::symbol("vault"),
                second: Name::symbol("ledger"),
                place: None,
            })],
        }),
        locks: names.map(lock).into(),
        steps: vec![step(2, "teller", 0, [29, 31]), step(3, "auditor", 1, [38, 40])],
        pid: 4001,
        process: Some(0),
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    };
    Report { findings: vec![finding], ..report() }
}
