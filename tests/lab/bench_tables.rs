//! `lockwright-lab bench tables`: published and measured figures stand side by side, and missing ones
//! are reported. No test checks a measured value.

use serde_json::Value;

use crate::harness::{Scratch, run, tool};

/// The page of one document after two short rounds, without parts, and how it ended.
fn smoke(document: &str) -> (String, Value, i32) {
    let mut command = tool();
    let scratch = Scratch::new();
    let json = scratch.join("page.json");
    command.args(["bench", "tables", "--smoke", "--only", document, "--json"]).arg(&json);
    let run = run(command);
    let code = run.code();
    let json = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    (String::from_utf8(run.stdout).unwrap() + &run.stderr, json, code)
}

/// The rows of all comparisons whose name contains `what`.
fn rows<'v>(page: &'v Value, what: &'v str) -> impl Iterator<Item = &'v Value> {
    let comparisons = page["documents"][0]["comparisons"].as_array().unwrap().iter();
    comparisons
        .flat_map(|comparison| comparison["rows"].as_array().unwrap())
        .filter(move |row| row["what"].as_str().unwrap().contains(what))
}

#[test]
fn the_published_histograms_stand_beside_ours() {
    let (text, page, code) = smoke("3");
    assert_eq!(code, 0, "{text}");
    let mut published = rows(&page, "exchanges a success, assume free, threads: 40");
    let row = published.next().expect("a row");
    assert!((row["published"].as_f64().unwrap() - 2.053).abs() < 5e-4, "{row:#}");
    let here = row["here"]["median"].as_f64().expect("measured");
    let ratio = row["ratio"].as_f64().unwrap();
    assert!((ratio - here / row["published"].as_f64().unwrap()).abs() < 1e-9, "{row:#}");
    assert!(text.contains("A smoke run: the figures mean nothing."), "{text}");
}

#[test]
fn the_comparisons_are_drawn() {
    let scratch = Scratch::new();
    let plots = scratch.join("plots");
    let mut command = tool();
    command.args(["bench", "tables", "--smoke", "--only", "3", "--plot"]).arg(&plots);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let svg = std::fs::read_to_string(plots.join("rwsem-trylock-1-times.svg")).expect("a plot");
    for text in ["<svg", "exchanges a success, load first, threads: 40", "published", "<circle"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}

#[test]
fn a_smoke_run_decides_nothing() {
    let (text, page, code) = smoke("4");
    assert_eq!(code, 0, "{text}");
    assert_eq!(page["documents"][0]["verdicts"], serde_json::json!([]), "{text}");
    assert!(text.contains("A smoke run decides nothing."), "{text}");
    assert_eq!(rows(&page, "x").count(), 4 + 8 + 4, "{text}");
}

/// Every row of these documents needs a program or a library that is no part of the command.
#[test]
fn what_needs_parts_says_so_and_how_to_have_them() {
    for (document, published) in [("0", 46.1), ("1", f64::NAN)] {
        let (text, page, code) = smoke(document);
        let missing = rows(&page, "").filter_map(|row| row["here"]["missing"].as_str());
        let missing: Vec<_> = missing.filter(|why| !why.contains("bigger machine")).collect();
        assert!(!missing.is_empty(), "{text}");
        assert!(missing.iter().all(|why| why.contains("cargo xtask bench tables")), "{missing:?}");
        assert!(rows(&page, "").all(|row| row["here"]["median"].is_null()), "{text}");
        // Nothing could be measured: that is no success.
        assert_ne!(code, 0, "{text}");
        assert!(text.contains("nothing was measured: "), "{text}");
        let undone = rows(&page, "all patches undone").next();
        assert!(undone.is_none_or(|row| row["published"] == published), "{undone:#?}");
    }
}

#[test]
fn what_is_no_document_is_refused() {
    let mut command = tool();
    command.args(["bench", "tables", "--only", "5"]);
    let run = run(command);
    assert_eq!(run.code(), 2, "{}", run.stderr);
    assert!(run.stderr.contains("0..=4"), "{}", run.stderr);
}
