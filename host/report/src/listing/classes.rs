//! Lock classes, as /proc/lockdep has them.

use std::fmt::Write;

use lockwright_ledger::rows::usage;

use super::process::Process;
use crate::prose::words::plain;
use lockwright_analysis::class_ops::class_ops;
use lockwright_analysis::dependencies::{IN, OPEN};
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::reach::{Reach, Reaches};

/// All classes with how often their locks were acquired (OPS), how many classes follow (FD) and
/// precede (BD) them, themselves included as in the kernel, the kernel's usage characters, and what is taken while they are held.
pub fn render(processes: &[Process<'_>]) -> String {
    let mut out = String::new();
    for process in processes {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "all lock classes of {}:", plain(&process.title()));
        one(&mut out, process);
    }
    out
}

fn one(out: &mut String, process: &Process<'_>) {
    let Process { model, dependencies, .. } = process;
    let reversed = dependencies.reversed();
    let (forwards, backwards) = (Reaches::new(&dependencies.direct), Reaches::new(&reversed));
    let ops = class_ops(model);
    let acquired = |class| match &ops {
        Some(ops) => ops.get(&class).copied().unwrap_or(0).to_string(),
        None => "n/a".to_owned(),
    };
    // The class itself counts.
    let number =
        |reach: Reach| format!("{}{}", if reach.cut { ">=" } else { "" }, reach.classes + 1);
    for class in 1..=model.classes.len() as u32 {
        let group = model.classes.group(class);
        let (write, read) = characters(process, class);
        let _ = writeln!(
            out,
            "OPS:{:>8} FD: {:>5} BD: {:>5} {write}{read}: {}{}",
            acquired(class),
            number(forwards.from(class)),
            number(backwards.from(class)),
            plain(&group.name),
            // A name that is not the program's says the kind already.
            if group.is_symbol {
                format!(" ({})", LockKind::of(group.kind).name())
            } else {
                String::new()
            },
        );
        for &to in dependencies.direct.get(&class).into_iter().flatten() {
            let _ = writeln!(out, " -> {}", plain(&model.classes.group(to).name));
        }
        let _ = writeln!(out);
    }
}

/// What signals mean to a class, acquired for writing and for reading: `-` used in a handler, `+`
/// held with its signal open, `?` both, `.` neither.
fn characters(process: &Process<'_>, class: u32) -> (char, char) {
    let of = |bits: u32| {
        let has = |side: u32| process.dependencies.has(class, side & bits);
        match (has(IN), has(OPEN)) {
            (true, true) => '?',
            (true, false) => '-',
            (false, true) => '+',
            (false, false) => '.',
        }
    };
    (of(usage::USED_IN | usage::OPEN), of(usage::USED_IN_READ | usage::OPEN_READ))
}
