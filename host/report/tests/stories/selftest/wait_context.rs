//! What may be taken inside what: the kernel's wait_context family. A program that says how a lock
//! waits has locks that sleep inside locks that spin reported for certain; of one that says nothing
//! the locks' kinds are gone by, and it is only possible that it matters.

use super::{COLUMNS, Case, Column, Column::*};

const INVALID: (&str, &str) = ("likely", "invalid-wait-context");
const UNSAID: (&str, &str) = ("possible", "sleep-with-spinlock-held");

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
                let invalid = outer == Spin && inner != Spin;
                let expected = invalid.then_some(if said { INVALID } else { UNSAID });
                if said {
                    // What it says may come last.
                    let late = story.replace(says, "").trim_end().to_owned() + " " + says;
                    let family = format!("wait_context, {inner:?} in {outer:?}, said late");
                    cases.push(Case { family, story: late, expected });
                }
                let family = format!("wait_context, {inner:?} in {outer:?}");
                cases.push(Case { family, story, expected });
            }
        }
    }
    cases
}

fn letter(column: Column) -> char {
    if matches!(column, Read | WriterRead) { 'R' } else { 'L' }
}
