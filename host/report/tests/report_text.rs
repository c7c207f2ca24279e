//! Golden texts: each kind and grade that is found, rendered from reports made by hand.
//!
//! `LOCKWRIGHT_BLESS=1 cargo test -p lockwright-report --test report_text` rewrites them.

use std::fs;
use std::path::Path;
use std::sync::Once;

use lockwright_analysis::Recording;
use lockwright_analysis::finding::action::{Access, Action};
use lockwright_analysis::finding::coverage::{Completeness, Missing, Note, Stopped};
use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
use lockwright_analysis::finding::order::cycle::OrderedBy;
use lockwright_analysis::finding::order::{
    Evidence, Fault, OrderFault, Remedy, again, cycle, deadlock,
};
use lockwright_analysis::finding::*;
use lockwright_analysis::process_end::ProcessEnd;
use lockwright_report::text::{TextOptions, render};

const PLAIN: TextOptions = TextOptions { colour: false, all: false, width: 100 };

/// Paths in the reports are relative to the workspace, so that the texts are the same everywhere.
fn at_home() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        std::env::set_current_dir(home).unwrap();
    });
}

/// Compares with `tests/golden/<name>.txt`, or writes it.
fn golden(name: &str, text: &str) {
    let path = format!("tests/golden/{name}.txt");
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "\n{path} differs; LOCKWRIGHT_BLESS=1 writes it anew. Now:\n{text}");
}

fn at(function: &str, file: &str, line: u32, column: u32) -> Frame {
    Frame {
        function: Some(function.to_owned()),
        file: Some(format!("tests/golden/{file}")),
        line: Some(line),
        column: Some(column),
        module: Some("/usr/bin/bank".to_owned()),
        build_id: None,
        offset: 0x1200 + u64::from(line),
        function_offset: Some(0x20),
        function_size: None,
        inlined: false,
        wraps: false,
        is_no_wrapper: false,
    }
}

fn bare(function: Option<&str>, module: &str, offset: u64) -> Frame {
    Frame {
        function: function.map(str::to_owned),
        module: Some(module.to_owned()),
        offset,
        function_offset: function.map(|_| offset & 0xff),
        ..Frame::default()
    }
}

/// What a lock without a name of its own is called.
const ACCOUNT: &str = "mutex initialised at bank.c:14 (account_init)";

/// A lock's own name, or its description.
fn called(name: &str) -> Name {
    Name { text: name.to_owned(), is_symbol: !name.starts_with("mutex ") }
}

/// The details of a finding about the locks' order.
fn order(fault: Fault, evidence: Vec<Evidence>, remedies: Vec<Remedy>) -> Details {
    Details::Order(OrderFault { fault, evidence, remedies })
}

fn take_before(first: &str, second: &str) -> Remedy {
    Remedy::Cycle(cycle::Remedy::TakeBefore {
        first: called(first),
        second: called(second),
        place: None,
    })
}

fn static_lock(name: &str) -> LockInfo {
    LockInfo {
        name: called(name),
        class: called(name),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr: Some(if name == "vault" { 0x5555_5555_8040 } else { 0x5555_5555_8080 }),
        created: Vec::new(),
        origin: LockOrigin::Static,
    }
}

fn account(name: &str, addr: Option<u64>) -> LockInfo {
    LockInfo {
        name: called(name),
        class: called(ACCOUNT),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr,
        created: vec![
            bare(Some("pthread_mutex_init"), "/usr/lib/libc.so.6", 0x9912),
            at("account_init", "bank.c", 14, 5),
            at("main", "bank.c", 40, 5),
        ],
        origin: LockOrigin::Init,
    }
}

fn thread(number: u32, name: &str) -> ThreadInfo {
    ThreadInfo { name: name.to_owned(), tid: 4000 + number, number }
}

fn held(lock: Option<usize>, name: &str, stack: Vec<Frame>) -> HeldLock {
    HeldLock { lock, name: called(name), stack }
}

fn runtime() -> [Frame; 2] {
    ["start_thread", "clone3"].map(|name| bare(Some(name), "/usr/lib/libc.so.6", 0x8a3c))
}

fn teller_at(line: u32) -> Vec<Frame> {
    let mut stack = vec![at("teller", "bank.c", line, 5)];
    stack.extend(runtime());
    stack
}

