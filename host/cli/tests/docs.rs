//! Checks the documentation against the code: the ledger's tables are made from its source text,
//! the kinds and grades are complete, and what a page links to is there.
//!
//! `LOCKWRIGHT_BLESS=1 cargo test -p lockwright-cli --test docs` rewrites the generated part.

use std::fmt::Write;
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};

use lockwright_engines::debugobjects::table::{self, Operation, Rules, State, TABLE, Verdict};
use lockwright_ledger::MAGIC;
use lockwright_ledger::layout::{
    HEADER_BYTES, Header, KEPT_WORDS, MAX_EXTENTS, MAX_TABLES, TableHeader,
};
use lockwright_ledger::rows::meter::Metered;
use lockwright_ledger::rows::object::object_fault;
use lockwright_ledger::rows::{Held, StackWords, Thread};
use lockwright_ledger::timeline::{EXTENTS, Event, Timeline};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a piece of source text declares.
struct Item {
    /// Its first line, trimmed.
    line: String,
    /// Its doc comment, in one line, with links resolved to names.
    doc: String,
}

/// All lines of code with the doc comment before each, attributes left out.
fn items(source: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut doc = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc += text;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            items.push(Item { line: line.to_owned(), doc: unlinked(doc.trim()) });
            doc.clear();
        }
    }
    items
}

/// "[`crate::rows::Text`]" as "`Text`".
fn unlinked(doc: &str) -> String {
    let doc = doc.replace("[`", "`").replace("`]", "`");
    let mut out = String::new();
    for (i, part) in doc.split('`').enumerate() {
        if i > 0 {
            out.push('`');
        }
        let is_path = i % 2 == 1 && !part.contains(' ');
        out += if is_path { part.strip_prefix("crate::").unwrap_or(part) } else { part };
    }
    out.replace("rows::", "").replace("layout::", "").replace('|', "\\|")
}

/// Type as the page has it, size and alignment.
fn layout(ty: &str) -> (String, usize, usize) {
    let plain = ty.replace("AtomicU", "u");
    if let Some((element, count)) =
        plain.strip_prefix('[').and_then(|array| array.trim_end_matches(']').split_once("; "))
    {
        let (name, size, align) = layout(element);
        let count = match count {
            "MAX_TABLES" => MAX_TABLES,
            "KEPT_WORDS" => KEPT_WORDS,
            "EXTENTS" => EXTENTS,
            number => number.parse().unwrap(),
        };
        return (format!("{name} x {count}"), size * count, align);
    }
    match plain.as_str() {
        "u8" => (plain, 1, 1),
        "u16" => (plain, 2, 2),
        "u32" => (plain, 4, 4),
        "u64" => (plain, 8, 8),
        "Text" => ("Text (u32 x 2)".to_owned(), 8, 4),
        "StackWords" => (plain, size_of::<StackWords>(), 8),
        "TableHeader" => (plain, size_of::<TableHeader>(), 8),
        other => panic!("the test does not know the type {other}"),
    }
}

/// A table of fields from `offset` on, up to the closing brace; gives the size, too.
fn fields<'i>(items: &mut impl Iterator<Item = &'i Item>, mut offset: usize) -> (String, usize) {
    let mut table = String::from("| offset | type | field | |\n|---|---|---|---|\n");
    if offset == 4 {
        table += "| 0 | u32 | `state` | 0 until the row is published. |\n";
    }
    for item in items.by_ref().take_while(|item| !item.line.starts_with('}')) {
        let field = item.line.trim_start_matches("pub ").trim_end_matches(',');
        let Some((name, ty)) = field.split_once(": ") else { continue };
        let (ty, size, align) = layout(ty);
        assert_eq!(offset % align, 0, "{name} is not aligned");
        writeln!(table, "| {offset} | {ty} | `{name}` | {} |", item.doc).unwrap();
        offset += size;
    }
    (table, offset)
}

fn number(text: &str, after: &str) -> usize {
    let tail = text.split(after).nth(1).unwrap_or_else(|| panic!("no {after} in {text}"));
    tail.split_whitespace().next().unwrap().parse().unwrap()
}

