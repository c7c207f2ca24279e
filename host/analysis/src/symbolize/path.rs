//! Source paths as debug information has them, made readable.

/// Drops `.` and resolves `..` without asking the file system: the sources may be elsewhere by now.
pub fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|&last| last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn dots() {
        assert_eq!(clean("/build/./src/../include/a.h"), "/build/include/a.h");
        assert_eq!(clean("/../a.c"), "/a.c");
        assert_eq!(clean("../../a.c"), "../../a.c");
        assert_eq!(clean("./src//a.c"), "src/a.c");
        assert_eq!(clean("a.c"), "a.c");
    }
}