/// `vault` then `ledger_lock` in one thread, the other way in another, across two files.
fn abba(grade: Grade) -> Finding {
    let mut auditor = vec![at("open_vault", "vault.c", 6, 2), at("auditor", "bank.c", 41, 5)];
    auditor.extend(runtime());
    Finding {
        kind: Kind::CircularDependency,
        grade,
        details: order(Fault::Cycle, vec![], vec![take_before("vault", "ledger_lock")]),
        locks: vec![static_lock("vault"), static_lock("ledger_lock")],
        steps: vec![
            Step {
                thread: thread(2, "teller"),
                lock: 1,
                action: Action::Acquires { access: Access::Exclusive, timed: false },
                held: vec![held(Some(0), "vault", teller_at(29))],
                stack: teller_at(31),
            },
            Step {
                thread: thread(3, "auditor"),
                lock: 0,
                action: Action::Acquires { access: Access::Exclusive, timed: false },
                held: vec![held(
                    Some(1),
                    "ledger_lock",
                    vec![at("auditor", "bank.c", 40, 5), runtime()[0].clone()],
                )],
                stack: auditor,
            },
        ],
        pid: 4001,
        process: Some(0),
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    }
}

fn likely() -> Finding {
    let mut finding = abba(Grade::Likely);
    finding.details = order(
        Fault::Cycle,
        vec![
            Evidence::Cycle(cycle::Evidence::SameLocks),
            Evidence::Cycle(cycle::Evidence::Unordered(vec![OrderedBy::Creation, OrderedBy::Join])),
            Evidence::Cycle(cycle::Evidence::NoGate),
        ],
        vec![take_before("vault", "ledger_lock")],
    );
    finding
}

fn deadlocked() -> Finding {
    let mut finding = abba(Grade::Deadlocked);
    finding.details = order(
        Fault::Deadlock,
        vec![
            Evidence::Deadlock(deadlock::Evidence::WaitsForHolder { step: 0 }),
            Evidence::Deadlock(deadlock::Evidence::WaitsForHolder { step: 1 }),
        ],
        vec![take_before("vault", "ledger_lock")],
    );
    for step in &mut finding.steps {
        step.action = Action::WaitsFor;
    }
    finding
}

/// Stripped: no source, one function without a name, and a wrapper to see through.
fn possible() -> Finding {
    let mariadbd = "/usr/sbin/mariadbd";
    let open = vec![
        bare(Some("inline_mysql_mutex_lock"), mariadbd, 0x7_1010),
        bare(Some("open_table"), mariadbd, 0x7_2038),
        bare(Some("mysql_execute_command"), mariadbd, 0x7_3044),
        bare(None, mariadbd, 0x7_4055),
        bare(Some("start_thread"), "/usr/lib/libc.so.6", 0x8_a3c4),
    ];
    let flush = vec![
        bare(Some("flush_status"), mariadbd, 0x8_1022),
        bare(None, "/usr/lib/libc.so.6", 0x8_a3c4),
    ];
    let class = |name: &str, created| LockInfo {
        name: called(name),
        class: called(name),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr: None,
        created,
        origin: LockOrigin::FirstAcquisition,
    };
    Finding {
        kind: Kind::CircularDependency,
        grade: Grade::Possible,
        details: order(
            Fault::Cycle,
            vec![
                Evidence::Cycle(cycle::Evidence::ByClass),
                Evidence::Cycle(cycle::Evidence::TakenByThreads),
            ],
            vec![
                take_before("LOCK_open", "LOCK_status"),
                Remedy::Cycle(cycle::Remedy::FurtherLock),
            ],
        ),
        locks: vec![class("LOCK_open", open.clone()), class("LOCK_status", flush.clone())],
        steps: vec![
            Step {
                thread: thread(7, ""),
                lock: 1,
                action: Action::Acquires { access: Access::Exclusive, timed: false },
                held: vec![
                    held(None, "LOCK_global", vec![bare(Some("main_loop"), mariadbd, 0x6_0001)]),
                    held(Some(0), "LOCK_open", open.clone()),
                ],
                stack: flush.clone(),
            },
            Step {
                thread: thread(9, "conn"),
                lock: 0,
                action: Action::Reacquires,
                held: vec![held(Some(1), "LOCK_status", flush)],
                stack: open,
            },
        ],
        pid: 4001,
        process: Some(0),
        origins: Vec::new(),
        confirmation: None,
        also: 3,
    }
}

fn recursive(grade: Grade) -> Finding {
    let lock_at = |line| vec![at("transfer", "bank.c", line, 5), at("teller", "bank.c", 30, 5)];
    Finding {
        kind: Kind::RecursiveLocking,
        grade,
        details: order(
            Fault::NoFixedOrder { classes: vec![called(ACCOUNT)] },
            vec![],
            vec![Remedy::FixedOrder],
        ),
        locks: vec![account(ACCOUNT, None)],
        steps: vec![Step {
            thread: thread(2, "teller"),
            lock: 0,
            action: Action::Acquires { access: Access::Exclusive, timed: false },
            held: vec![held(Some(0), ACCOUNT, lock_at(19))],
            stack: lock_at(20),
        }],
        pid: 4001,
        process: Some(0),
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    }
}