/// The generated part of docs/ledger-format.md.
fn ledger_tables() -> String {
    let mut out = String::new();
    let layout_rs = read("ledger/src/layout.rs");

    let all = items(layout_rs.split("#[cfg(test)]").next().unwrap());
    let mut layout_items = all.iter();
    layout_items.find(|item| item.line.starts_with("pub struct Header")).unwrap();
    let (table, size) = fields(&mut layout_items, 0);
    assert_eq!(size, size_of::<Header>());
    write!(out, "\n## Header\n\nHEADER\n{table}").unwrap();
    out = out.replace("HEADER\n", "");
    out += &values(&all);

    for rows_rs in ["ledger/src/rows.rs", "ledger/src/rows/meter.rs", "ledger/src/rows/object.rs"] {
        out += &row_tables(&layout_rs, &items(&read(rows_rs)));
    }
    out += &timeline(&items(&read("ledger/src/timeline.rs")));
    out
}

/// The tables of one source file of rows, and its constants.
fn row_tables(layout_rs: &str, all: &[Item]) -> String {
    let mut out = String::new();
    let mut row_items = all.iter().skip_while(|item| !item.line.starts_with("row! {"));
    while let Some(item) = row_items.next() {
        if let Some((name, rest)) = item.line.split_once(" in ")
            && rest.contains(" bytes ")
            && rest.ends_with('{')
            && !item.line.starts_with('$')
        {
            let table_name = rest.split_whitespace().next().unwrap();
            let id = layout_rs
                .lines()
                .find_map(|line| line.trim().strip_prefix(&format!("{table_name} = ")))
                .unwrap()
                .trim_end_matches(',');
            let (bytes, base) = (number(rest, "= "), number(rest, "x "));
            let (table, size) = fields(&mut row_items, 4);
            assert_eq!(size, bytes, "{name}");
            write!(out, "\n## Table {id}: {table_name}\n\n{}\n", item.doc).unwrap();
            write!(out, "{bytes} bytes, {base} rows in the first extent.\n\n{table}").unwrap();
        } else if let Some(name) = item.line.strip_prefix("pub struct ")
            && let Some(expected) = [("Held", size_of::<Held>()), ("Metered", size_of::<Metered>())]
                .into_iter()
                .find_map(|(element, size)| {
                    name.starts_with(&format!("{element} ")).then_some(size)
                })
        {
            let (table, size) = fields(&mut row_items, 0);
            assert_eq!(size, expected);
            let name = name.trim_end_matches(" {");
            write!(out, "\n## `{name}`\n\n{}\n\n{table}", item.doc).unwrap();
        }
    }
    out + &values(all)
}

/// The head and the events of the timeline, which is no table, and its constants.
fn timeline(all: &[Item]) -> String {
    let mut out = String::new();
    let mut rest = all.iter();
    while let Some(item) = rest.next() {
        let sizes = [("Timeline", size_of::<Timeline>()), ("Event", size_of::<Event>())];
        let Some(name) = item.line.strip_prefix("pub struct ") else { continue };
        let name = name.trim_end_matches(" {");
        if let Some((_, expected)) = sizes.into_iter().find(|(element, _)| *element == name) {
            let (table, size) = fields(&mut rest, 0);
            assert_eq!(size, expected);
            write!(out, "\n## `{name}`\n\n{}\n\n{table}", item.doc).unwrap();
        }
    }
    out + &values(all)
}

/// The constants in modules: enumerations and bits.
fn values(items: &[Item]) -> String {
    let mut out = String::new();
    let mut items = items.iter();
    while let Some(item) = items.next() {
        let Some(name) =
            item.line.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(" {"))
        else {
            continue;
        };
        write!(out, "\n### `{name}`\n\n{}\n\n| value | name | |\n|---|---|---|\n", item.doc)
            .unwrap();
        for item in items.by_ref().take_while(|item| item.line != "}") {
            let Some(constant) = item.line.strip_prefix("pub const ") else { continue };
            let (name, value) = constant.trim_end_matches(';').split_once(" = ").unwrap();
            let name = name.split(':').next().unwrap();
            writeln!(out, "| {value} | `{name}` | {} |", item.doc).unwrap();
        }
    }
    out
}

