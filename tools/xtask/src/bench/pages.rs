//! The pages of figures in the sources.

use crate::workspace::{read, root};

/// Published figures, next to this machine's.
pub const TABLES: &str = "docs/lab/tables.md";
/// Published figures, and larger machines, simulated.
pub const SIMULATED: &str = "docs/lab/simulated.md";

/// The page at `path` of the sources with `text` for the figures that it has between its first two
/// fences.
pub fn with_figures(path: &str, text: &str) -> Result<String, String> {
    let page = read(root().join(path))?;
    between_fences(&page, text).ok_or(format!("{path} has no figures to replace"))
}

fn between_fences(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once("```")?;
    let (_, after) = rest.split_once("```")?;
    Some(format!("{before}```\n{text}```{after}"))
}

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

#[cfg(test)]
mod tests {
    use super::between_fences;

    #[test]
    fn figures_are_put_between_the_first_two_fences() {
        let page = "# A page\n\n```\nold\n```\n\nand ```more```\n";
        let expected = "# A page\n\n```\nnew\n```\n\nand ```more```\n";
        assert_eq!(between_fences(page, "new\n").as_deref(), Some(expected));
        let empty = "# A page\n\n```\n```\n";
        assert_eq!(between_fences(empty, "new\n").as_deref(), Some("# A page\n\n```\nnew\n```\n"));
        assert_eq!(between_fences("# A page\n", "new"), None);
    }
}