fn self_deadlock() -> Finding {
    let mut finding = recursive(Grade::Deadlocked);
    finding.details = order(
        Fault::Again(again::Fault::TakenAgain),
        vec![Evidence::Deadlock(deadlock::Evidence::WaitsForItself)],
        vec![Remedy::SplitFunction],
    );
    finding.locks = vec![account(ACCOUNT, Some(0x7fff_0010))];
    finding.steps[0].action = Action::WaitsFor;
    finding
}

fn summary() -> Summary {
    Summary {
        locks: 1204,
        classes: 7,
        chains: 12,
        contexts: 12,
        dependencies: 9,
        threads: 4,
        acquisitions: 1_234_567,
        contended: 89,
        processes: 1,
        lost: 0,
        completeness: Completeness::default(),
        all_instances: false,
        cost_ns: Some(7_407_402),
        recording: Recording::default(),
        cost_per_acquisition_ns: Some(6.0),
        program_cpu_ns: Some(2_000_000_000),
    }
}

fn process(pid: u32, exe: &str, notes: &[Note]) -> Process {
    Process {
        pid,
        exe: exe.to_owned(),
        command: vec![exe.to_owned()],
        exited: true,
        end: ProcessEnd::Exit(Some(0)),
        notes: notes.to_vec(),
        ..Process::default()
    }
}

fn report(findings: Vec<Finding>) -> Report {
    Report {
        summary: summary(),
        processes: vec![process(4001, "/usr/bin/bank", &[])],
        findings,
        ..Report::default()
    }
}

fn shown(finding: Finding, options: &TextOptions) -> String {
    at_home();
    render(&report(vec![finding]), options)
}

#[test]
fn circular_dependency_deadlocked() {
    golden("circular-dependency.deadlocked", &shown(deadlocked(), &PLAIN));
}

#[test]
fn circular_dependency_likely() {
    golden("circular-dependency.likely", &shown(likely(), &PLAIN));
}

#[test]
fn circular_dependency_possible_without_sources() {
    golden("circular-dependency.possible", &shown(possible(), &PLAIN));
}

#[test]
fn grades_that_are_only_counted() {
    let all = TextOptions { all: true, ..PLAIN };
    for grade in [Grade::Guarded, Grade::Ordered, Grade::SingleThread] {
        let name = serde_json::to_value(grade).unwrap();
        let name = format!("circular-dependency.{}", name.as_str().unwrap());
        golden(&name, &shown(abba(grade), &all));
    }
}

#[test]
fn recursive_locking() {
    golden("recursive-locking.deadlocked", &shown(self_deadlock(), &PLAIN));
    for grade in [Grade::Likely, Grade::Possible] {
        let name = serde_json::to_value(grade).unwrap();
        golden(
            &format!("recursive-locking.{}", name.as_str().unwrap()),
            &shown(recursive(grade), &PLAIN),
        );
    }
}

/// Several findings and processes, and some not shown.
#[test]
fn a_whole_report() {
    at_home();
    let mut whole = report(vec![
        deadlocked(),
        possible(),
        abba(Grade::Guarded),
        abba(Grade::Guarded),
        abba(Grade::SingleThread),
    ]);
    whole.processes.push(process(4002, "/usr/bin/helper", &[Note::PairsFolded(17)]));
    whole.summary.processes = 2;
    golden("whole-report", &render(&whole, &PLAIN));
}

#[test]
fn no_finding_is_one_line() {
    at_home();
    let text = render(&report(vec![]), &PLAIN);
    golden("no-findings", &text);
    assert_eq!(text.lines().count(), 1);

    let mut noted = report(vec![abba(Grade::SingleThread)]);
    noted.processes[0]
        .notes
        .push(Note::Missing(Missing::RecordingStopped { why: Stopped::NoSpace, lost: 17 }));
    let text = render(&noted, &PLAIN);
    golden("no-findings-notes", &text);
    assert_eq!(text.lines().count(), 1);
}

