//! Reports on debugobjects' rows, even on rows that it would not write.

use lockwright_report::prose::action::phrase;
use lockwright_report::prose::told as told_of;
use std::fs;
use std::path::Path;

use lockwright_analysis::finding::coverage::{Missing, Note};
use lockwright_analysis::finding::{Grade, Report};
use lockwright_ledger::rows::Module;
use lockwright_ledger::rows::object::*;
use lockwright_report::json;
use lockwright_report::text::{TextOptions, render};

use crate::story::{Story, reports, told};

const PLAIN: TextOptions = TextOptions { colour: false, all: true, width: 100 };
const BRIEF: TextOptions = TextOptions { all: false, ..PLAIN };

/// Where the story's module has a variable, `table0`.
const VARIABLE: u64 = 0x50_0000;

/// T1 (with A held) does something to an object that T2 made, T3 used and T2 destroyed.
fn met(builtin: u32, name: &[u8], fill: impl FnOnce(&mut Story, &mut ObjectFinding)) -> Report {
    story(builtin, name, fill).report()
}

/// As above, before it is reported.
fn story(builtin: u32, name: &[u8], fill: impl FnOnce(&mut Story, &mut ObjectFinding)) -> Story {
    let mut story = Story::new();
    story.tell("T1: L(A)@1\nT2: L(C)@3 U(C)\nT3: L(C)@4 U(C)");
    story.row(Module {
        load_epoch: 0,
        bias: VARIABLE - 0x10_0000,
        start: VARIABLE,
        end: VARIABLE + 0x1000,
        ..Module::default()
    });
    let name = story.text(name);
    let type_id = story.row(ObjectType { builtin, name, ..ObjectType::default() });
    let mut row = ObjectFinding {
        fault: object_fault::USE_AFTER_DESTROY,
        op: object_op::ACTIVATE,
        was: object_state::DESTROYED,
        type_id,
        thread: 1,
        addr: 0x7000,
        time_ns: 400,
        stack: story.stack(10),
        node: 1,
        init_stack: story.stack(20),
        init_thread: 2,
        init_ns: 100,
        active_stack: story.stack(30),
        active_thread: 3,
        active_ns: 200,
        active_op: u32::from(object_op::DEACTIVATE),
        destroy_stack: story.stack(40),
        destroy_thread: 2,
        destroy_ns: 300,
        ..ObjectFinding::default()
    };
    fill(&mut story, &mut row);
    story.row(row);
    story
}

/// The life was not over yet.
fn undestroyed(row: &mut ObjectFinding) {
    (row.destroy_stack, row.destroy_thread, row.destroy_ns) = (0, 0, 0);
}

/// It had not begun.
fn unknown(row: &mut ObjectFinding) {
    undestroyed(row);
    (row.init_stack, row.init_thread, row.init_ns) = (0, 0, 0);
    (row.active_stack, row.active_thread, row.active_ns) = (0, 0, 0);
}

/// In use by T3.
fn active(row: &mut ObjectFinding) {
    undestroyed(row);
    (row.was, row.active_op) = (object_state::ACTIVE, u32::from(object_op::ACTIVATE));
}

/// A row as debugobjects writes it of this fault.
pub fn as_written(row: &mut ObjectFinding, fault: u8, how: u8) {
    use object_fault::*;
    (row.fault, row.how) = (fault, how);
    match fault {
        INIT_TWICE => {
            undestroyed(row);
            (row.op, row.was) = (object_op::INIT, object_state::INACTIVE);
        }
        INIT_ACTIVE => {
            active(row);
            row.op = object_op::INIT;
        }
        UNINITIALISED => {
            unknown(row);
            row.was = object_state::NOTAVAILABLE;
        }
        DESTROY_TWICE => row.op = object_op::DESTROY,
        DESTROY_ACTIVE => {
            active(row);
            row.op = object_op::DESTROY;
            row.other_thread = 3;
            row.other_stack = row.active_stack;
        }
        GONE_ACTIVE => {
            active(row);
            row.op = object_op::NO_OBJ_FREED;
        }
        NEVER_DESTROYED => {
            undestroyed(row);
            (row.op, row.was) = (object_op::NO_OBJ_FREED, object_state::INACTIVE);
            if how == object_end::EXIT {
                (row.thread, row.stack, row.node) = (0, 0, 0);
            }
        }
        WRONG_STATE => {
            active(row);
            (row.op, row.expected) = (object_op::ACTIVE_STATE, 7 << 32 | 9);
        }
        _ => {}
    }
}

