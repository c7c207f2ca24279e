//! What may be taken inside what: the kernel's wait_context family. A program that says how a lock
//! waits has locks that sleep inside locks that spin reported; one that says nothing has not.

use super::{COLUMNS, Case, Column, Column::*};

const INVALID: (&str, &str) = ("likely", "invalid-wait-context");

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for outer in COLUMNS {
        for inner in COLUMNS {
            for said in [true, false] {
                let says = match (said, outer) {
                    (false, _) => "",
                    (_, Spin) => "SPINS(A) ",
                    _ => "SLEEPS(A) ",
                };
                let nested =
                    format!("T1: {says}{}(A) {}(B) U(B) U(A)\n", letter(outer), letter(inner));
                let declared = [(outer, "A"), (inner, "B")].map(|(column, lock)| {
                    column.declaration().map(|kind| format!("{kind} {lock}\n"))
                });
                let story = declared.into_iter().flatten().collect::<String>() + &nested;
                let invalid = said && outer == Spin && inner != Spin;
                if said {
                    // What it says may come last.
                    let late = story.replace(says, "").trim_end().to_owned() + " " + says;
                    let family = format!("wait_context, {inner:?} in {outer:?}, said late");
                    cases.push(Case { family, story: late, expected: invalid.then_some(INVALID) });
                }
                let family = format!("wait_context, {inner:?} in {outer:?}");
                cases.push(Case { family, story, expected: invalid.then_some(INVALID) });
            }
        }
    }
    cases
}

fn letter(column: Column) -> char {
    if matches!(column, Read | WriterRead) { 'R' } else { 'L' }
}
