//! Patterns for names of locks: `*` stands for any characters, `?` for one.

/// Whether all of `name` fits the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where the last star is, and how much it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((back, until)) = star else { return false };
                star = Some((back, until + 1));
                at = back + 1;
                seen = until + 1;
            }
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("*", "pool", true),
            ("pool", "pool", true),
            ("pool", "pools", false),
            ("p?ol", "pool", true),
            ("p*l", "pool", true),
            ("p*l", "poole", false),
            ("*o*l", "pool", true),
            ("*a*b*", "xxabab", true),
            ("", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
