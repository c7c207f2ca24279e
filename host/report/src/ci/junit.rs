//! The report as JUnit's XML, which nearly every CI service shows: a suite for each process, in which
//! each finding is a test case; of one without any there is a case that has passed.
//!
//! There is no standard; this is the subset that Jenkins, GitLab and Azure agree in, as Jenkins' schema has it. So no case has
//! attributes for its file and line: these are in its text.

use std::collections::BTreeMap;
use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::entry::Entry;
use super::{Options, entries, test_name};
use crate::prose::coverage;
use crate::text::OneByOne;
use crate::verdict::Judged;

/// The name of the suite of findings of several processes.
const SEVERAL: &str = "several processes";

/// A suite: what became of one process.
struct Suite<'e, 'r> {
    name: String,
    findings: Vec<&'e Entry<'r>>,
    missing: Vec<String>,
}

impl Suite<'_, '_> {
    fn tests(&self) -> usize {
        (self.findings.len() + self.missing.len()).max(1)
    }

    fn failures(&self) -> usize {
        self.findings.iter().filter(|entry| entry.fails).count()
    }
}

/// Renders the document; ends with a newline.
pub fn render(judged: &Judged<'_>, options: Options) -> String {
    let (entries, texts) = entries(judged, options);
    let suites = suites(judged, &entries);
    let mut bytes = Vec::new();
    write(&mut bytes, &texts, &suites).expect("memory can be written to");
    String::from_utf8(bytes).expect("it is made of strings") + "\n"
}

fn suites<'e, 'r>(judged: &Judged<'r>, entries: &'e [Entry<'r>]) -> Vec<Suite<'e, 'r>> {
    let mut of_process: BTreeMap<Option<usize>, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in entries {
        of_process.entry(entry.finding.process).or_default().push(entry);
    }
    let mut suites = Vec::new();
    for (number, process) in judged.report.processes.iter().enumerate() {
        suites.push(Suite {
            name: test_name::command(process),
            findings: of_process.remove(&Some(number)).unwrap_or_default(),
            missing: process.missing().map(coverage::gap_line).collect(),
        });
    }
    let findings: Vec<&Entry<'_>> = of_process.into_values().flatten().collect();
    let gaps = judged.report.summary.completeness.gaps.iter().filter(|gap| gap.pid == 0);
    let missing: Vec<String> = gaps.map(|gap| coverage::gap_line(&gap.missing)).collect();
    if !findings.is_empty() || !missing.is_empty() {
        suites.push(Suite { name: SEVERAL.to_owned(), findings, missing });
    }
    suites
}

fn write(bytes: &mut Vec<u8>, texts: &OneByOne<'_>, suites: &[Suite<'_, '_>]) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(bytes, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let sum =
        |count: fn(&Suite<'_, '_>) -> usize| suites.iter().map(count).sum::<usize>().to_string();
    let (tests, failures, errors) =
        (sum(|s| s.tests()), sum(|s| s.failures()), sum(|s| s.missing.len()));
    let all = writer.create_element("testsuites").with_attributes([
        ("name", "lockwright"),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
    ]);
    all.write_inner_content(|writer| {
        suites.iter().try_for_each(|suite| write_suite(writer, texts, suite))
    })?;
    Ok(())
}

fn write_suite(
    writer: &mut Writer<&mut Vec<u8>>,
    texts: &OneByOne<'_>,
    suite: &Suite<'_, '_>,
) -> io::Result<()> {
    let (name, tests) = (clean(&suite.name), suite.tests().to_string());
    let (failures, errors) = (suite.failures().to_string(), suite.missing.len().to_string());
    let element = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
    ]);
    element.write_inner_content(|writer| {
        for entry in &suite.findings {
            write_finding(writer, texts, &name, entry)?;
        }
        for missing in &suite.missing {
            let case = [("classname", name.as_str()), ("name", "watched whole")];
            let case = writer.create_element("testcase").with_attributes(case);
            case.write_inner_content(|writer| {
                let error = writer.create_element("error");
                error.with_attribute(("message", clean(missing).as_str())).write_empty()?;
                Ok(())
            })?;
        }
        if suite.findings.is_empty() && suite.missing.is_empty() {
            let case = [("classname", name.as_str()), ("name", "no findings")];
            writer.create_element("testcase").with_attributes(case).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_finding(
    writer: &mut Writer<&mut Vec<u8>>,
    texts: &OneByOne<'_>,
    suite: &str,
    entry: &Entry<'_>,
) -> io::Result<()> {
    let kind = entry.finding.kind.name();
    let title = clean(&entry.title);
    let class = clean(entry.test.as_deref().unwrap_or(suite));
    let name = format!("{kind}: {title}");
    let case = writer
        .create_element("testcase")
        .with_attributes([("classname", class.as_str()), ("name", name.as_str())]);
    let text = clean(&texts.text(entry.finding));
    case.write_inner_content(|writer| {
        let (element, grade) =
            (if entry.fails { "failure" } else { "system-out" }, entry.finding.grade);
        let mut element = writer.create_element(element);
        if entry.fails {
            let message = format!("{title} ({})", grade.name());
            element = element.with_attributes([("message", message.as_str()), ("type", kind)]);
        }
        element.write_text_content(BytesText::new(&text))?;
        Ok(())
    })?;
    Ok(())
}

/// Without what no XML document may have in it, however it is written (XML 1.0, 2.2).
fn clean(text: &str) -> String {
    let is_allowed = |c: char| match c {
        '\t' | '\n' | '\r' => true,
        c => c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}',
    };
    text.chars().map(|c| if is_allowed(c) { c } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_document_may_have_is_replaced() {
        assert_eq!(clean("a\u{0}b\u{1b}[1m\n\u{ffff}"), "a\u{fffd}b\u{fffd}[1m\n\u{fffd}");
    }
}