/// What is not shown is counted by what it is: findings by grade, objects one by one.
#[test]
fn hidden_findings_are_counted() {
    at_home();
    let left = |also| Finding {
        kind: Kind::ObjectNeverDestroyed,
        grade: Grade::Untidy,
        also,
        ..abba(Grade::Untidy)
    };
    for (findings, expected) in [
        (vec![left(0)], "1 object never destroyed not shown: --all"),
        (vec![left(0), left(4)], "6 objects never destroyed not shown: --all"),
        (
            vec![abba(Grade::Guarded), left(1)],
            "1 guarded cycle and 2 objects never destroyed not shown: --all",
        ),
        (
            vec![
                abba(Grade::Guarded),
                recursive(Grade::Ordered),
                abba(Grade::SingleThread),
                left(u64::MAX),
                left(1),
            ],
            "1 guarded, 1 ordered and 1 single-thread findings and 18,446,744,073,709,551,615 objects \
             never destroyed not shown: --all",
        ),
    ] {
        let text = render(&report(findings.clone()), &PLAIN);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.ends_with(&format!("; {expected}\n")), "{text}");
        let all = render(&report(findings), &TextOptions { all: true, ..PLAIN });
        assert!(
            all.contains("note[object-never-destroyed]") && !all.contains("not shown"),
            "{all}"
        );
    }
}

#[test]
fn colour_is_asked_for() {
    let colour = TextOptions { colour: true, ..PLAIN };
    assert!(shown(likely(), &colour).contains("\x1b["));
    assert!(!shown(likely(), &PLAIN).contains('\x1b'));
}

/// What the program's own strings hold never reaches the terminal as commands.
#[test]
fn hostile_names_are_defused() {
    let mut finding = likely();
    let evil = "x\x1b]0;owned\x07\n\u{9b}31m\u{202e}";
    finding.steps[0].thread.name = evil.to_owned();
    finding.locks[0].name = called(evil);
    finding.steps[0].held[0].name = called(evil);
    for frame in &mut finding.steps[1].stack {
        frame.function = Some(evil.to_owned());
        frame.file = Some(evil.to_owned());
        frame.module = Some(evil.to_owned());
    }
    let text = shown(finding, &PLAIN);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    assert!(!text.contains('\u{202e}'));
}

/// Ids beyond the tables and lines beyond the file: a report is still made.
#[test]
fn odd_findings_are_survived() {
    let mut finding = likely();
    finding.steps[0].lock = 99;
    finding.steps[0].held[0].lock = Some(98);
    finding.steps[0].stack[0].line = Some(4_000_000_000);
    finding.steps[1].stack.clear();
    finding.steps[1].held[0].stack.clear();
    let text = shown(finding, &PLAIN);
    assert!(text.contains("unknown place"), "{text}");
    assert!(text.contains("bank.c:4000000000"), "{text}");
}

/// Two accounts whose names differ in their addresses only, and a directory lock taken 24 times.
#[test]
fn nameless_locks_have_short_names() {
    at_home();
    let names = [0x5000, 0x5040].map(|addr| format!("{ACCOUNT} at {addr:#x}"));
    let mut finding = likely();
    finding.locks = [(0, 0x5000), (1, 0x5040)]
        .map(|(lock, addr): (usize, u64)| account(&names[lock], Some(addr)))
        .into();
    if let Details::Order(what) = &mut finding.details {
        what.remedies = vec![take_before(&names[0], &names[1])];
    }
    for (step, lock) in finding.steps.iter_mut().zip([0, 1]) {
        step.held[0].name = called(&names[lock]);
        let others = (0..24).map(|_| held(None, "directory", teller_at(27)));
        step.held.extend(others);
    }
    let text = shown(finding, &PLAIN);
    assert!(
        text.starts_with("error[circular-dependency]: lock A and lock B are taken in both orders")
    );
    for (said, times) in [
        (format!("lock A: {ACCOUNT}, at 0x5000, `a->lock` in that line"), 1),
        (format!("lock B: {ACCOUNT}, at 0x5040, `a->lock` in that line"), 1),
        (ACCOUNT.to_owned(), 2),
        ("0x5000".to_owned(), 1),
        ("acquires lock B while holding lock A".to_owned(), 1),
        ("take lock A before lock B".to_owned(), 1),
        (
            "also holding `directory`, taken in teller (tests/golden/bank.c:27) (24 times)"
                .to_owned(),
            2,
        ),
    ] {
        assert_eq!(text.matches(&said).count(), times, "{said}:\n{text}");
    }
}

/// The twin: one letter for two locks of a class would make them one.
#[test]
fn two_locks_of_one_class_are_not_one() {
    at_home();
    let text = shown(recursive(Grade::Possible), &PLAIN);
    assert!(!text.contains("lock A"), "{text}");
}
