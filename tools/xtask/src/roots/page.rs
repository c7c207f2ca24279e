//! docs/compatibility.md: a table of the versions of glibc and the commands, made by a run.

use std::fs;

use super::commands::{COMMANDS, LEFT_OUT};
use super::results::Results;
use super::root::Root;
use crate::workspace::root;

/// What came out in a root: a result for each command.
pub struct Column {
    /// The root.
    pub root: Root,
    /// In the order of the commands.
    pub rows: Vec<Results>,
}

impl Column {
    /// The tests that failed: suite, command and name.
    pub fn failed(&self) -> Vec<String> {
        let rows = COMMANDS.iter().zip(&self.rows);
        rows.flat_map(|(command, results)| {
            results.failed.iter().map(move |test| (command.name, test))
        })
        .map(|(command, test)| format!("{}, {command}: {test}", self.root.suite))
        .collect()
    }
}

/// Writes it, of all tests or of the short form.
///
/// # Errors
/// When it cannot be written.
pub fn write(columns: &[Column], all: bool) -> Result<(), String> {
    let page = root().join("docs/compatibility.md");
    fs::write(&page, text(columns, all)).map_err(|e| format!("{}: {e}", page.display()))
}

const BEFORE: &str = "\
# Versions of glibc

What is shipped runs with glibc 2.31 and every later version. This table says how many tests of the shipped command passed in
roots of Debian's suites. The test programs were compiled there, by the suite's own gcc. A cell in bold has failures, which
are listed below the table. `cargo xtask roots --all --write` makes this page. CI runs a short form in the first suite and
in trixie.

";

const SHORT_FORM: &str = "\
This table is of the short form: `cargo xtask roots --write bullseye bookworm trixie sid`.

";

const BUILT: &str = "
## How it is built

    cargo xtask dist

needs root privileges and debootstrap the first time. It makes a root of Debian 11, which has glibc 2.31, in
/var/cache/lockwright/roots. Then it builds everything with

    LOCKWRIGHT_SYSROOT=/var/cache/lockwright/roots/bullseye cargo build --release

and packs it. The variable can be used without `cargo xtask`, and names any directory with an older C library and what is
needed to link with it. The machine's own compilers and linker are used; only the C library is another one. The libraries and
the demo inside the command are linked in the same way. `cargo xtask dist` fails if one of them, or the command, needs a
later version than 2.31.

`cargo zigbuild --target x86_64-unknown-linux-gnu.2.31` (0.24.1) builds the command, too, and needs no root. That command
needs glibc 2.30, as the one made with the root does, has 27.7 MB instead of 27.6, and starts on Debian 11. But the nested
builds do not get zig's linker: the two libraries need no more than 2.17 anyway, and the demo, which `cc` links with the
machine's own C library, needs 2.34 and does not start on Debian 11. So the root stays.
";

fn text(columns: &[Column], all: bool) -> String {
    let mut text = BEFORE.to_owned();
    if !all {
        text += SHORT_FORM;
    }
    let mut header = "| |".to_owned();
    for Column { root, .. } in columns {
        header += &format!(" glibc {} ({}, gcc {}) |", root.glibc, root.suite, root.gcc);
    }
    text += &format!("{header}\n|---|{}\n", "---:|".repeat(columns.len()));
    for (i, command) in COMMANDS.iter().enumerate() {
        text += &format!("| `{}`: {} |", command.name, command.what);
        for column in columns {
            text += &format!(" {} |", column.rows[i].short());
        }
        text += "\n";
    }
    let failed: Vec<String> = columns.iter().flat_map(Column::failed).collect();
    if failed.is_empty() {
        text += "\nNo test failed.\n";
    } else {
        text += "\nThese fail:\n\n";
        text.extend(failed.iter().map(|failed| format!("- {failed}\n")));
    }
    let skipped: Vec<usize> = columns
        .iter()
        .map(|column| column.rows.iter().map(|results| results.skipped.len()).sum())
        .collect();
    if let Some(most) = skipped.iter().max().filter(|&&most| most > 0) {
        text += &format!(
            "\nUp to {most} more tests need a program that the roots do not have, and are not counted.\n"
        );
    }
    if !LEFT_OUT.is_empty() {
        text += "\nNot run there:\n\n";
        text.extend(LEFT_OUT.iter().map(|left| format!("- {}\n", left.said())));
    }
    text + BUILT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_row_and_each_failure_a_line() {
        let root = Root {
            suite: "bullseye".into(),
            dir: "/nowhere".into(),
            glibc: "2.31".into(),
            gcc: "10".into(),
        };
        let mut rows: Vec<Results> =
            COMMANDS.iter().map(|command| Results::of_one(command.name, true)).collect();
        rows[0] = Results::of_one("demo", false);
        let column = Column { root, rows };
        assert_eq!(column.failed(), ["bullseye, demo: demo"]);
        let text = text(&[column], true);
        assert!(!text.contains(SHORT_FORM), "{text}");
        assert!(text.contains("| | glibc 2.31 (bullseye, gcc 10) |\n|---|---:|\n"), "{text}");
        assert!(text.contains("planted deadlock | **0 of 1** |\n"), "{text}");
        assert!(text.contains("- bullseye, demo: demo\n"), "{text}");
        assert_eq!(text.matches("| 1 |").count(), COMMANDS.len() - 1, "{text}");
    }
}
