//! What the tables run that is not part of this process.

use std::path::PathBuf;

/// A directory of programs and preload libraries, as `cargo xtask bench tables` fills it; or none.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    dir: Option<PathBuf>,
}

impl Parts {
    /// What lies in `dir`.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// The file `name`.
    ///
    /// # Errors
    /// Why there is none, to be shown in its place.
    pub fn find(&self, name: &str) -> Result<PathBuf, String> {
        let Some(dir) = &self.dir else {
            return Err(format!("needs `{name}`: run `cargo xtask bench tables`, which builds it"));
        };
        let file = dir.join(name);
        if file.exists() { Ok(file) } else { Err(format!("there is no {}", file.display())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let none = Parts::default().find("driver").unwrap_err();
        assert!(none.contains("`driver`") && none.contains("cargo xtask bench tables"), "{none}");
        let dir = std::env::temp_dir();
        let missing = Parts::new(Some(dir.clone())).find("no such part").unwrap_err();
        assert!(missing.contains("no such part"), "{missing}");
        assert_eq!(Parts::new(Some(dir.clone())).find(".").unwrap(), dir.join("."));
    }
}
