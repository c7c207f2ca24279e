//! Every cell of the table against what it should be, written down apart from it.

use lockwright_engines::debugobjects::table::{Cell, Step, TABLE, Table, Verdict, step};
use lockwright_engines::debugobjects::{Operation, Rules, State};
use lockwright_ledger::rows::object::object_fault;

/// By the kernel's rules. `?`: ask. `!`: a fault, whose name follows, and then the state. `#`: the
/// same if the count is wrong, after the state if it is right.
const KERNEL: &str = "
                init          on_stack      activate        deactivate            destroy               free               assert       active_state          no_obj_freed
none            init          init          ?               ?                     none                  none               ?            ?                     none
init            init          init          active          inactive              destroyed             none               init         !wrong:init           none
inactive        init          init          active          inactive              destroyed             none               inactive     !wrong:inactive       none
active          !busy:active  !busy:active  !wrong:active   inactive#wrong:active !ends:active          !gone:active       active       active#wrong:active   !gone:none
destroyed       !dead:destroyed !dead:destroyed !dead:destroyed !dead:destroyed   !twice:destroyed      none               destroyed    !dead:destroyed       none
notavailable    init          init          !unknown:none   !unknown:none         none                  none               !unknown:none !unknown:none        none
";

/// What one rule changes, alone.
const CHANGES: &[(Rules, &str, &str, &str)] = &[
    (Rules::INIT_ONCE, "init", "init", "!again:init"),
    (Rules::INIT_ONCE, "init", "on_stack", "!again:init"),
    (Rules::INIT_ONCE, "inactive", "init", "!again:init"),
    (Rules::INIT_ONCE, "inactive", "on_stack", "!again:init"),
    (Rules::REINIT, "destroyed", "init", "init"),
    (Rules::REINIT, "destroyed", "on_stack", "init"),
    (Rules::MUST_DESTROY, "init", "no_obj_freed", "!never:none"),
    (Rules::MUST_DESTROY, "inactive", "no_obj_freed", "!never:none"),
    (Rules::DESTROY_ACTIVE_OK, "active", "destroy", "destroyed"),
    (Rules::DESTROY_ACTIVE_OK, "active", "free", "none"),
    (Rules::ACTIVATE_ACTIVE_OK, "active", "activate", "active"),
    (Rules::DESTROY_KNOWN, "none", "destroy", "?"),
    (Rules::DESTROY_KNOWN, "notavailable", "destroy", "!unknown:none"),
    (Rules::ASSERT_ALIVE, "destroyed", "assert", "!dead:destroyed"),
];

const ALL_RULES: [Rules; 9] = [
    Rules::INIT_ONCE,
    Rules::REINIT,
    Rules::STATIC,
    Rules::MUST_DESTROY,
    Rules::DESTROY_ACTIVE_OK,
    Rules::ACTIVATE_ACTIVE_OK,
    Rules::DESTROY_KNOWN,
    Rules::ASSERT_ALIVE,
    Rules::FINGERPRINT,
];

fn state(name: &str) -> State {
    match name {
        "none" => State::None,
        "init" => State::Init,
        "inactive" => State::Inactive,
        "active" => State::Active,
        "destroyed" => State::Destroyed,
        "notavailable" => State::NotAvailable,
        _ => panic!("state {name}"),
    }
}

fn fault(name: &str) -> u8 {
    match name {
        "again" => object_fault::INIT_TWICE,
        "busy" => object_fault::INIT_ACTIVE,
        "unknown" => object_fault::UNINITIALISED,
        "dead" => object_fault::USE_AFTER_DESTROY,
        "ends" => object_fault::DESTROY_ACTIVE,
        "twice" => object_fault::DESTROY_TWICE,
        "gone" => object_fault::GONE_ACTIVE,
        "never" => object_fault::NEVER_DESTROYED,
        "wrong" => object_fault::WRONG_STATE,
        _ => panic!("fault {name}"),
    }
}

fn operation(name: &str) -> Operation {
    match name {
        "init" => Operation::Init,
        "on_stack" => Operation::InitOnStack,
        "activate" => Operation::Activate,
        "deactivate" => Operation::Deactivate,
        "destroy" => Operation::Destroy,
        "free" => Operation::Free,
        "assert" => Operation::AssertInit,
        "active_state" => Operation::ActiveState,
        "no_obj_freed" => Operation::NoObjFreed,
        _ => panic!("operation {name}"),
    }
}

