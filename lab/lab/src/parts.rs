//! Measured parts that are not in this process.

use std::path::PathBuf;

/// A directory of programs and libraries, as a command of `cargo xtask` fills it; or none.
#[derive(Clone, Debug)]
pub struct Parts {
    dir: Option<PathBuf>,
    command: &'static str,
}

impl Parts {
    /// What lies in `dir`, which `command` fills.
    pub fn new(dir: Option<PathBuf>, command: &'static str) -> Self {
        // What is run is not always run from here.
        Self { dir: dir.map(|dir| std::path::absolute(&dir).unwrap_or(dir)), command }
    }

    /// The file `name`.
    ///
    /// # Errors
    /// Why there is none, to be shown in its place: what `name.missing` says, if that is there.
    pub fn find(&self, name: &str) -> Result<PathBuf, String> {
        let Some(dir) = &self.dir else {
            return Err(format!("needs `{name}`: run `{}`, which builds it", self.command));
        };
        let file = dir.join(name);
        if file.exists() {
            return Ok(file);
        }
        let why = std::fs::read_to_string(dir.join(format!("{name}.missing")));
        Err(why.map_or_else(
            |_| format!("there is no {}: run `{}`, which builds it", file.display(), self.command),
            |why| why.trim().replace('\n', "; "),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let none = Parts::new(None, "make parts").find("driver").unwrap_err();
        assert!(none.contains("`driver`") && none.contains("make parts"), "{none}");
        let dir = std::env::temp_dir();
        let missing = Parts::new(Some(dir.clone()), "make parts").find("no such part").unwrap_err();
        assert!(missing.contains("no such part") && missing.contains("make parts"), "{missing}");
        assert_eq!(Parts::new(Some(dir.clone()), "").find(".").unwrap(), dir.join("."));
    }

    #[test]
    fn who_could_not_build_a_part_says_why() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("lua.missing"), "no network\nat all\n").unwrap();
        let why = Parts::new(Some(dir.path().to_owned()), "").find("lua");
        assert_eq!(why, Err("no network; at all".to_owned()));
    }
}
