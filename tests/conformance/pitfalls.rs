//! The page of pitfalls names tests that exist.

use std::path::PathBuf;

use crate::harness::{files, tests_dir};

#[test]
fn each_pitfall_has_its_test() {
    let page = include_str!("../../docs/pitfalls.md");
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let rust = |folder| files(&tests_dir().join(folder)).into_iter().filter(is_rust).map(read);
    let ours: Vec<_> = rust("e2e").chain(rust("conformance")).collect();
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |")) {
        rows += 1;
        let tests = row.rsplit(" | ").next().unwrap().trim_end_matches(" |");
        for name in tests.split(", ").map(|name| name.trim_matches('`')) {
            let exists = match name.split_once('/') {
                Some((file, case)) => {
                    let path = tests_dir().join(format!("conformance/{file}.c"));
                    read(path).contains(&format!("\nCASE({case})\n"))
                }
                None => ours.iter().any(|test| test.contains(&format!("#[test]\nfn {name}("))),
            };
            assert!(exists, "no test {name} for: {row}");
        }
    }
    assert!(rows > 20, "{rows} rows");
}
