//! Reads files of rules. docs/suppressions.md describes the format.

use std::path::Path;
use std::rc::Rc;

use lockwright_ledger::file;

use super::rule::{Level, Rule, Source};
use crate::glob;
use lockwright_analysis::finding::{Grade, Kind};
use lockwright_console::error::{Error, Result, exit};

/// The largest file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// The rules of a file.
///
/// # Errors
/// If it cannot be read, or a line is not what it should be.
pub fn read(path: &Path) -> Result<Vec<Rule>> {
    let shown = path.display().to_string();
    let bytes = file::read_input(path, MOST_BYTES).map_err(|error| {
        Error::with_code(exit::USAGE, format!("cannot read {shown}: {error}"))
            .help("name a text file of rules: --suppressions FILE")
    })?;
    parse(Source::File, &shown, text_of(&shown, &bytes)?)
}

/// The text of the rules that ship with lockwright.
pub const SHIPPED: &str = include_str!("default.supp");

/// The name of their file.
pub const SHIPPED_FILE: &str = "default";

/// The rules that ship with lockwright.
pub fn shipped() -> Vec<Rule> {
    parse(Source::Default, SHIPPED_FILE, SHIPPED).expect("a test reads them")
}

/// A line of a stack: a function's pattern, or that and a module's.
fn level(line: &str) -> Level {
    if line == "..." {
        return Level::Ellipsis;
    }
    // A pattern has no space at its ends, so that what stands round the word is its own.
    match line.rsplit_once(" in ") {
        Some((function, module)) => Level::Frame {
            function: function.trim_end().to_owned(),
            module: Some(module.trim_start().to_owned()),
        },
        None => Level::Frame { function: line.to_owned(), module: None },
    }
}

/// A file's bytes as text, without the mark that some editors put before it.
fn text_of<'t>(file: &str, bytes: &'t [u8]) -> Result<&'t str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let number = 1 + bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        Error::with_code(exit::USAGE, format!("{file}:{number}: this is no text in UTF-8"))
            .help("save it in that encoding; `?` in a pattern stands for any one character")
    })
}

/// The parts of a rule, for messages.
const PARTS: &str =
    "`kind:`, `grade:`, `class:`, `function:`, `module:`, `only-module:` or `stack:`";

/// The rules in `text`, which stands in `file`.
pub fn parse(source: Source, file: &str, text: &str) -> Result<Vec<Rule>> {
    let file: Rc<str> = file.into();
    let mut rules: Vec<Rule> = Vec::new();
    let mut in_stack = false;
    for (number, whole) in (1..).zip(text.lines()) {
        let line = whole.trim();
        let wrong = |what: String, help: String| {
            Error::with_code(exit::USAGE, format!("{file}:{number}: {what}")).help(help)
        };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if whole.starts_with([' ', '\t']) {
            let Some(levels) = in_stack.then(|| rules.last_mut()?.stacks.last_mut()).flatten()
            else {
                return Err(wrong(
                    format!("`{line}` is indented, but belongs to no stack"),
                    "only the frames below `stack:` are indented".into(),
                ));
            };
            levels.push(level(line));
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| {
                wrong(format!("`{line}` has no closing bracket"), format!("write `{line}]`"))
            })?;
            complete(rules.last())?;
            let name = name.trim().to_owned();
            rules.push(Rule { source, file: file.clone(), line: number, name, ..Rule::default() });
            in_stack = false;
            continue;
        }
        let Some(rule) = rules.last_mut() else {
            return Err(wrong(
                format!("`{line}` stands before the first rule"),
                "begin a rule with a line that says why, in brackets: `[a known false alarm]`"
                    .into(),
            ));
        };
        if in_stack && rule.stacks.last().is_some_and(Vec::is_empty) {
            return Err(wrong("the stack before has no frames".into(), FRAMES.into()));
        }
        let Some((part, value)) = line.split_once(':') else {
            return Err(wrong(format!("`{line}` is no part of a rule"), format!("write {PARTS}")));
        };
        let (part, value) = (part.trim_end(), value.trim());
        in_stack = part == "stack";
        if in_stack {
            if !value.is_empty() {
                return Err(wrong(format!("`{value}` stands beside `stack:`"), FRAMES.into()));
            }
            rule.stacks.push(Vec::new());
            continue;
        }
        let patterns = match part {
            "kind" if rule.kind.is_some() => {
                return Err(wrong(
                    "a second `kind:`".into(),
                    "a finding has but one; write a rule for each".into(),
                ));
            }
            "kind" => {
                if !Kind::ALL.iter().any(|&kind| glob::matches(value, kind.name())) {
                    return Err(wrong(format!("no kind is called `{value}`"), kinds()));
                }
                rule.kind = Some(value.to_owned());
                continue;
            }
            "grade" => {
                for name in value.split(',').map(str::trim) {
                    let grade = Grade::ALL.iter().find(|&&grade| grade.name() == name);
                    let unknown = || wrong(format!("no grade is called `{name}`"), grades());
                    rule.grades.push(*grade.ok_or_else(unknown)?);
                }
                continue;
            }
            "only-module" if rule.only_module.is_some() => {
                return Err(wrong(
                    "a second `only-module:`".into(),
                    "a module cannot have it all if another does; `*` in one pattern fits several"
                        .into(),
                ));
            }
            "only-module" if !value.is_empty() => {
                rule.only_module = Some(value.to_owned());
                continue;
            }
            // An empty one is reported below.
            "only-module" => &mut rule.modules,
            "class" => &mut rule.classes,
            "function" => &mut rule.functions,
            "module" => &mut rule.modules,
            _ => {
                return Err(wrong(
                    format!("`{part}:` is no part of a rule"),
                    format!("write {PARTS}"),
                ));
            }
        };
        if value.is_empty() {
            return Err(wrong(
                format!("`{part}:` has no pattern"),
                format!("name what it is to fit, `*` for any characters: `{part}: pool_*`"),
            ));
        }
        patterns.push(value.to_owned());
    }
    complete(rules.last())?;
    Ok(rules)
}