fn steps(report: &Report) -> Vec<(u32, &str)> {
    report.findings[0]
        .steps
        .iter()
        .map(|step| (step.thread.number, &*phrase(step.action).leak()))
        .collect()
}

/// All text of the only finding.
fn said(report: &Report) -> String {
    let finding = &report.findings[0];
    format!(
        "{}\n{}\n{}",
        told_of(finding).title,
        told_of(finding).evidence.join("\n"),
        told_of(finding).help.join("\n")
    )
}

#[test]
fn every_fault_has_its_kind_and_history() {
    use object_fault::*;
    for (fault, how, kind, expected) in [
        (
            INIT_TWICE,
            0,
            "possible object-initialised-twice",
            &[(1, "initialises"), (2, "initialised"), (3, "stopped waiting on")][..],
        ),
        (
            INIT_ACTIVE,
            0,
            "likely object-initialised-active",
            &[(1, "initialises"), (2, "initialised"), (3, "began to wait on")],
        ),
        (UNINITIALISED, 0, "likely object-uninitialised", &[(1, "waits on")]),
        (
            USE_AFTER_DESTROY,
            0,
            "likely use-after-destroy",
            &[(1, "waits on"), (2, "initialised"), (3, "stopped waiting on"), (2, "destroyed")],
        ),
        (
            DESTROY_TWICE,
            0,
            "likely use-after-destroy",
            &[(1, "destroys"), (2, "initialised"), (3, "stopped waiting on"), (2, "destroyed")],
        ),
        // Who still waits goes before that it once came.
        (
            DESTROY_ACTIVE,
            0,
            "likely object-destroyed-active",
            &[(1, "destroys"), (2, "initialised"), (3, "waits on")],
        ),
        (
            GONE_ACTIVE,
            object_end::FREED,
            "likely object-gone-active",
            &[(1, "frees"), (2, "initialised"), (3, "began to wait on")],
        ),
        (
            NEVER_DESTROYED,
            object_end::FRAME,
            "untidy object-never-destroyed",
            &[(1, "leaves the stack frame of"), (2, "initialised"), (3, "stopped waiting on")],
        ),
        (
            NEVER_DESTROYED,
            object_end::EXIT,
            "untidy object-never-destroyed",
            &[(2, "initialised"), (3, "stopped waiting on")],
        ),
    ] {
        let report = met(object_type::COND, b"", |_, row| as_written(row, fault, how));
        let name = match fault {
            UNINITIALISED => "condition variable at 0x7000",
            _ => "condition variable initialised at story.c:20 (f20)",
        };
        assert_eq!(told(&report), [format!("{kind}: {name}")]);
        assert_eq!(steps(&report), expected, "{kind}");
        let finding = &report.findings[0];
        assert!(finding.steps.iter().all(|step| !step.stack.is_empty()), "{kind}");
        assert_eq!(finding.locks[0].kind.to_string(), "condition variable");
        assert_eq!(finding.locks[0].addr, Some(0x7000));
        if finding.steps[0].thread.number == 1 {
            assert_eq!(finding.steps[0].held.len(), 1, "A, too: {kind}");
        }
        assert!(!told_of(finding).help.is_empty() && !told_of(finding).evidence.is_empty());
    }
}

