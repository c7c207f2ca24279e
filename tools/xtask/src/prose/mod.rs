//! `cargo xtask test prose`: documents, comments, help pages and golden reports are plain English.
//!
//! [`rules`] are patterns of sentences that a reader has to read twice. [`texts`] are what users and engineers
//! read, cut into [`paragraph`]s. Old faults are counted in [`exceptions`], and a count may only go down.

mod exceptions;
mod hit;
mod paragraph;
mod rules;
mod texts;

use exceptions::Exceptions;
use hit::Hit;

/// Where the list of exceptions lies.
const LIST: &str = "tools/xtask/src/prose/exceptions.txt";

/// Checks every text, or with LOCKWRIGHT_BLESS lowers the counts in the list of exceptions.
///
/// # Errors
/// When a text breaks a rule more often than the list has it, or less often.
pub fn check() -> Result<(), String> {
    let path = crate::workspace::root().join(LIST);
    let listed = Exceptions::parse(&crate::workspace::read(&path)?)?;
    let hits = hits(&texts::all()?);
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        let lower = listed.lowered(&hits);
        std::fs::write(&path, lower.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
        return verdict(&lower, &hits);
    }
    verdict(&listed, &hits)
}

fn hits(texts: &[texts::Text]) -> Vec<Hit> {
    let rules = rules::all();
    let mut hits = Vec::new();
    for text in texts {
        for paragraph in &text.paragraphs {
            for rule in &rules {
                hits.extend(rule.find(paragraph.text()).into_iter().map(|found| Hit {
                    text: text.name.clone(),
                    line: paragraph.line_at(found.start),
                    rule: rule.name,
                    quote: paragraph.around(found),
                    advice: rule.advice,
                }));
            }
        }
    }
    hits
}

/// Compares the hits with the list.
fn verdict(listed: &Exceptions, hits: &[Hit]) -> Result<(), String> {
    let found = Exceptions::count(hits);
    let mut faults = Vec::new();
    let fresh = |hit: &&Hit| found.get(&hit.text, hit.rule) > listed.get(&hit.text, hit.rule);
    faults.extend(hits.iter().filter(fresh).map(|Hit { text, line, rule, quote, advice }| {
        format!("{text}:{line}: {rule}: ...{quote}... ({advice})")
    }));
    for (text, rule, count) in listed.iter() {
        let now = found.get(text, rule);
        if now < count {
            faults.push(format!(
                "{LIST}: {text} breaks {rule} {now} times, not {count}: lower it, or let LOCKWRIGHT_BLESS=1 do it"
            ));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} sentences are not plain English, or too many are listed\n{}",
        faults.len(),
        faults.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use texts::Text;

    fn verdict_of(list: &str, document: &str) -> Result<(), String> {
        let text = Text { name: "a.md".to_owned(), paragraphs: paragraph::of_document(document) };
        verdict(&Exceptions::parse(list).unwrap(), &hits(&[text]))
    }

    #[test]
    fn a_fault_that_is_not_listed_fails_with_its_line_and_advice() {
        let fault =
            verdict_of("", "# Title\n\nThe first line.\nThe second is made anew.\n").unwrap_err();
        assert!(fault.contains("a.md:4: anew: ..."), "{fault}");
        assert!(fault.contains("(again, re-)"), "{fault}");
    }

    #[test]
    fn a_listed_fault_passes_and_one_more_of_its_kind_fails() {
        assert_eq!(verdict_of("a.md anew 1\n", "It is made anew."), Ok(()));
        assert!(verdict_of("a.md anew 1\n", "It is made anew. And anew.").is_err());
    }

    #[test]
    fn a_count_that_is_too_high_has_to_be_lowered() {
        let fault = verdict_of("a.md anew 2\n", "It is made anew.").unwrap_err();
        assert!(fault.contains("a.md breaks anew 1 times, not 2"), "{fault}");
    }
}