/// What a cell of the grid says.
fn expected(cell: &str, counts: bool) -> Step {
    let faulty = |text: &str| {
        let (kind, next) = text.split_once(':').unwrap();
        Step::To(state(next), Some(fault(kind)))
    };
    match cell.split_once('#') {
        Some((fine, _)) if counts => Step::To(state(fine), None),
        Some((_, bad)) => faulty(bad),
        None if cell == "?" => Step::Ask,
        None => match cell.strip_prefix('!') {
            Some(bad) => faulty(bad),
            None => Step::To(state(cell), None),
        },
    }
}

/// The cells that are not as expected, with the rules and the count under which.
fn wrong(table: &Table) -> Vec<String> {
    let mut lines = KERNEL.trim_matches('\n').lines();
    let names: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let mut wrong = Vec::new();
    let mut cells = 0;
    for line in lines {
        let mut words = line.split_whitespace();
        let row = words.next().unwrap();
        for (&column, cell) in names.iter().zip(words) {
            cells += 1;
            // Every set of rules: those that change other cells change nothing here.
            for bits in 0..1 << ALL_RULES.len() {
                let rules = Rules(bits);
                let change = CHANGES
                    .iter()
                    .find(|&&(rule, r, c, _)| rules.has(rule) && r == row && c == column);
                for counts in [true, false] {
                    let should = expected(change.map_or(cell, |change| change.3), counts);
                    let is = step(table, state(row), operation(column), rules, counts);
                    if is != should {
                        wrong.push(format!(
                            "{row}, {column}, {rules:?}: {is:?}, should be {should:?}"
                        ));
                    }
                }
            }
        }
    }
    assert_eq!(cells, State::ALL.len() * Operation::ALL.len());
    wrong
}

#[test]
fn every_cell_says_what_it_should() {
    assert_eq!(wrong(&TABLE), [""; 0]);
}

#[test]
fn states_and_operations_are_numbered_as_the_table_is() {
    for (i, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(state as usize, i);
    }
    for (i, op) in Operation::ALL.into_iter().enumerate() {
        assert_eq!(op as usize, i + 1);
    }
    let mut bits = 0;
    for rule in ALL_RULES {
        assert_eq!((rule.0.count_ones(), bits & rule.0), (1, 0));
        bits |= rule.0;
    }
}

/// The planted fault: whatever is changed in a cell is seen.
#[test]
fn a_broken_cell_is_noticed() {
    for row in 0..State::ALL.len() {
        for column in 0..Operation::ALL.len() {
            let mutants: [fn(Cell) -> Cell; 3] = [
                |cell| Cell {
                    verdict: if cell.verdict == Verdict::Fine {
                        Verdict::Fault(object_fault::WRONG_STATE)
                    } else {
                        Verdict::Fine
                    },
                    ..cell
                },
                |cell| match cell.verdict {
                    Verdict::Fault(_) => Cell { fault: other(cell.fault), ..cell },
                    Verdict::Ask => Cell { verdict: Verdict::Fault(1), ..cell },
                    _ => Cell { fine: other(cell.fine), ..cell },
                },
                |cell| Cell {
                    verdict: match cell.verdict {
                        Verdict::Fine => Verdict::Ask,
                        Verdict::Fault(kind) => Verdict::Fault(kind % 9 + 1),
                        Verdict::IfRule(rule, kind) => Verdict::UnlessRule(rule, kind),
                        Verdict::UnlessRule(rule, kind) => Verdict::IfRule(rule, kind),
                        Verdict::IfCount(kind) => Verdict::Fault(kind),
                        Verdict::Ask => Verdict::AskIfRule(Rules::STATIC),
                        Verdict::AskIfRule(_) => Verdict::Ask,
                    },
                    ..cell
                },
            ];
            for mutate in mutants {
                let mut table = TABLE;
                table[row][column] = mutate(table[row][column]);
                assert_ne!(wrong(&table), [""; 0], "row {row}, column {column}");
            }
        }
    }
}

fn other(state: State) -> State {
    State::ALL[(state as usize + 1) % State::ALL.len()]
}
