//! The list of circles that may stay for now.

use std::collections::BTreeSet;

use super::graph::Circle;

pub const LIST: &str = "tools/xtask/src/floors/circles.txt";

/// A circle of the list: the remarks above it, and its files.
pub struct Listed {
    remarks: Vec<String>,
    files: BTreeSet<String>,
}

/// A paragraph is a circle, with a file on each line. Lines that begin with # are remarks.
pub fn parse(text: &str) -> Vec<Listed> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let (remarks, files): (Vec<&str>, Vec<&str>) = paragraph
            .lines()
            .filter(|line| !line.is_empty())
            .partition(|line| line.starts_with('#'));
        Listed {
            remarks: remarks.into_iter().map(str::to_owned).collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        }
    });
    paragraphs.collect()
}

pub fn text(listed: &[Listed]) -> String {
    let paragraphs = listed.iter().map(|Listed { remarks, files }| {
        remarks.iter().chain(files).map(|line| format!("{line}\n")).collect::<String>()
    });
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// What the list lacks, and what has to leave it.
pub fn faults(listed: &[Listed], found: &[Circle]) -> Vec<String> {
    let mut faults = Vec::new();
    for circle in found {
        if !listed.iter().any(|old| old.files.is_superset(&circle.files)) {
            let files: Vec<&str> = circle.files.iter().map(String::as_str).collect();
            faults.push(format!("a circle of files is not in {LIST}: {}", files.join(", ")));
        }
    }
    for old in listed {
        let left: BTreeSet<&String> = parts(old, found).flat_map(|circle| &circle.files).collect();
        faults.extend(old.files.iter().filter(|file| !left.contains(file)).map(|file| {
            format!("{file} is in no circle any more: LOCKWRIGHT_BLESS=1 removes it from {LIST}")
        }));
    }
    faults
}

/// The list without the files that are in no circle any more. A circle that fell apart becomes several.
pub fn shorter(listed: &[Listed], found: &[Circle]) -> Vec<Listed> {
    let mut shorter = Vec::new();
    for old in listed {
        let remarks = || old.remarks.clone();
        if old.files.is_empty() {
            shorter.push(Listed { remarks: remarks(), files: BTreeSet::new() });
        }
        shorter.extend(
            parts(old, found)
                .map(|circle| Listed { remarks: remarks(), files: circle.files.clone() }),
        );
    }
    shorter
}

/// The circles that are left of one in the list.
fn parts<'a>(old: &Listed, found: &'a [Circle]) -> impl Iterator<Item = &'a Circle> {
    let files = old.files.clone();
    found.iter().filter(move |circle| files.is_superset(&circle.files))
}
