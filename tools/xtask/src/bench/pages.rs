//! The pages of figures in the sources.

use crate::workspace::{read, root};

/// Published figures, next to this machine's.
pub const TABLES: &str = "docs/lab/tables.md";
/// Published figures, and larger machines, simulated.
pub const SIMULATED: &str = "docs/lab/simulated.md";

/// Whether a page in the sources was made by a version that has the same headings, by `bench` with `name`.
pub fn same_headings(now: &str, page: &str, name: &str) -> Result<(), String> {
    let made = read(root().join(page))?;
    let headings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("## "));
        lines.map(str::to_owned).collect()
    };
    if headings(now) == headings(&made) {
        Ok(())
    } else {
        Err(format!("{page} has other tables than this run: `cargo xtask bench {name} --write`"))
    }
}