#[test]
fn how_the_memory_went_is_told() {
    use object_end::*;
    for (how, action, title, evidence) in [
        (FREED, "frees", "is freed", "was freed"),
        (MOVED, "moves with realloc", "moved by realloc", "realloc moved"),
        (UNMAPPED, "unmaps", "is unmapped", "was unmapped"),
        (FRAME, "leaves the stack frame of", "stack frame of", "function returned"),
        (THREAD, "ends and abandons", "goes with its thread", "thread ended"),
        (UNLOADED, "unloads the module of", "is unloaded", "was unloaded"),
        (EXIT, "ends the process with", "left behind by the process", "process ended"),
        (
            REUSED,
            "initialises again the memory of",
            "is initialised again",
            "or it is initialised twice",
        ),
    ] {
        for fault in [object_fault::GONE_ACTIVE, object_fault::NEVER_DESTROYED] {
            let report = met(object_type::BARRIER, b"", |_, row| {
                as_written(row, fault, how);
                row.thread = 1;
            });
            assert_eq!(steps(&report)[0], (1, action));
            let finding = &report.findings[0];
            if fault == object_fault::GONE_ACTIVE {
                assert!(told_of(finding).title.contains(title), "{}", told_of(finding).title);
                assert!(
                    told_of(finding).title.contains("while it is waited on"),
                    "{}",
                    told_of(finding).title
                );
            }
            assert!(
                told_of(finding).evidence[1].contains(evidence),
                "{:?}",
                told_of(finding).evidence
            );
        }
    }
}

/// A waiter is still there; a thread that armed a timer may be anywhere by now.
#[test]
fn a_user_is_told_as_what_it_is() {
    use object_type::*;
    for (builtin, expected, evidence) in [
        (COND, &[(2, "initialised"), (3, "waits on")][..], "(T3) waits on it at that moment"),
        (SPIN, &[(2, "initialised"), (3, "holds")], "(T3) holds it at that moment"),
        (ONCE, &[(2, "initialised"), (3, "runs")], "(T3) runs it at that moment"),
        (TIMER, &[(2, "created"), (3, "armed")], "(T3) armed it, and has not disarmed it since"),
        (
            OWN,
            &[(2, "initialised"), (3, "activated")],
            "(T3) activated it, and has not deactivated it since",
        ),
    ] {
        let report = met(builtin, b"", |_, row| {
            as_written(row, object_fault::DESTROY_ACTIVE, 0);
        });
        assert_eq!(steps(&report)[1..], *expected);
        assert!(said(&report).contains(evidence), "{}", said(&report));
    }
    // Another than the last that came.
    let report = met(COND, b"", |_, row| {
        as_written(row, object_fault::DESTROY_ACTIVE, 0);
        row.other_thread = 2;
    });
    assert_eq!(steps(&report)[1..], [(2, "initialised"), (3, "began to wait on"), (2, "waits on")]);
    let report = met(COND, b"", |_, row| {
        as_written(row, object_fault::DESTROY_ACTIVE, 0);
        (row.other_thread, row.other_stack) = (0, 0);
    });
    let evidence = "(T3) began to wait on it, and has not stopped waiting on it since";
    assert!(said(&report).contains(evidence), "{}", said(&report));
    // One that is not watched.
    let report = met(COND, b"", |_, row| {
        as_written(row, object_fault::DESTROY_ACTIVE, 0);
        (row.other_thread, row.active_thread) = (0, 0);
    });
    assert!(said(&report).contains("not recorded waits on it"), "{}", said(&report));
}

/// By the kernel's rules a destroyed object stays so until it is freed.
#[test]
fn a_new_life_must_be_allowed() {
    let report = met(object_type::OWN, b"request", |_, row| row.op = object_op::INIT);
    let said = said(&report);
    assert!(said.contains("is initialised again after it was destroyed"), "{said}");
    assert!(said.contains("(T2) destroyed it, and nothing freed it in between"), "{said}");
    assert!(said.contains("reinit"), "{said}");
}

