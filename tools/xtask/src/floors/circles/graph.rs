//! Circles in the graph of uses, and the few uses that close each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::uses::Uses;

/// Files that use each other, and the uses without which they would not.
pub struct Circle {
    pub files: BTreeSet<String>,
    closing: Vec<Use>,
}

struct Use {
    from: String,
    to: String,
    items: BTreeSet<String>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        writeln!(f, "circle of {} files:\n  {}", files.len(), files.join("\n  "))?;
        write!(f, "  which these uses close:")?;
        for Use { from, to, items } in &self.closing {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            write!(f, "\n    {from} uses {to}: {}", items.join(", "))?;
        }
        Ok(())
    }
}

/// The circles of `count` files.
pub fn circles(count: usize, uses: &Uses, name: impl Fn(usize) -> String) -> Vec<Circle> {
    let mut found = Vec::new();
    for circle in components(count, uses) {
        let inner = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
        let inner: Uses = uses.iter().filter(|(ends, _)| inner(ends)).map(owned).collect();
        // A module stands above its own modules: what they use of it is what closes the circle.
        let weight = |ends: &(usize, usize)| {
            let is_own = name(ends.1).starts_with(&folder(&name(ends.0)));
            inner.get(ends).map_or(0, |items| items.len() + if is_own { 1000 } else { 0 })
        };
        let closing = closing(&circle, &inner, weight).into_iter().map(|ends| Use {
            from: name(ends.0),
            to: name(ends.1),
            items: inner[&ends].clone(),
        });
        found.push(Circle {
            closing: closing.collect(),
            files: circle.iter().map(|file| name(*file)).collect(),
        });
    }
    found
}

/// Where the files of a file's own modules lie.
fn folder(file: &str) -> String {
    let roots = ["/mod.rs", "/lib.rs", "/main.rs"];
    match roots.iter().find_map(|root| file.strip_suffix(root)) {
        Some(folder) => format!("{folder}/"),
        None => format!("{}/", file.trim_end_matches(".rs")),
    }
}

fn owned<'a, K: Clone, V: Clone>((key, value): (&'a K, &'a V)) -> (K, V) {
    (key.clone(), value.clone())
}

/// The sets of two or more files of which each reaches all others.
fn components(count: usize, uses: &Uses) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..count).map(|from| reached(from, uses)).collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for file in 0..count {
        let both = |other: &&usize| reached[**other].contains(&file);
        let circle: BTreeSet<usize> = reached[file].iter().filter(both).copied().collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            found.push(circle);
        }
    }
    found
}

/// The files that a file uses, directly or not, but itself only if one of them uses it.
fn reached(from: usize, uses: &Uses) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(file) = pending.pop() {
        for (_, to) in uses.range((file, 0)..=(file, usize::MAX)).map(|(ends, _)| ends) {
            if reached.insert(*to) {
                pending.push(*to);
            }
        }
    }
    reached
}

/// The uses that point upward once the files stand in the best order that a simple search finds. Eades, Lin and Smyth, "A
/// fast and effective heuristic for the feedback arc set problem", 1993: the next file from the top is the one that more
/// uses leave than enter.
fn closing(
    circle: &BTreeSet<usize>,
    inner: &Uses,
    weight: impl Fn(&(usize, usize)) -> usize,
) -> Vec<(usize, usize)> {
    let mut left = circle.clone();
    let mut above: Vec<usize> = Vec::new();
    let mut below: Vec<usize> = Vec::new();
    while !left.is_empty() {
        let out = |file: usize| left.iter().map(|to| weight(&(file, *to))).sum::<usize>();
        let into = |file: usize| left.iter().map(|from| weight(&(*from, file))).sum::<usize>();
        let degrees: BTreeMap<usize, (usize, usize)> =
            left.iter().map(|file| (*file, (out(*file), into(*file)))).collect();
        if let Some((sink, _)) = degrees.iter().find(|(_, (out, _))| *out == 0) {
            below.push(*sink);
            left.remove(sink);
        } else if let Some((top, _)) =
            degrees.iter().max_by_key(|(_, (out, into))| *out as isize - *into as isize)
        {
            above.push(*top);
            left.remove(top);
        }
    }
    above.extend(below.into_iter().rev());
    let rank: BTreeMap<usize, usize> =
        above.into_iter().enumerate().map(|(rank, file)| (file, rank)).collect();
    inner.keys().filter(|(from, to)| rank[from] > rank[to]).copied().collect()
}