const FRAMES: &str =
    "write each frame on an indented line of its own below `stack:`, innermost first";

/// Every rule says what it is about.
fn complete(rule: Option<&Rule>) -> Result<()> {
    let Some(rule) = rule else { return Ok(()) };
    let named = Rule {
        source: rule.source,
        file: rule.file.clone(),
        line: rule.line,
        name: rule.name.clone(),
        ..Rule::default()
    };
    let fault = if *rule == named {
        "says nothing of what it suppresses"
    } else if rule.stacks.iter().any(Vec::is_empty) {
        "has a stack without frames"
    } else {
        return Ok(());
    };
    Err(Error::with_code(
        exit::USAGE,
        format!("{}: the rule [{}] {fault}", rule.place(), rule.name),
    )
    .help(format!("add {PARTS}")))
}

fn kinds() -> String {
    let names: Vec<&str> = Kind::ALL.iter().map(|&kind| kind.name()).collect();
    format!("one of {}; `*` stands for any characters", names.join(", "))
}

fn grades() -> String {
    let names: Vec<&str> = Grade::ALL.iter().map(|&grade| grade.name()).collect();
    format!("one or more of {}, with commas between", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_many_parts() {
        let text = "\
# Known.

[tellers never meet the auditor: see ledger.c]
kind: circular-*
grade: likely, possible
class: vault
class:  ledger
function: Bank::transfer(*)
module: libbank.so*
only-module: */bank/*
stack:
    teller
    # Whatever calls it.
    ...
\tmain
[and another]
class: a
";
        let rules = parse(Source::File, "known.supp", text).unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[0].place(), "known.supp:3");
        assert_eq!(rules[0].name, "tellers never meet the auditor: see ledger.c");
        assert_eq!(rules[0].kind.as_deref(), Some("circular-*"));
        assert_eq!(rules[0].grades, [Grade::Likely, Grade::Possible]);
        assert_eq!(rules[0].classes, ["vault", "ledger"]);
        assert_eq!(rules[0].functions, ["Bank::transfer(*)"]);
        assert_eq!(rules[0].modules, ["libbank.so*"]);
        assert_eq!(rules[0].only_module.as_deref(), Some("*/bank/*"));
        let frame = |name: &str| Level::Frame { function: name.into(), module: None };
        assert_eq!(rules[0].stacks, [[frame("teller"), Level::Ellipsis, frame("main")]]);
        assert_eq!(rules[1].place(), "known.supp:16");
        assert!(parse(Source::File, "empty", "# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn a_frame_may_name_its_module() {
        let text = "[a]\nstack:\n    Pool::take(int) in libpool.so*\n    ...\n    main\n";
        let rules = parse(Source::File, "x", text).unwrap();
        let frame = |function: &str, module: Option<&str>| Level::Frame {
            function: function.into(),
            module: module.map(Into::into),
        };
        let expected =
            [frame("Pool::take(int)", Some("libpool.so*")), Level::Ellipsis, frame("main", None)];
        assert_eq!(rules[0].stacks, [expected]);
    }

    /// Each is narrow: of one kind, and of functions of one module or with one lock.
    #[test]
    fn rules_that_ship_name_a_kind_and_frames_with_their_module_or_lock() {
        let rules = shipped();
        assert!(!rules.is_empty());
        for rule in rules {
            let kind = rule.kind.as_deref().unwrap_or("*");
            assert!(Kind::ALL.iter().any(|&known| known.name() == kind), "{}", rule.place());
            // A runtime that is linked into programs has no module, but a lock with a name.
            let has_lock = rule.classes.iter().any(|class| !class.contains('*'));
            // Two locks by the functions that make them say enough.
            let has_two = rule.classes.len() == 2;
            assert!(has_two || !rule.stacks.is_empty(), "{}", rule.place());
            assert!(rule.only_module.is_some() || has_lock || has_two, "{}", rule.place());
            let is_named = |level: &Level| match level {
                Level::Ellipsis => false,
                Level::Frame { function, module } => {
                    let is_of_one = module.as_ref().is_some_and(|m| !m.contains('*'));
                    !function.starts_with('*') && (is_of_one || has_lock)
                }
            };
            assert!(
                rule.stacks.iter().all(|levels| levels.iter().any(is_named)),
                "{}",
                rule.place()
            );
            let before = SHIPPED.lines().nth(rule.line as usize - 2).unwrap_or_default();
            assert!(before.starts_with('#'), "{}: no comment says why", rule.place());
        }
    }

    #[test]
    fn text_of_other_editors() {
        let rules = |bytes| parse(Source::File, "x", text_of("x", bytes).unwrap()).unwrap();
        assert_eq!(rules(b"\xef\xbb\xbf[a]\r\nclass: b\r\n"), rules(b"[a]\nclass: b\n"));
        let told = text_of("x.supp", b"[a]\nclass: b\xe4r\n").unwrap_err().to_string();
        assert!(told.starts_with("error: x.supp:2: "), "{told}");
    }

    #[test]
    fn a_wrong_line_is_told_with_its_remedy() {
        for (text, at, saw, help) in [
            ("kind: *\n", 1, "`kind: *` stands before the first rule", "in brackets"),
            ("[a\n", 1, "`[a` has no closing bracket", "`[a]`"),
            ("\n[a]\nknd: x\n", 3, "`knd:` is no part of a rule", "`kind:`"),
            ("[a]\nvault\n", 2, "`vault` is no part of a rule", "`class:`"),
            ("[a]\nkind: circular\n", 2, "no kind is called `circular`", "circular-dependency"),
            ("[a]\nkind: *\nkind: *\n", 3, "a second `kind:`", "a rule for each"),
            ("[a]\ngrade: sure\n", 2, "no grade is called `sure`", "likely"),
            ("[a]\nclass:\n", 2, "`class:` has no pattern", "`*`"),
            ("[a]\nonly-module:\n", 2, "`only-module:` has no pattern", "`*`"),
            ("[a]\nonly-module: x\nonly-module: y\n", 3, "a second `only-module:`", "`*`"),
            ("[a]\n  f\n", 2, "`f` is indented", "stack:"),
            ("[a]\nstack: f\n", 2, "`f` stands beside `stack:`", "innermost first"),
            ("[a]\nstack:\nclass: x\n", 3, "the stack before has no frames", "indented"),
            ("[a]\nclass: x\n[b]\n", 3, "[b] says nothing", "`kind:`"),
            ("[a]\n[b]\nclass: x\n", 1, "[a] says nothing", "`kind:`"),
            ("[a]\nclass: x\nstack:\n", 1, "[a] has a stack without frames", "`stack:`"),
        ] {
            let error = parse(Source::File, "x.supp", text).unwrap_err();
            assert_eq!(error.code(), exit::USAGE);
            let told = error.to_string();
            assert!(told.starts_with(&format!("error: x.supp:{at}: ")), "{text}: {told}");
            assert!(told.contains(saw) && told.contains(help), "{text}: {told}");
        }
    }
}
