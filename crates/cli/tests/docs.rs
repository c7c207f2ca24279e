//! Documentation is held to the code: the ledger's tables are made from its source text, the kinds and
//! grades are complete, and what a page links to is there.
//!
//! `LOCKWRIGHT_BLESS=1 cargo test -p lockwright-cli --test docs` writes the generated part anew.

use std::fmt::Write;
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};

use lockwright_ledger::MAGIC;
use lockwright_ledger::layout::{HEADER_BYTES, Header, MAX_EXTENTS, MAX_TABLES, TableHeader};
use lockwright_ledger::rows::meter::Metered;
use lockwright_ledger::rows::{Held, Thread};

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
        let count = if count == "MAX_TABLES" { MAX_TABLES } else { count.parse().unwrap() };
        return (format!("{name} x {count}"), size * count, align);
    }
    match plain.as_str() {
        "u8" => (plain, 1, 1),
        "u16" => (plain, 2, 2),
        "u32" => (plain, 4, 4),
        "u64" => (plain, 8, 8),
        "Text" => ("Text (u32 x 2)".to_owned(), 8, 4),
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
    let layout_rs = read("crates/ledger/src/layout.rs");

    let all = items(layout_rs.split("#[cfg(test)]").next().unwrap());
    let mut layout_items = all.iter();
    layout_items.find(|item| item.line.starts_with("pub struct Header")).unwrap();
    let (table, size) = fields(&mut layout_items, 0);
    assert_eq!(size, size_of::<Header>());
    write!(out, "\n## Header\n\nHEADER\n{table}").unwrap();
    out = out.replace("HEADER\n", "");
    out += &values(&all);

    for rows_rs in [
        "crates/ledger/src/rows.rs",
        "crates/ledger/src/rows/meter.rs",
        "crates/ledger/src/rows/object.rs",
    ] {
        out += &row_tables(&layout_rs, &items(&read(rows_rs)));
    }
    out
}

/// The tables of one source file of rows, and its constants.
fn row_tables(layout_rs: &str, all: &[Item]) -> String {
    let mut out = String::new();
    let mut row_items = all.iter().skip_while(|item| !item.line.starts_with("row! {"));
    while let Some(item) = row_items.next() {
        if let Some((name, rest)) = item.line.split_once(" in ")
            && rest.ends_with("bytes {")
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
    assert!(head.contains("16,384 bytes (4 pages of 4,096)") && HEADER_BYTES == 16_384);
    assert!(head.contains("32 slots") && MAX_TABLES == 32);
    assert!(head.contains("240 bytes each") && size_of::<TableHeader>() == 240);
    assert!(head.contains("| 16 | u64 x 28 |") && offset_of!(TableHeader, extents) == 16);
    assert_eq!(MAX_EXTENTS, 28);
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
    for kind in lockwright_cli::report::json::KINDS {
        let name = serde_json::to_value(kind).unwrap();
        let heading = format!("\n### {}\n", name.as_str().unwrap());
        assert!(page.contains(&heading), "no section {name}");
    }
    for grade in
        ["deadlocked", "likely", "possible", "guarded", "ordered", "single-thread", "untidy"]
    {
        assert!(page.contains(&format!("\n### {grade}\n")), "no section {grade}");
    }
    // An example is an indented block after a line that names its file.
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
    assert!(examples >= 2);
}

/// Relative links lead somewhere.
#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut pages = vec![];
    for dir in [root.clone(), root.join("docs")] {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() >= 5);
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
