//! Patterns for names: `*` stands for any characters, `?` for one, and `\` takes the next as it is.

/// The meaning of a character of a pattern.
enum Piece {
    Any,
    One,
    Only(char),
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut chars = pattern.chars();
    let mut pieces = Vec::new();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            // At the very end it can only mean itself.
            '\\' => Piece::Only(chars.next().unwrap_or('\\')),
            c => Piece::Only(c),
        });
    }
    pieces
}

/// Whether all of `name` fits the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<Piece>, Vec<char>) = (pieces(pattern), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where the last star is, and how much it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(Piece::Any) => {
                star = Some((at, seen));
                at += 1;
                continue;
            }
            Some(Piece::One) => {}
            Some(&Piece::Only(wanted)) if wanted == name[seen] => {}
            _ => {
                let Some((back, until)) = star else { return false };
                star = Some((back, until + 1));
                at = back + 1;
                seen = until + 1;
                continue;
            }
        }
        at += 1;
        seen += 1;
    }
    pattern[at..].iter().all(|rest| matches!(rest, Piece::Any))
}

/// The pattern that only `name` fits.
pub fn escaped(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
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
            (r"f(char\*)", "f(char*)", true),
            (r"f(char\*)", "f(char)", false),
            (r"\\\?", r"\?", true),
            (r"end\", r"end\", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn an_escaped_name_fits_itself_and_nothing_near_it() {
        for name in ["operator*", "f(a*, b?)", r"a\b", "plain"] {
            assert!(matches(&escaped(name), name));
            assert!(!matches(&escaped(name), &format!("{name}x")));
            assert!(
                name == "plain" || !matches(&escaped(name), &name.replace(['*', '?', '\\'], "x"))
            );
        }
    }
}