#[test]
fn the_kernels_words_are_among_the_evidence() {
    let report = met(object_type::SEMAPHORE, b"", |_, _| {});
    assert!(said(&report).contains("a destroyed object is activated"), "{}", said(&report));
    let report = met(object_type::SEMAPHORE, b"", |_, row| {
        as_written(row, object_fault::GONE_ACTIVE, object_end::FREED);
    });
    assert!(said(&report).contains("an active object lies in memory that goes"));
}

#[test]
fn a_repair_is_told() {
    let report = met(object_type::OWN, b"request", |_, row| row.fixed = 1);
    assert!(said(&report).contains("fixup"), "{}", said(&report));
    let report = met(object_type::OWN, b"request", |_, _| {});
    assert!(!said(&report).contains("fixup"));
}

#[test]
fn types_have_their_verbs() {
    use object_type::*;
    for (builtin, name, kind, made, used, ended) in [
        (OWN, "request", "request", "initialised", "activated", "destroyed"),
        (OWN, "", "object", "initialised", "activated", "destroyed"),
        (MUTEX, "", "mutex", "initialised", "took", "destroyed"),
        (MTX, "", "mtx_t", "initialised", "took", "destroyed"),
        (CND, "", "cnd_t", "initialised", "began to wait on", "destroyed"),
        (ONCE, "", "once control", "initialised", "ran", "destroyed"),
        (TIMER, "", "timer", "created", "armed", "deleted"),
        (ATTR, "", "thread attributes object", "initialised", "used", "destroyed"),
        (4711, "", "object", "initialised", "activated", "destroyed"),
    ] {
        let report = met(builtin, name.as_bytes(), |_, row| {
            row.active_op = u32::from(object_op::ACTIVATE);
        });
        assert_eq!(report.findings[0].locks[0].kind.to_string(), kind);
        assert_eq!(steps(&report)[1..], [(2, made), (3, used), (2, ended)], "{kind}");
    }
}

#[test]
fn objects_have_the_best_name_there_is() {
    let name = |builtin, own: &[u8], fill: fn(&mut ObjectFinding)| {
        let report = met(builtin, own, |_, row| fill(row));
        let lock = &report.findings[0].locks[0];
        (lock.name.text.clone(), lock.origin.name())
    };
    let cond = |fill| name(object_type::COND, b"", fill);
    assert_eq!(cond(|row| row.addr = VARIABLE), ("table0".into(), "static"));
    assert_eq!(cond(|row| row.addr = VARIABLE + 8), ("table0+0x8".into(), "static"));
    let made = "condition variable initialised at story.c:20 (f20)";
    assert_eq!(cond(|_| {}), (made.into(), "init"));
    let unknown = ("condition variable at 0x7000".into(), "unknown");
    assert_eq!(cond(|row| row.init_stack = 0), unknown);
    let own = "object of type request initialised at story.c:20 (f20)";
    assert_eq!(name(object_type::OWN, b"request", |_| {}), (own.into(), "init"));
    let timer = |fill| name(object_type::TIMER, b"", fill);
    assert_eq!(timer(|row| row.addr = 3), ("timer 3".into(), "init"));
    assert_eq!(timer(|row| row.addr = VARIABLE), ("timer 5242880".into(), "init"));
    let large = ("timer 0x8000000000000001".into(), "unknown");
    assert_eq!(timer(|row| (row.addr, row.init_stack) = (1 << 63 | 1, 0)), large);
    // Numbers are another run's, too; the class is not.
    let report = met(object_type::TIMER, b"", |_, row| row.addr = 3);
    assert_eq!(report.findings[0].locks[0].class, "timer created at story.c:20 (f20)");
    let line = "`timer 3`: timer, created in f20 (/src/story.c:20)\n";
    assert!(render(&report, &PLAIN).contains(line));
}

