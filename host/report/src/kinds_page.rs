//! docs/report-kinds.md, section by section.

static PAGE: &str = include_str!("report-kinds.md");

/// The page's section on a kind or a grade, without its comments; `None` if there is none.
pub fn section(id: &str) -> Option<String> {
    let heading = format!("\n### {id}\n");
    let (_, text) = PAGE.split_once(&heading)?;
    let end = text.find("\n### ").into_iter().chain(text.find("\n## ")).min().unwrap_or(text.len());
    let lines = text[..end].lines().filter(|line| !line.starts_with("<!--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    Some(text.trim().replace("\n\n\n", "\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::{Grade, Kind};

    #[test]
    fn every_kind_and_grade_is_explained() {
        for kind in Kind::ALL {
            let text = section(kind.name()).unwrap_or_default();
            assert!(text.contains("\n\n"), "{} has no example and no advice", kind.name());
        }
        assert!(Grade::ALL.iter().all(|grade| section(grade.name()).is_some()));
        assert!(section("circular").is_none());
    }
}
