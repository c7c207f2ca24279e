//! What cases said, and where two runs of them differ.

/// A case in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What it said, and at last how it ended.
    pub said: Vec<String>,
}

impl Case {
    /// It did not have to be killed.
    pub fn is_over(&self) -> bool {
        self.said.last().is_some_and(|line| line != "-- hung")
    }
}

/// A case that two runs differ in.
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Lines of both, marked: ` ` both, `-` the first only, `+` the second only.
    pub lines: Vec<String>,
}

/// The cases of a program's output: each begins with `== NAME` and ends with `-- how`.
pub fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("== "), cases.last_mut()) {
            (Some(name), _) => cases.push(Case { name: name.to_owned(), said: Vec::new() }),
            (None, Some(case)) => case.said.push(line.to_owned()),
            (None, None) => panic!("{line:?} belongs to no case"),
        }
    }
    assert!(!cases.is_empty(), "no cases");
    cases
}

/// The cases of `one` that are otherwise in `other`, or missing there, and those that are only in
/// `other`.
pub fn differences(one: &[Case], other: &[Case]) -> Vec<Difference> {
    let said = |run: &[Case], name: &str| {
        run.iter().find(|case| case.name == name).map(|case| case.said.clone()).unwrap_or_default()
    };
    let more = other.iter().filter(|case| !one.iter().any(|known| known.name == case.name));
    one.iter()
        .chain(more)
        .map(|case| (&case.name, said(one, &case.name), said(other, &case.name)))
        .filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| Difference { name: name.clone(), lines: diff(&a, &b) })
        .collect()
}

/// Lines of both, in the order of both, by the longest subsequence that they share.
fn diff(one: &[String], other: &[String]) -> Vec<String> {
    let width = other.len() + 1;
    let mut shared = vec![0u32; (one.len() + 1) * width];
    for i in (0..one.len()).rev() {
        for j in (0..other.len()).rev() {
            shared[i * width + j] = match one[i] == other[j] {
                true => shared[(i + 1) * width + j + 1] + 1,
                false => shared[(i + 1) * width + j].max(shared[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < one.len() || j < other.len() {
        let (below, right) = (i < one.len(), j < other.len());
        if below && right && one[i] == other[j] {
            lines.push(format!(" {}", one[i]));
            (i, j) = (i + 1, j + 1);
        } else if below && (!right || shared[(i + 1) * width + j] >= shared[i * width + j + 1]) {
            lines.push(format!("-{}", one[i]));
            i += 1;
        } else {
            lines.push(format!("+{}", other[j]));
            j += 1;
        }
    }
    lines
}

/// Differences as text: each case with its lines that differ and the three before each.
pub fn shown(differences: &[Difference]) -> String {
    const CONTEXT: usize = 3;
    let mut text = String::new();
    for difference in differences {
        text += &format!("  {}\n", difference.name);
        let lines = &difference.lines;
        for (i, line) in lines.iter().enumerate() {
            let soon = &lines[i..lines.len().min(i + 1 + CONTEXT)];
            if soon.iter().any(|near| !near.starts_with(' ')) {
                text += &format!("    {line}\n");
            }
        }
    }
    text
}

#[test]
fn what_differs_is_found_and_nothing_else() {
    let one = cases("== a\n1\n2\n3\n-- exited with 0\n== b\nx\n-- exited with 0\n");
    let other =
        cases("== a\n1\n3\n4\n-- exited with 0\n== b\nx\n-- exited with 0\n== c\n-- hung\n");
    let found = differences(&one, &other);
    assert_eq!(shown(&found), "  a\n     1\n    -2\n     3\n    +4\n  c\n    +-- hung\n");
    assert!(differences(&one, &one).is_empty());
    assert!(one[0].is_over() && !other[2].is_over());
}