/// What lay in a module that was unloaded since goes by the name that it had.
#[test]
fn a_variable_keeps_its_name_when_its_module_goes() {
    for (unload_epoch, origin) in [(0, "static"), (9, "static"), (1, "init")] {
        let report = met(object_type::COND, b"", |story, row| {
            let start = VARIABLE + 0x10_0000;
            let bias = start - 0x10_0000;
            let end = start + 0x1000;
            story.row(Module { bias, start, end, unload_epoch, ..Module::default() });
            row.addr = start;
            row.how = object_end::UNLOADED;
            // Stacks of stories are taken at epoch 0, unless it is said.
            if unload_epoch == 1 {
                row.init_stack = 0;
                row.active_stack = 0;
                row.stack = 0;
            }
        });
        let origin = if unload_epoch == 1 { "unknown" } else { origin };
        assert_eq!(report.findings[0].locks[0].origin.name(), origin, "{unload_epoch}");
    }
}

#[test]
fn states_of_the_programs_own_are_named() {
    use object_op::{ACTIVATE, ACTIVE_STATE, DEACTIVATE, DESTROY};
    use object_state::{ACTIVE, DESTROYED, INACTIVE, INIT, NOTAVAILABLE};
    for (op, was, expected) in [
        (ACTIVE_STATE, ACTIVE, "is in state 9 where the program expects state 7"),
        (ACTIVE_STATE, INIT, "is moved on in states of its own while it is not active"),
        (DEACTIVATE, ACTIVE, "is deactivated in state 9 of its own instead of 7"),
        (DEACTIVATE, INACTIVE, "is deactivated while it is not active"),
        (ACTIVATE, ACTIVE, "is activated while it is active"),
        (ACTIVATE, DESTROYED, "is activated after it was destroyed"),
        (DESTROY, NOTAVAILABLE, "is destroyed without having been initialised"),
    ] {
        let report = met(object_type::OWN, b"request", |_, row| {
            as_written(row, object_fault::WRONG_STATE, 0);
            (row.op, row.was) = (op, was);
        });
        let title = &told_of(&report.findings[0]).title;
        assert!(title.ends_with(expected), "{title}");
    }
}

/// The program itself says that a life is over: no memory went.
#[test]
fn a_free_of_the_programs_own_is_told() {
    let report = met(object_type::OWN, b"request", |_, row| {
        as_written(row, object_fault::GONE_ACTIVE, object_end::NONE);
        row.op = object_op::FREE;
    });
    assert!(told_of(&report.findings[0]).title.ends_with("(f20) is freed while it is active"));
    assert_eq!(steps(&report)[0], (1, "frees"));
    assert!(said(&report).contains("the program said that its life was over"));
}

#[test]
fn what_the_parent_did_is_the_parents() {
    let mut parent = Story::new();
    parent.tell("P1: L(A) U(A)\nP2: L(A) U(A)");
    let mut child = parent.fork();
    child.tell("T1: L(A)");
    let began = child.started_at(1000);
    let type_id = child.row(ObjectType { builtin: object_type::COND, ..ObjectType::default() });
    let stack = child.stack(10);
    child.row(ObjectFinding {
        fault: object_fault::USE_AFTER_DESTROY,
        op: object_op::ACTIVATE,
        was: object_state::DESTROYED,
        type_id,
        thread: 1,
        addr: 0x7000,
        stack,
        init_thread: 2,
        init_ns: began - 1,
        destroy_thread: 1,
        destroy_stack: stack,
        destroy_ns: began + 1,
        ..ObjectFinding::default()
    });
    let report = reports(&[parent.ledger(), child.ledger()]);
    let finding = &report.findings[0];
    let step = &finding.steps[1];
    assert_eq!(
        (step.thread.name.as_str(), &*phrase(step.action).leak()),
        ("P2", "initialised in the parent process")
    );
    assert_eq!(finding.steps[2].thread.name, "T1");
    let text = render(&report, &PLAIN);
    assert!(text.contains("initialised it in the parent process at an unknown place"), "{text}");
}

