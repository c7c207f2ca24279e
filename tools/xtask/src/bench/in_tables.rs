//! The simulated figures in docs/lab/tables.md: each section gets its part of docs/lab/simulated.md at its end, and the locks
//! from 1 to 144 CPUs.

use std::fs;

use super::pages::{SIMULATED, TABLES};
use crate::workspace::{read, root};

/// Begins what was put into the page.
const BEGINS: &str = "### On the published machine, simulated";

/// The section of docs/lab/simulated.md that is put in as it is, at the end.
const SCALING: &str = "From 1 to 144 CPUs";

/// Puts the figures of `simulated` into the page `tables`, and overwrites those that it has.
pub fn put(tables: &str, simulated: &str) -> String {
    let parts: Vec<(&str, &str)> = sections(simulated).collect();
    let part_of =
        |title: &str| parts.iter().find(|(name, _)| *name == title).map(|(_, text)| *text);
    let mut page = tables.split("\n## ").next().unwrap_or_default().trim_end().to_owned();
    for (title, text) in sections(tables).filter(|(title, _)| *title != SCALING) {
        let own = text.split(BEGINS).next().unwrap_or_default().trim();
        page += &format!("\n\n## {title}\n\n{own}");
        let document = title.split(':').next().unwrap_or_default();
        if let Some(simulated) = part_of(document) {
            page += &format!(
                "\n\n{BEGINS}\n\nVirtual time: [simulated.md](simulated.md) says how.\n\n{}",
                simulated.trim()
            );
        }
    }
    if let Some(scaling) = part_of(SCALING) {
        page += &format!("\n\n## {SCALING}\n\n{}", scaling.trim());
    }
    page + "\n"
}

/// Titles of the sections of a page, and what stands in them.
fn sections(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// Puts the figures of docs/lab/simulated.md, as it is, into docs/lab/tables.md.
///
/// # Errors
/// If one of the pages cannot be read, or docs/lab/tables.md cannot be written.
pub fn update() -> Result<(), String> {
    let file = root().join(TABLES);
    fs::write(&file, updated()?).map_err(|e| format!("{}: {e}", file.display()))
}

/// Whether docs/lab/tables.md has the figures of docs/lab/simulated.md.
///
/// # Errors
/// If it has not, or a page cannot be read.
pub fn check() -> Result<(), String> {
    match updated()? == read(root().join(TABLES))? {
        true => Ok(()),
        false => Err(format!(
            "{} has other figures than {}: `cargo xtask bench simulated --write`",
            TABLES, SIMULATED
        )),
    }
}

fn updated() -> Result<String, String> {
    Ok(put(&read(root().join(TABLES))?, &read(root().join(SIMULATED))?))
}

#[cfg(test)]
mod tests {
    use super::put;

    const TABLES: &str = "# Figures\n\nOf this machine.\n\n## Document 0: Locks\n\n### Builds\n\n1.5\n\n## Later\n\nMore.\n";

    #[test]
    fn each_document_gets_its_own() {
        let simulated =
            "# Simulated\n\n## Document 0\n\n1.4\n\n## CNA\n\n2\n\n## From 1 to 144 CPUs\n\n7\n";
        let page = put(TABLES, simulated);
        let expected = "# Figures\n\nOf this machine.\n\n## Document 0: Locks\n\n### Builds\n\n1.5\n\n\
                        ### On the published machine, simulated\n\n\
                        Virtual time: [simulated.md](simulated.md) says how.\n\n1.4\n\n\
                        ## Later\n\nMore.\n\n## From 1 to 144 CPUs\n\n7\n";
        assert_eq!(page, expected);
        // In the place of what it has.
        let anew = put(&page, &simulated.replace("1.4", "1.3"));
        assert_eq!(anew, expected.replace("1.4", "1.3"));
    }
}