#[test]
fn ledger_format_is_that_of_the_code() {
    let path = root().join("docs/ledger-format.md");
    let text = fs::read_to_string(&path).unwrap();
    let marker = text.find("<!-- generated").expect("the marker of the generated part");
    let head = &text[..marker + text[marker..].find('\n').unwrap() + 1];
    let expected = format!("{head}{}", ledger_tables());
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == expected,
        "docs/ledger-format.md is not what the code says; LOCKWRIGHT_BLESS=1 writes it anew"
    );
    // What the prose says in numbers.
    assert!(head.contains("8,192 bytes (2 pages of 4,096)") && HEADER_BYTES == 8_192);
    assert!(head.contains("32 slots") && MAX_TABLES == 32);
    assert!(head.contains("232 bytes each") && size_of::<TableHeader>() == 232);
    assert!(head.contains("| 16 | u64 x 27 |") && offset_of!(TableHeader, extents) == 16);
    assert_eq!(MAX_EXTENTS, 27);
    assert!(head.contains("`LOCKWRGT`") && MAGIC.to_le_bytes() == *b"LOCKWRGT");
    let version = lockwright_ledger::FORMAT_VERSION;
    assert!(head.contains(&format!("`version` is {version}.")));
}

/// The generator computes offsets by itself; these are the compiler's.
#[test]
fn offsets_are_the_compilers() {
    let tables = ledger_tables();
    for (name, offset) in [
        ("used", offset_of!(Header, used)),
        ("epoch", offset_of!(Header, epoch)),
        ("tables", offset_of!(Header, tables)),
        ("wait_seq", offset_of!(Thread, wait_seq)),
        ("recursion", offset_of!(Held, recursion)),
    ] {
        let row = tables.lines().find(|line| line.contains(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the tables"));
        assert!(row.starts_with(&format!("| {offset} |")), "{row}: not {offset}");
    }
}

/// Every kind and grade has its section, and each example is quoted from a golden file.
#[test]
fn report_kinds_are_complete() {
    let page = read("docs/report-kinds.md");
    for kind in lockwright_analysis::finding::Kind::ALL {
        let name = serde_json::to_value(kind).unwrap();
        let heading = format!("\n### {}\n", name.as_str().unwrap());
        assert!(page.contains(&heading), "no section {name}");
    }
    for grade in
        ["deadlocked", "likely", "possible", "guarded", "ordered", "single-thread", "untidy"]
    {
        assert!(page.contains(&format!("\n### {grade}\n")), "no section {grade}");
    }
    assert!(quotes(&page) >= 2);
}

/// What pages show of reports is what these are.
#[test]
fn quoted_reports_are_golden() {
    assert_eq!(quotes(&read("docs/objects.md")), 1);
}

/// How many golden files a page quotes, each truly: an example is an indented block after a line
/// that names its file.
fn quotes(page: &str) -> usize {
    let mut examples = 0;
    for (at, _) in page.match_indices("<!-- from ") {
        let after = &page[at + "<!-- from ".len()..];
        let (file, rest) = after.split_once(" -->").unwrap();
        let golden = read(file);
        let quoted: Vec<&str> = rest
            .lines()
            .skip_while(|line| line.is_empty())
            .take_while(|line| line.is_empty() || line.starts_with("    "))
            .filter(|line| !line.is_empty())
            .map(|line| &line[4..])
            .collect();
        assert!(!quoted.is_empty(), "{file} is not quoted");
        for line in quoted {
            assert!(golden.lines().any(|known| known == line), "{file} has no line\n{line}");
        }
        examples += 1;
    }
    examples
}

/// What docs/objects.md calls an operation, and one on an object in each state.
fn state_table() -> String {
    let states = [State::None, State::Init, State::Inactive, State::Active, State::Destroyed];
    let mut out = String::from(
        "| | unknown | initialised | inactive | active | destroyed |\n|---|---|---|---|---|---|\n",
    );
    for op in Operation::ALL {
        let name = match op {
            Operation::Init => "init",
            Operation::InitOnStack => "init on stack",
            Operation::Activate => "activate",
            Operation::Deactivate => "deactivate",
            Operation::Destroy => "destroy",
            Operation::Free => "free",
            Operation::AssertInit => "assert init",
            Operation::ActiveState => "active state",
            Operation::NoObjFreed => "its memory goes",
        };
        let cells = states.map(|state| what_follows(state, op));
        writeln!(out, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    out
}

/// A cell of it.
fn what_follows(state: State, op: Operation) -> String {
    let cell = table::cell(&TABLE, state, op);
    // Flags of descriptors. The other rules are for the C library's types.
    let flag = |rule| match rule {
        Rules::INIT_ONCE => Some("`LW_OBJECT_INIT_ONCE`"),
        Rules::REINIT => Some("`LW_OBJECT_REINIT`"),
        Rules::MUST_DESTROY => Some("`LW_OBJECT_MUST_DESTROY`"),
        _ => None,
    };
    let fine = match cell.fine {
        State::None | State::NotAvailable => "unknown",
        State::Init => "initialised",
        State::Inactive => "inactive",
        State::Active => "active",
        State::Destroyed => "destroyed",
    };
    match cell.verdict {
        Verdict::Fine => fine.to_owned(),
        Verdict::Fault(kind) => format!("**{}**", kind_of_fault(kind)),
        Verdict::IfRule(rule, kind) => match flag(rule) {
            Some(flag) => format!("{fine}; {flag}: **{}**", kind_of_fault(kind)),
            None => fine.to_owned(),
        },
        Verdict::UnlessRule(rule, kind) => match flag(rule) {
            Some(flag) => format!("**{}**; {flag}: {fine}", kind_of_fault(kind)),
            None => format!("**{}**", kind_of_fault(kind)),
        },
        Verdict::IfCount(kind) => {
            format!("{fine}; not in the state of its own: **{}**", kind_of_fault(kind))
        }
        Verdict::Ask => {
            let [is_static, is_not] =
                [State::Init, State::NotAvailable].map(|state| what_follows(state, op));
            format!("static: {is_static}; else {is_not}")
        }
        // None of the program's own types is asked.
        Verdict::AskIfRule(_) => fine.to_owned(),
    }
}

/// The kind of a fault, as reports name it.
fn kind_of_fault(fault: u8) -> &'static str {
    match fault {
        object_fault::INIT_TWICE => "object-initialised-twice",
        object_fault::INIT_ACTIVE => "object-initialised-active",
        object_fault::UNINITIALISED => "object-uninitialised",
        object_fault::USE_AFTER_DESTROY | object_fault::DESTROY_TWICE => "use-after-destroy",
        object_fault::DESTROY_ACTIVE => "object-destroyed-active",
        object_fault::GONE_ACTIVE => "object-gone-active",
        object_fault::NEVER_DESTROYED => "object-never-destroyed",
        object_fault::WRONG_STATE => "object-wrong-state",
        other => panic!("what is fault {other}?"),
    }
}

/// The table of states is the engine's.
#[test]
fn states_are_the_engines() {
    let path = root().join("docs/objects.md");
    let page = fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once("<!-- states -->\n").expect("where the table begins");
    let (_, tail) = rest.split_once("<!-- end of states -->").expect("where it ends");
    let made = format!("{head}<!-- states -->\n\n{}\n<!-- end of states -->{tail}", state_table());
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == made,
        "docs/objects.md is not what the engine has; LOCKWRIGHT_BLESS=1 writes it anew"
    );
}

/// Programs that docs/objects.md shows are files, which tests/e2e/lives/own_objects.rs runs, or an
/// example that rustdoc does.
#[test]
fn shown_programs_are_files() {
    let page = read("docs/objects.md");
    let mut shown = 0;
    for (at, _) in page.match_indices("<!-- is ") {
        let (what, rest) = page[at + "<!-- is ".len()..].split_once(" -->\n\n```").unwrap();
        let (_language, rest) = rest.split_once('\n').unwrap();
        let (text, _) = rest.split_once("```\n").unwrap();
        match what.strip_prefix("in ") {
            None => assert!(read(what) == text, "the page does not show {what}"),
            Some(file) => {
                let line = |line: &str| format!("//! {line}").trim_end().to_owned() + "\n";
                let commented: String = text.lines().map(line).collect();
                assert!(read(file).contains(&commented), "{file} has no such example");
            }
        }
        shown += 1;
    }
    assert_eq!((shown, page.matches("```").count()), (4, 8), "all that is shown is tested");
}

/// Relative links lead somewhere.
#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut pages = vec![];
    for dir in ["", "docs", "docs/bench", "docs/lab", "docs/lab/bench"].map(|dir| root.join(dir)) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() >= 40);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap().split('#').next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: no {target}", page.display());
        }
    }
}