/// Only the time may be known of what happened before the fork.
#[test]
fn what_is_known_of_the_parent_is_evidence() {
    let mut parent = Story::new();
    let mut child = parent.fork();
    child.tell("T1: L(A)");
    let began = child.started_at(1000);
    let type_id = child.row(ObjectType { builtin: object_type::COND, ..ObjectType::default() });
    let row = ObjectFinding {
        fault: object_fault::USE_AFTER_DESTROY,
        op: object_op::ACTIVATE,
        was: object_state::DESTROYED,
        type_id,
        thread: 1,
        addr: 0x7000,
        stack: child.stack(10),
        init_ns: began - 2,
        destroy_ns: began - 1,
        ..ObjectFinding::default()
    };
    child.row(row);
    let report = reports(&[parent.ledger(), child.ledger()]);
    assert_eq!(steps(&report), [(1, "waits on")]);
    let evidence = &told_of(&report.findings[0]).evidence;
    let destroyed = "it was destroyed in the parent process, before the fork, and nothing";
    assert!(evidence[0].starts_with(destroyed), "{evidence:?}");
    let made = "it was initialised in the parent process, before the fork";
    assert_eq!(evidence.iter().filter(|line| *line == made).count(), 1, "{evidence:?}");
}

#[test]
fn places_that_are_the_same_to_a_reader_are_one_finding() {
    let same = |change: fn(&mut Story, &mut ObjectFinding)| {
        let mut story = story(object_type::COND, b"", |_, row| row.repeats = 4);
        let mut row = story.ledger().get::<ObjectFinding>(1).expect("the row");
        change(&mut story, &mut row);
        story.row(row);
        story.report().findings.iter().map(|finding| finding.also).collect::<Vec<_>>()
    };
    assert_eq!(same(|_, row| row.addr += 64), [9]);
    // Another use after the same destruction.
    assert_eq!(same(|story, row| row.stack = story.stack(11)), [9]);
    assert_eq!(same(|story, row| row.destroy_stack = story.stack(41)), [4, 4]);
    assert_eq!(same(|story, row| row.init_stack = story.stack(21)), [4, 4]);
    assert_eq!(same(|_, row| row.fault = object_fault::DESTROY_TWICE), [4, 4]);
    assert_eq!(same(|_, row| row.repeats = u32::MAX), [u64::from(u32::MAX) + 5]);
}

#[test]
fn what_the_program_hints_at_is_named() {
    let report = met(object_type::OWN, b"timer", |story, row| row.hint = story.stack(77));
    let evidence = told_of(&report.findings[0]).evidence.join("\n");
    assert!(evidence.contains("hints at which one it is: `f77`"), "{evidence}");
}

/// What was never destroyed does nobody harm: it is counted, and told to those who ask.
#[test]
fn what_was_never_destroyed_is_only_counted() {
    let report = met(object_type::COND, b"", |_, row| {
        as_written(row, object_fault::NEVER_DESTROYED, object_end::FREED);
        row.repeats = 2;
    });
    assert_eq!(report.findings[0].grade, Grade::Untidy);
    assert!(report.findings[0].grade > Grade::SingleThread, "no --fail-on but its own fails on it");
    let text = render(&report, &BRIEF);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("; 3 objects never destroyed not shown: --all"), "{text}");
    assert!(render(&report, &PLAIN).contains("note[object-never-destroyed]"));
    assert!(json::render(&report).contains("\"object-never-destroyed\""));
}

#[test]
fn hostile_names_are_defused() {
    let evil = "x\u{1b}]0;owned\u{7}\n\u{9b}31m\u{202e}`";
    for (builtin, addr) in [(object_type::OWN, 0x7000), (object_type::OWN, VARIABLE)] {
        for fault in 0..=object_fault::WRONG_STATE {
            let report = met(builtin, evil.as_bytes(), |_, row| {
                as_written(row, fault, object_end::FREED);
                row.addr = addr;
            });
            let text = render(&report, &PLAIN);
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
            assert!(!text.contains('\u{202e}'));
            json::render(&report);
        }
    }
    let report = met(object_type::OWN, b"\xff\xfe\0", |_, _| {});
    render(&report, &PLAIN);
}

#[test]
fn rows_that_make_no_sense_are_survived() {
    for wild in [0, 1, 9, 0x55, u32::MAX] {
        for fault in 0..=u8::MAX {
            let report = met(wild, b"x", |_, row| {
                (row.fault, row.op, row.was, row.how) = (fault, wild as u8, wild as u8, wild as u8);
                (row.thread, row.stack, row.node) = (wild, wild, wild);
                (row.other_thread, row.other_stack) = (wild, wild);
                (row.init_thread, row.init_stack, row.init_ns) = (wild, wild, u64::MAX);
                (row.active_thread, row.active_stack, row.active_op) = (wild, wild, wild);
                (row.destroy_thread, row.destroy_stack) = (wild, wild);
                (row.addr, row.expected, row.repeats) = (u64::MAX, u64::MAX, u32::MAX);
                row.hint = wild;
                if wild == 9 {
                    row.type_id = u32::MAX;
                }
            });
            render(&report, &PLAIN);
            render(&report, &BRIEF);
            json::render(&report);
        }
    }
}

#[test]
fn tracking_that_ended_is_noted() {
    for (off, noted) in [(0, false), (1, true)] {
        let mut story = Story::new();
        story.tell("T1: L(A) U(A)");
        story.row(ObjectPools { off, ..ObjectPools::default() });
        let notes = story.report().processes[0].notes.clone();
        let is_noted =
            notes.iter().any(|note| matches!(note, Note::Missing(Missing::ObjectsStopped { .. })));
        assert_eq!(is_noted, noted, "{notes:?}");
    }
}

/// The words of every fault, without sources. `LOCKWRIGHT_BLESS=1` rewrites them.
#[test]
fn every_fault_reads_well() {
    use object_type::*;
    let mut text = String::new();
    let mut add = |builtin, name: &str, fault, how| {
        let report = met(builtin, name.as_bytes(), |_, row| {
            as_written(row, fault, how);
            if builtin == TIMER {
                row.addr = 3;
            }
            if builtin == BARRIER {
                row.addr = VARIABLE;
            }
        });
        let finding = render(&report, &PLAIN);
        text += finding.split("lockwright: ").next().unwrap();
    };
    for fault in object_fault::INIT_TWICE..=object_fault::WRONG_STATE {
        let (types, ends): (&[(u32, &str)], &[u8]) = match fault {
            object_fault::INIT_TWICE => (&[(BARRIER, ""), (OWN, "request")], &[0]),
            object_fault::INIT_ACTIVE => (&[(SEMAPHORE, "")], &[0]),
            object_fault::UNINITIALISED => (&[(COND, ""), (SPIN, "")], &[0]),
            object_fault::USE_AFTER_DESTROY => (&[(COND, ""), (TIMER, "")], &[0]),
            object_fault::DESTROY_TWICE => (&[(TIMER, ""), (ATTR, "")], &[0]),
            object_fault::DESTROY_ACTIVE => (&[(COND, ""), (BARRIER, "")], &[0]),
            object_fault::GONE_ACTIVE => (&[(COND, "")], &[1, 2, 3, 4, 5, 6]),
            object_fault::NEVER_DESTROYED => (&[(COND, "")], &[1, 4, 7]),
            _ => (&[(OWN, "request")], &[0]),
        };
        for &(builtin, name) in types {
            for &how in ends {
                add(builtin, name, fault, how);
            }
        }
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let path = home.join("tests/golden/objects.txt");
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs; LOCKWRIGHT_BLESS=1 writes it anew", path.display());
}
